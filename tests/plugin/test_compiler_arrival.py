"""Torch's compiler is imported by the suite alone, and the run in which that happens is none of a cell."""

from __future__ import annotations

WHAT_IS_THERE = """
import sys

def pytest_unconfigure():
    print("there:", *(name for name in ("torch._dynamo", "sympy") if name in sys.modules))
"""

LOG = """
import os
import random
import sys
import warnings

def log(word):
    with open("log", "a") as stream:
        stream.write(word + " ")
"""


def test_a_run_that_compiles_nothing_imports_no_compiler(matrix):
    source = """
import random

class TestIt:
    def test_one(self):
        torch.rand(2), random.random()

@pytest.mark.parametrize("number", [1, 2])
def test_two(number):
    assert torch.nn.Linear(2, number)(torch.ones(2)).shape == (number,)
"""
    run = matrix(source, "-p", "there", files={"there.py": WHAT_IS_THERE}, subprocess=True)
    assert run.outcomes == {"passed": 3}, run.text
    assert "there:" in run.result.outlines, run.text


def test_the_first_run_that_compiles_is_made_again_and_no_other(matrix, pytester):
    run = matrix(
        f"""
{LOG}

def test_plain():
    log("plain")

def test_first():
    log("first" if "torch._dynamo" in sys.modules else "early")
    if "torch._dynamo" not in sys.modules:
        warnings.warn("only without it")
        random.seed(7)
    compiled(lambda x, n: x + n)(torch.rand(2), 3)

def test_second():
    log("second")
    compiled(lambda x, n: x + n)(torch.rand(2), 3)
""",
        subprocess=True,
    )
    assert run.outcomes == {"passed": 3}, run.text
    assert run.clean(), run.text
    runs = len({cell: one for cell, one in run.tests["test_second"].items() if not one.same_as})
    assert (pytester.path / "log").read_text().split() == ["plain", "early", *["first"] * runs, *["second"] * runs]
    assert {one.regions for one in run.tests["test_first"].values() if not one.same_as} == {1}


def test_one_that_only_imports_it_runs_once(matrix, pytester):
    run = matrix(
        f"""
{LOG}

def test_imports():
    log("imports")
    import torch._dynamo

def test_optimizer():
    log("optimizer")
    weight = torch.nn.Parameter(torch.ones(2))
    torch.optim.SGD([weight], lr=0.1).zero_grad()
""",
        subprocess=True,
    )
    assert run.outcomes == {"passed": 2}, run.text
    assert (pytester.path / "log").read_text().split() == ["imports", "optimizer"]
    assert not run.read.notes or not [note for note in run.read.notes if note.kind in ("leak", "recorder")], run.text


def test_what_it_is_set_to_meanwhile_is_put_back(matrix):
    run = matrix(
        """
def test_first():
    torch._dynamo.config.verbose = True
    torch.compiler.set_stance("force_eager")

def test_second():
    assert torch._dynamo.config.verbose is False
    counter = []
    def backend(graph, inputs):
        counter.append(graph)
        return graph
    torch.compile(lambda x: x + 1, backend=backend)(torch.ones(2))
    assert counter or torch.compiler.is_compiling() or torch._dynamo.eval_frame._stance.stance == "force_eager"
    assert torch._dynamo.config.verbose is False
""",
        subprocess=True,
    )
    assert run.outcomes == {"passed": 2}, run.text
    assert {one.compiles for cell, one in run.tests["test_second"].items() if cell != "eager" and not one.same_as} == {1}


def test_a_wide_fixture_that_brings_it_is_of_the_cell_where_it_consults_it(matrix, pytester):
    run = matrix(
        f"""
{LOG}

@pytest.fixture(scope="module")
def setting():
    log("setting+")
    yield torch._dynamo.config.specialize_int
    log("setting-")

def test_it(setting):
    log("test")
    assert setting == torch._dynamo.config.specialize_int
    compiled(lambda x: x + 1)(torch.ones(2))
""",
        subprocess=True,
    )
    assert run.outcomes == {"passed": 1}, run.text
    assert run.clean(), run.text
    words = (pytester.path / "log").read_text().split()
    runs = words.count("test")
    assert runs > 3
    assert words == ["setting+", "test", "setting-"] * runs
