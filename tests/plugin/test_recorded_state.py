"""Cells start from the same state, and leave none."""

from __future__ import annotations

import os
import random

import pytest
import torch

pytestmark = pytest.mark.usefixtures("every_cell_is_run")

REGION = "compiled(lambda x: x + 1)(torch.ones(2))"


@pytest.mark.parametrize(
    "draw",
    [
        "torch.rand(1).item()",
        "random.random()",
        "numpy.random.rand()",
        "numpy.random.randn()",
        "compiled(lambda x: x + torch.rand(1))(torch.zeros(1)).item()",
        "torch.nn.Linear(1, 1).weight.item()",
    ],
)
def test_random_numbers_are_the_same_in_each_cell(matrix, pytester, draw):
    run = matrix(f"""
import random, numpy


def test_it():
    {REGION}
    with open("drawn", "a") as stream:
        print({draw}, file=stream)
""")
    assert run.exit == 0
    drawn = (pytester.path / "drawn").read_text().split()
    assert len(drawn) == 5
    assert len(set(drawn[:4])) == 1
    assert "torch.rand(1))(" in draw or len(set(drawn)) == 1
    assert run.clean()


def test_the_generators_are_where_they_were_before_the_test(matrix):
    before = (random.getstate(), torch.get_rng_state())
    matrix(f"""
import random

def test_it():
    {REGION}
    random.seed(1)
    torch.manual_seed(1)
    assert 0
""")
    assert random.getstate() == before[0]
    assert torch.equal(torch.get_rng_state(), before[1])


CHANGES = {
    "setting": ("torch._dynamo.config.verbose", "torch._dynamo.config.verbose = True"),
    "axis setting": (
        "torch._dynamo.config.specialize_int",
        "torch._dynamo.config.specialize_int = not torch._dynamo.config.specialize_int",
    ),
    "another module": ("torch._functorch.config.donated_buffer", "torch._functorch.config.donated_buffer = False"),
    "deleted by a mock": (
        "torch._functorch.config.donated_buffer",
        "unittest.mock.patch('torch._functorch.config.donated_buffer', False).start()",
    ),
    "mock stopped": (
        "torch._functorch.config.donated_buffer",
        "patch = unittest.mock.patch('torch._functorch.config.donated_buffer', False); patch.start(); patch.stop()",
    ),
    "list setting": ("len(torch._inductor.config.trace.log_url_for_graph_xform or '')", "pass"),
    "default dtype": ("torch.get_default_dtype()", "torch.set_default_dtype(torch.float64)"),
    "default device": ("torch.get_default_device()", "torch.set_default_device('meta')"),
    "grad mode": ("torch.is_grad_enabled()", "torch.set_grad_enabled(False)"),
    "threads": ("torch.get_num_threads()", "torch.set_num_threads(torch.get_num_threads() + 1)"),
    "deterministic": ("torch.are_deterministic_algorithms_enabled()", "torch.use_deterministic_algorithms(True)"),
    "warn only": (
        "torch.is_deterministic_algorithms_warn_only_enabled()",
        "torch.use_deterministic_algorithms(True, warn_only=True)",
    ),
    "matmul precision": ("torch.get_float32_matmul_precision()", "torch.set_float32_matmul_precision('high')"),
    "stance": ("torch._dynamo.eval_frame._stance.backend", "torch.compiler.set_stance(force_backend='eager')"),
    "environment": ("os.environ.get('SUITE_VARIABLE')", "os.environ['SUITE_VARIABLE'] = '1'"),
    "directory": ("os.getcwd()", "os.chdir('/')"),
    "anomaly mode": ("torch.is_anomaly_enabled()", "torch.autograd.set_detect_anomaly(True)"),
    "module name": ("NUMBER", "globals().update(NUMBER=2)"),
    "module list": ("str(LIST)", "LIST.append(1)"),
    "module tensor": ("TENSOR.tolist()", "TENSOR.add_(1)"),
    "rebound tensor": ("TENSOR.tolist()", "globals().update(TENSOR=torch.ones(3))"),
    "new name": ("'NEW' in globals()", "globals().update(NEW=1)"),
    "nested": ("str(NESTED)", "NESTED['a'][0].add(2)"),
    "object": ("THING.count", "THING.count += 1"),
    "function attribute": ("getattr(helper, 'calls', 0)", "helper.calls = 1"),
    "closure": ("counter(0)", "counter(1)"),
    "default argument": ("len(helper())", "helper().append(1)"),
    "module in training": (
        "(MODEL.training, MODEL[0].weight.sum().item())",
        "MODEL.eval(); torch.nn.init.zeros_(MODEL[0].weight)",
    ),
}


@pytest.mark.parametrize("ending", ["pass", "assert 0"], ids=["passes", "fails"])
@pytest.mark.parametrize(("read", "change"), CHANGES.values(), ids=CHANGES)
def test_what_a_test_changes_is_as_before_in_the_next_cell(matrix, pytester, read, change, ending):
    run = matrix(
        f"""
import os, unittest.mock
import torch._functorch.config, torch._inductor.config

HERE = os.getcwd()
NUMBER, LIST, TENSOR, NESTED = 1, [], torch.zeros(2), {{"a": [{{1}}]}}
MODEL = torch.nn.Sequential(torch.nn.Linear(2, 2))

class Thing:
    count = 0

THING = Thing()

def helper(collected=[]):
    return collected

def make():
    total = 0
    def add(n):
        nonlocal total
        total += n
        return total
    return add

counter = make()

def test_it():
    compiled(lambda x: x + 1)(torch.ones(2, device="cpu"))
    with open(HERE + "/seen", "a") as stream:
        print({read}, file=stream)
    {change}
    {ending}
""",
        "--testmatrix-grid=floats=specialize,unspecialize shapes=dynamic",
    )
    assert (run.exit != 0) == (ending != "pass"), run.text
    seen = (pytester.path / "seen").read_text().splitlines()
    assert len(seen) == 3
    assert len(set(seen)) == 1
    assert not run.findings


@pytest.mark.parametrize("variable", ["TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"])
def test_compile_caches_are_new_in_each_cell_and_gone_afterwards(matrix, pytester, monkeypatch, variable):
    monkeypatch.setenv(variable, "/nowhere")
    run = matrix(f"""
import os

def test_it():
    {REGION}
    with open("seen", "a") as stream:
        print(os.environ["{variable}"], file=stream)
    os.makedirs(os.environ["{variable}"], exist_ok=True)
""")
    assert run.exit == 0, run.text
    seen = (pytester.path / "seen").read_text().split()
    assert len(set(seen)) == len(seen) == 5
    assert not any(os.path.exists(path) for path in seen)
    assert os.environ[variable] == "/nowhere"


def test_a_job_id_does_not_reach_a_cell(matrix, monkeypatch):
    monkeypatch.setenv("TORCH_COMPILE_JOB_ID", "mine")
    run = matrix(f"""
import os

def test_it():
    {REGION}
    assert "TORCH_COMPILE_JOB_ID" not in os.environ
""")
    assert run.exit == 0
    assert os.environ["TORCH_COMPILE_JOB_ID"] == "mine"


def test_counters_and_caches_of_dynamo_are_empty(matrix):
    run = matrix("""
from torch._dynamo.utils import counters

def region(x):
    return x + 1

def test_it():
    assert not counters
    compiled(region)(torch.ones(2))
    assert counters["stats"]["unique_graphs"] == 1
""")
    assert run.outcomes_of("test_it")["dynamic-unspecialize"] == "passed", run.text
    assert run.exit == 0


def test_settings_are_those_from_before_the_run(matrix):
    before = torch._dynamo.config.save_config()
    matrix(
        f"def test_it():\n    {REGION}\n    torch._dynamo.config.verbose = True\n    raise KeyboardInterrupt\n",
        no_reraise_ctrlc=True,
    )
    assert torch._dynamo.config.save_config() == before


def test_tests_do_not_see_each_others_compiles(matrix):
    run = matrix("""
def region(x):
    return x + 1

REGION = compiled(region)

def test_one():
    REGION(torch.ones(2))

def test_two():
    REGION(torch.ones(2))
""")
    assert {result.compiles for cells in run.tests.values() for cell, result in cells.items() if cell != "eager"} == {1}


def test_big_things_in_a_module_are_no_burden(matrix):
    run = matrix(f"""
TABLE = {{n: [n] * 3 for n in range(30_000)}}
BIG = torch.zeros(40_000_000)
LOOP = []
LOOP.append(LOOP)

class Odd:
    def __eq__(self, other):
        raise RuntimeError("never compare me")
    def __getattr__(self, name):
        raise RuntimeError("never ask me for " + name)

ODD = Odd()

def test_it():
    {REGION}
    LOOP.append(ODD)
""")
    assert run.outcomes == {"passed": 1}, run.text
    assert run.clean()
