"""Tensors of every kind as records."""

import warnings

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.testing._internal.two_tensor import TwoTensor
from torch.utils._python_dispatch import TorchDispatchMode

from testmatrix.torch_adapter.leaves import Budget, LeafReader


def leaves(root, limit=1 << 20, **options):
    return {leaf.path: leaf for leaf in LeafReader(Budget(limit)).read(root, "r", **options)}


def record(tensor, **options):
    return leaves(tensor, **options)["r"].tensor


def test_metadata_and_values():
    x = torch.arange(6.0).reshape(2, 3).t()[1:].requires_grad_()
    found = record(x)
    assert (found.dtype, found.shape, found.stride, found.storage_offset) == ("float32", (2, 2), (1, 3), 1)
    assert found.requires_grad
    assert found.data == x.detach().contiguous().numpy().tobytes()


def test_values_do_not_depend_on_layout():
    x = torch.arange(6).reshape(2, 3)
    assert record(x.t().contiguous().t()).digest == record(x).digest


def quantized():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8)


@pytest.mark.parametrize(
    "tensor",
    [
        torch.tensor([True, False]),
        torch.tensor([1.5, -2.0], dtype=torch.bfloat16),
        torch.tensor([1.5, -2.0]).to(torch.float8_e4m3fn),
        torch.tensor([1.5, -2.0]).to(torch.float8_e5m2),
        torch.tensor([1 + 2j, 3j]).conj(),
        torch.tensor([1 + 2j, 3j]).conj().imag,
        torch.tensor([1, 2], dtype=torch.uint16),
        torch.tensor(3.5),
        torch.ones(2, 0),
        torch.nn.Parameter(torch.ones(2)),
        quantized(),
        torch.eye(3).to_sparse(),
        torch.ones(4).expand(3, 4),
    ],
    ids=lambda x: f"{x.dtype}-{tuple(x.shape)}-{type(x).__name__}-{x.layout}",
)
def test_values_of_every_dtype_are_read(tensor):
    found = record(tensor)
    assert found.digest
    assert found.data is not None
    assert found.shape == tuple(tensor.shape)


def test_conjugate_has_its_own_values():
    x = torch.tensor([1 + 2j])
    assert record(x.conj()).digest == record(torch.tensor([1 - 2j])).digest != record(x).digest


def test_nested_and_compressed_layouts():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
        compressed = torch.eye(3).to_sparse_csr()
    assert record(nested).digest
    assert record(nested).stride == ()
    assert record(compressed).layout == "sparse_csr"


def test_meta_tensor_has_no_values():
    found = record(torch.ones(3, device="meta"))
    assert (found.device, found.digest, found.data) == ("meta", "", None)


def test_fake_tensor_has_no_values():
    with FakeTensorMode():
        x = torch.ones(3)
    assert record(x).digest == ""
    assert record(x).shape == (3,)


def test_tensor_inside_of_a_transform_has_no_values():
    found = []

    def inside(x):
        found.append(record(x))
        return x * 2

    torch.func.vmap(inside)(torch.ones(3, 2))
    torch.func.grad(lambda x: inside(x).sum())(torch.ones(2))
    assert [one.digest for one in found] == ["", ""]


def test_symbolic_sizes_are_not_specialised():
    sizes = []

    def backend(gm, inputs):
        values = [node.meta["example_value"] for node in gm.graph.nodes if node.op == "placeholder"]
        sizes.extend(record(value).shape for value in values if isinstance(value, torch.Tensor))
        return gm

    torch.compile(lambda x: x + 1, backend=backend, dynamic=True)(torch.ones(5, 6))
    torch._dynamo.reset()
    assert sizes == [(-1, -1)]


def test_budget_keeps_hashes_only():
    reader = LeafReader(Budget(8))
    first, second = reader.read([torch.ones(2), torch.ones(2)], "r")[1:]
    assert first.tensor.data is not None
    assert second.tensor.data is None
    assert second.tensor.digest == first.tensor.digest


def test_without_values():
    found = record(torch.ones(2), values=False)
    assert (found.digest, found.data, found.shape) == ("", None, (2,))


def test_aliases_name_arguments_and_results():
    x = torch.arange(4.0)
    reader = LeafReader(Budget(1000))
    reader.read(x, "L['x']")
    view, other, again = reader.read([x[1:], torch.ones(4), x], "", called="result")[1:]
    assert view.tensor.aliases == ("L['x']",)
    assert other.tensor.aliases == ()
    assert again.tensor.aliases == ("L['x']", "result[0]")


def test_empty_tensors_share_nothing():
    reader = LeafReader(Budget(1000))
    reader.read(torch.ones(0), "a")
    assert reader.read(torch.ones(0), "b")[0].tensor.aliases == ()


class Recorded(torch.Tensor):
    """Takes note of every function and operation."""

    seen: list[str] = []  # noqa: RUF012 - shared on purpose

    @staticmethod
    def __new__(cls, x):
        return torch.Tensor._make_subclass(cls, x)

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        cls.seen.append(f"function {function}")
        return super().__torch_function__(function, types, args, kwargs or {})

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        cls.seen.append(f"operation {function}")
        raise RuntimeError("not for the recorder")


def test_no_operation_of_a_subclass_is_run():
    x = Recorded(torch.ones(3))
    Recorded.seen.clear()
    found = record(x)
    assert Recorded.seen == []
    assert found.data == torch.ones(3).numpy().tobytes()
    assert found.subclass.endswith("Recorded")


def test_wrapper_is_read_through_what_it_holds():
    found = leaves(TwoTensor(torch.ones(2), torch.zeros(2)))
    assert found["r"].tensor.digest == ""
    assert found["r.a"].tensor.data == torch.ones(2).numpy().tobytes()
    assert found["r.b"].tensor.data == torch.zeros(2).numpy().tobytes()


class Endless(torch.Tensor):
    @staticmethod
    def __new__(cls):
        return torch.Tensor._make_subclass(cls, torch.ones(1))

    def __tensor_flatten__(self):
        self.inner = Endless()
        return ["inner"], None


class Broken(Endless):
    def __tensor_flatten__(self):
        raise RuntimeError("cannot be flattened")


def test_subclass_without_end_or_that_cannot_be_flattened():
    assert len(leaves(Endless())) < 10
    assert list(leaves(Broken())) == ["r"]


def test_subclass_without_operations_is_an_ordinary_tensor():
    class Named(torch.Tensor):
        pass

    assert record(torch.ones(2).as_subclass(Named)).data == torch.ones(2).numpy().tobytes()


class Operations(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.count += 1
        return function(*args, **(kwargs or {}))


def test_reading_leaves_a_tensor_as_it_was():
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    before = (y._version, y.grad_fn, y._base)
    record(y)
    assert (y._version, y.grad_fn, y._base) == before
    assert record(np.ones(3)).subclass == "numpy.ndarray"


def test_without_values_no_operation_is_seen():
    x = torch.ones(3)
    with Operations() as mode:
        record(x, values=False)
    assert mode.count == 0
