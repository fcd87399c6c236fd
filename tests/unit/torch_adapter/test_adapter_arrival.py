"""Torch's compiler is imported by the suite alone, and hooked into where it is: in processes that have not imported it yet."""

import subprocess
import sys
import textwrap

import pytest

HEAD = """
import random, sys
from testmatrix.torch_adapter import arrival
arrival.hook_in()
from testmatrix.torch_adapter import cell
DYNAMO = "torch._dynamo.config"
SETTINGS = ((DYNAMO, "assume_static_by_default", False), (DYNAMO, "specialize_int", False))
WATCHED = ((DYNAMO, "assume_static_by_default"), (DYNAMO, "specialize_int"))
def running(**options):
    return cell.running(cell.CellSetup(settings=SETTINGS, **options), WATCHED, 0)
import torch
"""


@pytest.fixture
def in_a_process():
    """Runs statements after :data:`HEAD`; what they print, by line."""

    def run(source):
        command = [sys.executable, "-c", HEAD + textwrap.dedent(source)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    return run


def test_a_test_that_compiles_nothing_imports_no_compiler(in_a_process):
    source = """
    with running() as recording:
        torch.rand(2), random.random()
    print("torch._dynamo" in sys.modules, "sympy" in sys.modules, recording.arrived)
    """
    assert in_a_process(source) == ["False", "False", "False"]


def test_regions_are_recorded_from_the_first_on(in_a_process):
    source = """
    with running() as recording:
        torch.compile(lambda x, n: x + n, backend="eager")(torch.ones(2), 3)
    print(recording.arrived, len(recording.regions), len(recording.compiles), len(recording.settings_read))
    assert not recording.notes, recording.notes
    with running() as recording:
        assert not torch._dynamo.config.assume_static_by_default
        torch.compile(lambda x, n: x + n, backend="eager")(torch.ones(2), 3)
    print(recording.arrived, len(recording.regions), len(recording.compiles))
    """
    first, second = ["True", "1", "1", "2"], ["False", "1", "1"]
    assert in_a_process(source) == first + second


@pytest.mark.parametrize(
    ("statement", "read"),
    [("import torch._dynamo", 0), ("torch._dynamo.config.specialize_int", 1), ("torch._dynamo.config.get_hash()", 2)],
)
def test_whether_the_compiler_that_came_was_consulted_is_known(in_a_process, statement, read):
    assert in_a_process(f"""
    with running() as recording:
        {statement}
    print(recording.arrived, len(recording.settings_read))
    """) == ["True", str(read)]


def test_what_was_changed_in_the_compiler_that_came_is_put_back(in_a_process):
    source = """
    with running():
        import torch._dynamo
        torch._dynamo.config.verbose = True
        torch._dynamo.config.specialize_int = True
        torch._dynamo.config.allowed_functions_module_string_ignorelist.add("left behind")
        torch.compiler.set_stance("force_eager")
    print(torch._dynamo.config.verbose, torch._dynamo.config.specialize_int)
    print("left behind" in torch._dynamo.config.allowed_functions_module_string_ignorelist)
    print(torch._dynamo.eval_frame._stance.stance)
    """
    assert in_a_process(source) == ["False", "False", "False", "default"]


def test_the_oracle_runs_eager_where_the_compiler_is_there(in_a_process):
    source = """
    import torch._dynamo
    with running(oracle=True) as recording:
        torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))
    print(recording.arrived, len(recording.regions), len(recording.compiles))
    """
    assert in_a_process(source) == ["False", "1", "0"]


def test_a_cell_that_sets_something_else_sets_it_from_the_start(in_a_process):
    source = """
    setup = cell.CellSetup(settings=(("torch._functorch.config", "functionalize_rng_ops", True),))
    with cell.running(setup, (), 0) as recording:
        import torch._functorch.config
        print(torch._functorch.config.functionalize_rng_ops, recording.arrived)
    print(torch._functorch.config.functionalize_rng_ops)
    """
    assert in_a_process(source) == ["True", "False", "False"]


def test_a_hook_that_is_missing_is_said_and_not_raised_into_the_suite(in_a_process):
    source = """
    from testmatrix.torch_adapter import capabilities
    unknown = capabilities.Capability("torch._dynamo.eval_frame", "NoSuchThing", "to see regions")
    capabilities.CAPABILITIES = (*capabilities.CAPABILITIES, unknown)
    with running() as recording:
        import torch._dynamo
    print(*[note.kind for note in recording.notes], "NoSuchThing" in recording.notes[0].text)
    """
    assert in_a_process(source) == ["recorder", "True"]


def test_a_version_that_was_never_tried_is_looked_at_before_anything_runs(in_a_process):
    source = """
    from testmatrix.torch_adapter import capabilities
    arrival.expect_no_more()
    capabilities.SUPPORTED = "torch 1.0"
    arrival.hook_in()
    from testmatrix.torch_adapter import hooks
    print("torch._dynamo" in sys.modules, hooks.installed())
    """
    assert in_a_process(source) == ["True", "True"]


def test_what_is_no_longer_expected_is_not_hooked_into(in_a_process):
    source = """
    arrival.expect_no_more()
    import torch._dynamo
    print("testmatrix.torch_adapter.hooks" in sys.modules)
    """
    assert in_a_process(source) == ["False"]
