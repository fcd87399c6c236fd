"""Gradients that backward passes leave on what regions were given."""

import torch


def leaves(recording, index=0):
    return {leaf.path: leaf for leaf in recording.gradients[index].leaves}


def bytes_of(*numbers):
    return torch.tensor(numbers).numpy().tobytes()


def test_backward(record):
    with record() as recording:
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        torch.compile(lambda x: (x * x).sum(), backend="aot_eager")(x).backward()
    ((path, leaf),) = leaves(recording).items()
    assert path.endswith("<lambda>[0] L['x'].grad")
    assert leaf.tensor.data == bytes_of(2.0, 4.0)


def test_autograd_grad(record):
    with record() as recording:
        x = torch.tensor([3.0], requires_grad=True)
        torch.autograd.grad(torch.compile(lambda x: x * x, backend="aot_eager")(x).sum(), x)
    assert leaves(recording)["result[0]"].tensor.data == bytes_of(6.0)


def test_parameters_of_a_module(record):
    with record() as recording:
        net = torch.nn.Linear(2, 1)
        torch.compile(net, backend="aot_eager")(torch.ones(1, 2)).sum().backward()
    assert {path.rpartition(" ")[2] for path in leaves(recording)} == {"weight.grad", "bias.grad"}


def test_hooks_of_the_suite_have_run(record):
    with record() as recording:
        x = torch.tensor([1.0], requires_grad=True)
        x.register_hook(lambda grad: grad * 10)
        torch.compile(lambda x: x * 3, backend="aot_eager")(x).sum().backward()
    (leaf,) = leaves(recording).values()
    assert leaf.tensor.data == bytes_of(30.0)


def test_passes_are_numbered_and_add_up(record):
    with record() as recording:
        x = torch.tensor([1.0], requires_grad=True)
        fast = torch.compile(lambda x: x * 3, backend="aot_eager")
        for _ in range(2):
            fast(x).sum().backward()
    assert [each.index for each in recording.gradients] == [0, 1]
    (leaf,) = leaves(recording, 1).values()
    assert leaf.tensor.data == bytes_of(6.0)


def test_backward_without_a_region_is_none_of_ours(record):
    with record() as recording:
        (torch.ones(1, requires_grad=True) * 2).sum().backward()
    assert recording.gradients == []


def test_backward_inside_of_a_region(record):
    def slope(x):
        return torch.autograd.grad((x * x).sum(), x)[0]

    with record(oracle=True) as recording:
        torch.compile(slope, backend="eager")(torch.ones(2, requires_grad=True))
    assert recording.gradients == []


class Watched(torch.Tensor):
    seen: list[str] = []  # noqa: RUF012 - shared on purpose

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        Watched.seen.append(getattr(function, "__name__", str(function)))
        return super().__torch_function__(function, types, args, kwargs or {})


def test_function_of_a_subclass_is_not_run(record):
    with record(oracle=True) as recording:
        x = torch.ones(2).as_subclass(Watched).requires_grad_()
        loss = torch.compile(lambda x: x * 2, backend="eager")(x).sum()
        Watched.seen.clear()
        torch.autograd.backward(loss)
    assert "__get__" not in Watched.seen
    assert len(recording.gradients) == 1


def test_tensor_that_is_gone(record):
    with record() as recording:
        x = torch.ones(1, requires_grad=True)
        y = torch.compile(lambda x: x.detach() * 2, backend="aot_eager")(x)
        del x
        (y * torch.ones(1, requires_grad=True)).sum().backward()
    assert recording.gradients[0].leaves == ()
