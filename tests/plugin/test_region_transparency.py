"""What the compiler returns is as usable as without the matrix, and compiles to the same."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.usefixtures("every_cell_is_run")

#: Each is a test body that passes in a bare run.
USES = {
    "name": """
    def named(x):
        "what it says"
        return x + 1
    region = compiled(named)
    assert region.__name__ == "named" and region.__doc__ == "what it says" and region.__module__ == __name__
    assert region.__wrapped__ is named and region.__qualname__ == named.__qualname__
    """,
    "original": """
    def f(x): return x + 1
    region = compiled(f)
    assert region._torchdynamo_orig_callable is f
    assert torch._dynamo.eval_frame.innermost_fn(region) is f
    """,
    "inspected": """
    import inspect
    def f(x, *, n=2): return x * n
    region = compiled(f)
    assert str(inspect.signature(region)) == "(x, *, n=2)"
    assert inspect.unwrap(region) is f
    assert inspect.isfunction(region) and callable(region)
    """,
    "compiler config": """
    region = compiled(lambda x: x + 1)
    assert callable(region.get_compiler_config)
    region.get_compiler_config()
    """,
    "compiled again": """
    region = compiled(compiled(lambda x: x + 1))
    assert region(torch.ones(2)).sum() == 4
    """,
    "attributes": """
    region = compiled(lambda x: x + 1)
    region.mark = 3
    assert region.mark == 3 and vars(region)["mark"] == 3
    """,
    "module": """
    module = torch.nn.Linear(2, 3)
    region = compiled(module)
    assert isinstance(region, torch._dynamo.OptimizedModule) and isinstance(region, torch.nn.Module)
    assert region._orig_mod is module and region.weight is module.weight
    assert list(region.state_dict()) == ["_orig_mod.weight", "_orig_mod.bias"]
    region.load_state_dict(region.state_dict())
    assert region(torch.ones(1, 2)).shape == (1, 3)
    assert region.train(False) is region and not module.training
    """,
    "module compiled in place": """
    module = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    module.compile(backend="eager")
    assert module(torch.ones(1, 2)).shape == (1, 2)
    assert list(module.state_dict()) == ["0.weight", "0.bias"]
    """,
    "module with hooks": """
    module = torch.nn.Linear(2, 2)
    seen = []
    region = compiled(module)
    region.register_forward_hook(lambda *args: seen.append(1))
    region(torch.ones(1, 2))
    assert seen == [1]
    """,
    "deep copy": """
    import copy
    region = compiled(torch.nn.Linear(2, 2))
    region(torch.ones(1, 2))
    twin = copy.deepcopy(region)
    assert torch.equal(twin(torch.ones(1, 2)), region(torch.ones(1, 2)))
    assert twin._orig_mod is not region._orig_mod
    """,
    "pickle": """
    import io
    region = compiled(torch.nn.Linear(2, 2))
    region(torch.ones(1, 2))
    stream = io.BytesIO()
    torch.save(region.state_dict(), stream)
    stream.seek(0)
    region.load_state_dict(torch.load(stream))
    """,
    "decorated function": """
    @compiled
    def f(x): return x + 1
    assert f(torch.ones(2)).sum() == 4
    @torch.compile(backend="eager", fullgraph=True)
    def g(x): return x + 1
    assert g(torch.ones(2)).sum() == 4
    """,
    "decorated method": """
    class Thing:
        factor = 2
        @compiled
        def scale(self, x): return x * self.factor
        @staticmethod
        @compiled
        def plus(x): return x + 1
        @classmethod
        @compiled
        def made(cls, x): return x * cls.factor
    thing = Thing()
    assert thing.scale(torch.ones(2)).sum() == 4
    assert Thing.plus(torch.ones(2)).sum() == 4
    assert Thing.made(torch.ones(2)).sum() == 4
    assert thing.scale.__self__ is thing
    """,
    "decorated class": """
    @compiled
    class Thing(torch.nn.Module):
        def forward(self, x): return x * 2
    assert Thing()(torch.ones(2)).sum() == 4
    """,
    "bound method": """
    class Thing:
        def scale(self, x): return x * 2
    assert compiled(Thing().scale)(torch.ones(2)).sum() == 4
    """,
    "partial": """
    import functools
    assert compiled(functools.partial(lambda n, x: x * n, 2))(torch.ones(2)).sum() == 4
    """,
    "callable object": """
    class Thing:
        def __call__(self, x): return x * 2
    assert compiled(Thing())(torch.ones(2)).sum() == 4
    """,
    "nested": """
    inner = compiled(lambda x: x + 1)
    assert compiled(lambda x: inner(x) * 2, fullgraph=True)(torch.ones(2)).sum() == 8
    """,
    "nested module": """
    inner = compiled(torch.nn.ReLU())
    assert compiled(lambda x: inner(x) * 2, fullgraph=True)(torch.ones(2)).sum() == 4
    """,
    "nested method": """
    class Thing(torch.nn.Module):
        @compiled
        def helper(self, x): return x + 1
        def forward(self, x): return self.helper(x) * 2
    assert compiled(Thing(), fullgraph=True)(torch.ones(2)).sum() == 8
    """,
    "optimize": """
    assert torch._dynamo.optimize("eager")(lambda x: x + 1)(torch.ones(2)).sum() == 4
    assert torch._dynamo.optimize("eager", nopython=True)(lambda x: x + 1)(torch.ones(2)).sum() == 4
    assert torch._dynamo.optimize_assert("eager")(lambda x: x + 1)(torch.ones(2)).sum() == 4
    """,
    "disable": """
    @torch._dynamo.disable
    def apart(x): return x + 1
    assert compiled(lambda x: apart(x) * 2)(torch.ones(2)).sum() == 8
    assert torch.compiler.disable(compiled(lambda x: x + 1))(torch.ones(2)).sum() == 4
    assert compiled(lambda x: x + 1, disable=True)(torch.ones(2)).sum() == 4
    """,
    "dynamic": """
    for dynamic in (True, False, None):
        region = compiled(lambda x: x + 1, dynamic=dynamic)
        assert [len(region(torch.ones(n))) for n in (2, 3, 4)] == [2, 3, 4]
    """,
    "graph break": """
    def f(x):
        x = x + 1
        torch._dynamo.graph_break()
        return x * 2
    assert compiled(f)(torch.ones(2)).sum() == 8
    """,
    "error": """
    def f(x): raise ValueError("mine")
    with pytest.raises(ValueError, match="mine"):
        compiled(f)(torch.ones(2))
    """,
    "generator": """
    def f(x):
        yield x + 1
    assert [y.sum() for y in compiled(f)(torch.ones(2))] == [4]
    """,
    "explain": """
    explained = torch._dynamo.explain(lambda x: x + 1)(torch.ones(2))
    assert explained.graph_count in (0, 1)
    """,
    "export": """
    class M(torch.nn.Module):
        def forward(self, x): return x + 1
    program = torch.export.export(M(), (torch.ones(2),))
    assert program.module()(torch.ones(2)).sum() == 4
    """,
    "vmap and grad": """
    assert compiled(torch.func.vmap(lambda x: x * 2))(torch.ones(2, 2)).sum() == 8
    assert compiled(torch.func.grad(lambda x: (x * 2).sum()))(torch.ones(2)).sum() == 4
    """,
    "backward": """
    x = torch.ones(2, requires_grad=True)
    compiled(lambda x: x * 2)(x).sum().backward()
    assert x.grad.sum() == 4
    """,
    "weak reference": """
    import gc, weakref
    region = compiled(lambda x: x + 1)
    region(torch.ones(2))
    dead = weakref.ref(region)
    del region
    gc.collect(1)
    """,
    "result is dropped": """
    import gc, weakref
    result = compiled(lambda x: x + 1)(torch.ones(2))
    dead = weakref.ref(result)
    del result
    gc.collect(1)
    assert dead() is None
    """,
    "argument is dropped": """
    import gc, weakref
    x = torch.ones(2)
    dead = weakref.ref(x)
    compiled(lambda x: x + 1)(x)
    del x
    gc.collect(1)
    assert dead() is None
    """,
    "result is the argument": """
    x = torch.ones(2)
    assert compiled(lambda x: x.add_(1))(x) is x
    """,
    "keyword and variable arguments": """
    assert compiled(lambda *a, **k: a[0] + k["n"])(torch.ones(2), n=1).sum() == 4
    """,
    "stance": """
    with torch.compiler.set_stance("force_eager"):
        assert compiled(lambda x: x + 1)(torch.ones(2)).sum() == 4
    """,
    "run under inference mode": """
    with torch.inference_mode():
        assert compiled(lambda x: x + 1)(torch.ones(2)).is_inference()
    """,
}


@pytest.mark.parametrize("body", USES.values(), ids=USES)
def test_a_use_that_passes_bare_passes_in_the_matrix(matrix, pytester, body):
    run = matrix(f"def test_it():{body}", "--testmatrix-grid=unspec")
    bare = pytester.runpytest_inprocess()
    assert bare.parseoutcomes().get("passed") == 1
    assert run.outcomes.get("passed") == 1, run.text
    assert set(run.outcomes_of("test_it").values()) == {"passed"}, run.text
    assert not [note for note in run.read.notes if note.kind == "recorder"], run.read.notes
    assert run.exit == 0


COUNTED = {
    "function": ("region = torch.compile(lambda x: x + 1, backend=counter)", 1, 1),
    "fullgraph": ("region = torch.compile(lambda x: x + 1, backend=counter, fullgraph=True)", 1, 1),
    "dynamic": ("region = torch.compile(lambda x: x + 1, backend=counter, dynamic=True)", 1, 1),
    "module": ("region = torch.compile(torch.nn.ReLU(), backend=counter)", 1, 1),
    "module in place": ("region = Doubling(); region.compile(backend=counter)", 1, 1),
    "optimize": ("region = torch._dynamo.optimize(counter)(lambda x: x + 1)", 1, 1),
    "nested": (
        "inner = torch.compile(lambda x: x + 1, backend=counter); "
        "region = torch.compile(lambda x: inner(x) * 2, backend=counter)",
        1,
        2,
    ),
    "nested fullgraph": (
        "inner = torch.compile(lambda x: x + 1, backend=counter); "
        "region = torch.compile(lambda x: inner(x) * 2, backend=counter, fullgraph=True)",
        1,
        2,
    ),
    "disabled inside": (
        "apart = torch._dynamo.disable(lambda x: x + 1); region = torch.compile(lambda x: apart(x * 2) * 2, backend=counter)",
        2,
        2,
    ),
    "called by a plain function": ("inner = torch.compile(lambda x: x + 1, backend=counter); region = lambda x: inner(x)", 1, 1),
}


@pytest.mark.parametrize(("make", "frames", "ops"), COUNTED.values(), ids=COUNTED)
def test_nothing_adds_a_frame_or_a_break(matrix, pytester, make, frames, ops):
    run = matrix(
        f"""
from torch._dynamo.testing import CompileCounter

class Doubling(torch.nn.Module):
    def forward(self, x):
        return x * 2

def test_it():
    counter = CompileCounter()
    {make}
    region(torch.ones(2))
    region(torch.ones(2))
    print("counted", counter.frame_count, counter.op_count)
""",
        "-s",
        "--testmatrix-supervise=off",  # its output would go past this process
        "--testmatrix-oracle=off",
    )
    counted = [line[line.index("counted") :] for line in run.result.outlines if "counted" in line]
    assert counted == [f"counted {frames} {ops}"] * 4
    assert {result.compiles for result in run.tests["test_it"].values()} == {frames}
    assert {result.breaks for result in run.tests["test_it"].values()} == {frames - 1}


@pytest.mark.parametrize("where", ["conftest", "package"])
def test_regions_made_while_conftest_files_are_imported(matrix, where):
    region = "import torch\n\n@torch.compile(backend='eager')\ndef region(x, n):\n    return x + n\n"
    run = matrix(
        f"""
from {where} import region

def test_it():
    region(torch.ones(2), 3)
""",
        subprocess=True,
        files={"conftest.py": region if where == "conftest" else "import package\n", "package.py": region},
    )
    assert run.exit == 0
    assert {result.regions for result in run.tests["test_it"].values()} == {1}
