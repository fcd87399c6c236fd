"""What a count is: a variable of one scope, or an attribute of one of the compiler's counters."""

import importlib.util
import itertools
import textwrap

import pytest

from testmatrix.plugin import count_assertions

_numbers = itertools.count()

HEAD = """
import types
import torch
from torch._dynamo.testing import CompileCounter, CompileCounterWithBackend, EagerAndRecordGraphs
from torch._dynamo.utils import counters

class Case:
    def assertEqual(self, first, second, msg=None):
        assert first == second, msg

    def assertTrue(self, value):
        assert value
"""

#: Each fails in its function ``case``, on something that no compiler counted.
OTHERS = {
    "a name that a backend maker collects in": """
def make():
    out = []
    def be(gm, ex): out.append(gm)
    return be

def case():
    out = 3
    assert out == 4
""",
    "a name that another test counts with": """
def test():
    seen = []
    def be(gm, ex): seen.append(gm)
    result = len(seen)

def case():
    result = 3
    assert result == 4
""",
    "a parameter called like a module's list": """
seen = []
def be(gm, ex): seen.append(gm)

def check(seen):
    assert seen == 4

def case():
    check(3)
""",
    "graphs of the domain": """
class Plotter:
    def __init__(self): self.graphs = [1]
    def __call__(self, x, y): pass

def case():
    plotter = Plotter()
    assert len(plotter.graphs) == 4
""",
    "a name like a counter's": """
def case():
    frame_count = 3
    assert frame_count == 4
""",
    "counters of the domain": """
def case():
    counters = {"rows": 3}
    assert counters["rows"] == 4
""",
    "frames of a video": """
class Video: frame_count = 3

def case():
    assert Video().frame_count == 4
""",
    "a property": """
class Video:
    @property
    def counter(self): raise SystemExit

def case():
    video = Video()
    assert (video.counter.frame_count if False else 3) == 4
""",
    "a result beside a count": """
def case():
    counter, result = CompileCounter(), 3
    assert counter.frame_count == 0 and result == 4
""",
    "a count in the message": """
def case():
    counter = CompileCounter()
    Case().assertEqual(3, 4, f"after {counter.frame_count}")
""",
    "what a recorded graph returns": """
def case():
    backend = EagerAndRecordGraphs()
    backend.graphs.append(lambda x: x)
    result = backend.graphs[0](3)
    assert result == 4
""",
    "what a helper with a graph computes": """
def run(gm, results): results.append(gm(3))

def case():
    results = []
    run(lambda x: x, results)
    assert results == [4]
""",
    "calls of something that is called with two arguments": """
class Adder:
    def __init__(self): self.calls = 0
    def __call__(self, x, y): self.calls += 1

def case():
    add = Adder()
    assert add.calls == 4
""",
    "a sum of a thousand terms": """
def case():
    assert """
    + " + ".join(["1"] * 2000)
    + """ == 4
""",
    "an attribute of the same name": """
class Backend:
    def __init__(self): self.calls = 0
    def __call__(self, gm, ex): self.calls += 1

def case():
    phone = types.SimpleNamespace(calls=3)
    assert phone.calls == 4
""",
    "a test case of torch's with graphs of its own": """
from torch._dynamo.test_case import TestCase

class Own(TestCase):
    def runTest(self):
        self.graphs = [1]
        assert len(self.graphs) == 4

def case():
    Own().runTest()
""",
}

COUNTS = {
    "a maker that is given the list": """
def make(seen):
    def be(gm, ex): seen.append(gm)
    return be

def case():
    found = []
    make(found)
    assert len(found) == 4
""",
    "a maker that returns it": """
def make():
    seen = []
    def be(gm, ex): seen.append(gm)
    return be, seen

def case():
    be, graphs = make()
    assert len(graphs) == 4
""",
    "a global": """
calls = 0
def be(gm, ex):
    global calls
    calls += 1

def case():
    assert calls == 4
""",
    "a list of the module": """
seen = []
def be(gm, ex): seen.append(gm)

def case():
    Case().assertEqual(len(seen), 4)
""",
    "a backend of another name": """
def case():
    calls = [0]
    def count(graph, tensors):
        calls[0] += 1
        return graph
    torch.compile(lambda x: x, backend=count)
    assert calls[0] == 4
""",
    "a lambda": """
def case():
    seen = []
    torch.compile(lambda x: x, backend=lambda g, i: seen.append(g) or g)
    assert len(seen) == 4
""",
    "a class": """
class Backend:
    def __init__(self): self.calls = 0
    def __call__(self, gm, ex): self.calls += 1

def case():
    backend = Backend()
    assert backend.calls == 4
""",
    "a method": """
class Own(Case):
    def __init__(self): self.seen = []
    def be(self, gm, ex): self.seen.append(gm)
    def check(self): self.assertEqual(len(self.seen), 4)

def case():
    Own().check()
""",
    "an attribute of a function": """
def make():
    def be(gm, ex): be.calls += 1
    be.calls = 0
    return be

def case():
    counting = make()
    assert counting.calls == 4
""",
    "a subclass": """
class Mine(CompileCounter): pass

def case():
    counter = Mine()
    assert counter.frame_count == 4
""",
    "an attribute of an object": """
def case():
    box = types.SimpleNamespace(counter=CompileCounterWithBackend("eager"))
    assert box.counter.frame_count == 4
""",
    "torch's counters in full": """
def case():
    assert torch._dynamo.utils.counters["stats"]["none such"] == 4
""",
    "a part of torch's counters": """
def case():
    stats = counters["stats"]
    assert stats["none such"] == 4
""",
    "a variable of the function around": """
def case():
    counter = CompileCounter()
    frames = counter.frame_count
    def check():
        assert frames == 4
    check()
""",
    "a class with parameters of other names": """
class Backend:
    def __init__(self): self.calls = 0
    def __call__(self, graph, tensors): self.calls += 1

def case():
    backend = Backend()
    torch.compile(lambda x: x, backend=backend)
    assert backend.calls == 4
""",
    "torch's counters by another name": """
from torch._dynamo.utils import counters as torchs

def case():
    assert torchs["stats"]["none such"] == 4
""",
    "generated kernels": """
from torch._inductor import metrics

def case():
    Case().assertEqual(metrics.generated_kernel_count, -4)
""",
    "negated": """
def case():
    counter = CompileCounter()
    assert not counter.frame_count == 0
""",
}


@pytest.fixture
def case(tmp_path, request):
    path = tmp_path / f"scopes_{next(_numbers)}.py"
    path.write_text(HEAD + textwrap.dedent(request.param), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.case


def found_in(case):
    with pytest.raises(AssertionError) as caught:
        case()
    return count_assertions.find(caught.value.__traceback__)


@pytest.mark.parametrize("case", OTHERS.values(), ids=OTHERS, indirect=True)
def test_nothing_that_was_counted(case):
    assert found_in(case) is None


@pytest.mark.parametrize("case", COUNTS.values(), ids=COUNTS, indirect=True)
def test_counts(case):
    found = found_in(case)
    assert found is not None
    with count_assertions.passed_over(found, None) as passed:
        case()
    assert len(passed) == 1
