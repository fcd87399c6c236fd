"""Every kind of item that is not unittest's."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.usefixtures("every_cell_is_run")

ALL = {"static-specialize", "static-unspecialize", "dynamic-specialize", "dynamic-unspecialize", "eager"}


def test_function_runs_in_every_cell_and_the_oracle(matrix, cells):
    run = matrix("""
def test_it():
    assert compiled(lambda x, n: x + n)(torch.ones(2), 3).sum() == 8
""")
    assert run.exit == 0
    assert run.outcomes == {"passed": 1}
    assert run.outcomes_of("test_it") == dict.fromkeys(ALL, "passed")
    assert all(run.tests["test_it"][cell].regions == 1 and run.tests["test_it"][cell].compiles == 1 for cell in cells)
    assert run.clean()


def test_what_never_reaches_the_compiler_runs_once(matrix, cells, pytester, monkeypatch):
    monkeypatch.delenv("TESTMATRIX_COLLAPSE")
    run = matrix("""
import pathlib


def test_plain():
    with open("ran", "a") as stream:
        stream.write("x")
""")
    assert (pytester.path / "ran").read_text() == "x"
    assert {cell: result.same_as for cell, result in run.tests["test_plain"].items()} == {
        cells[0]: "",
        **dict.fromkeys(cells[1:], cells[0]),
    }


def test_parametrized_items_are_tests_of_their_own(matrix):
    run = matrix("""
@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("x", [torch.ones(2), torch.ones(3)], ids=["two", "three"])
def test_it(x, n):
    assert compiled(lambda x: x * n)(x).sum() == n * len(x)
""")
    assert run.outcomes == {"passed": 4}
    assert len(run.tests) == 4
    assert run.clean()


@pytest.mark.parametrize(
    ("parameter", "use"),
    [
        ("torch.ones(2)", "x.mul_(2); assert x.sum() == 4"),
        ("[1]", "x.append(2); assert x == [1, 2]"),
        ("{'a': 1}", "assert x.pop('a') == 1"),
        ("[torch.ones(2)]", "x[0].add_(1); assert x[0].sum() == 4"),
        ("{'a': {'b': [1]}}", "x['a']['b'].append(2); assert x['a']['b'] == [1, 2]"),
        ("torch.ones(2, requires_grad=True)", "x.sum().backward(); assert x.grad.sum() == 2"),
        ("torch.nn.Linear(2, 2)", "assert x.weight.grad is None; x(torch.ones(2)).sum().backward(); x.weight.data.zero_()"),
        ("torch.ones(2)", "assert not hasattr(x, '_dynamo_dynamic_indices'); torch._dynamo.mark_dynamic(x, 0)"),
        ("torch.ones(2)", "assert x.shape == (2,); x.resize_(1)"),
        ("torch.ones(2)", "assert not x.requires_grad; x.requires_grad_()"),
        ("bytearray(b'a')", "assert len(x) == 1; x.append(3)"),
        ("__import__('collections').deque([1])", "assert len(x) == 1; x.append(3)"),
        ("__import__('numpy').ones(2)", "assert x[0] == 1; x[0] = 5"),
        ("Point(1)", "assert x.at == 1; x.at += 1"),
        ("(torch.ones(2), [1])", "assert x[0].sum() == 2 and x[1] == [1]; x[0].zero_(); x[1].clear()"),
    ],
)
def test_a_parameter_changed_by_the_test_is_as_before_in_the_next_cell(matrix, parameter, use):
    run = matrix(f"""
class Point:
    def __init__(self, at):
        self.at = at

@pytest.mark.parametrize("x", [{parameter}])
def test_it(x):
    compiled(lambda y: y + 1)(torch.ones(2))
    {use}
""")
    assert run.outcomes == {"passed": 1}, run.text
    assert run.outcomes_of("test_it[x0]") == dict.fromkeys(ALL, "passed")


def test_parameters_keep_their_identity_and_share_what_they_shared(matrix):
    run = matrix("""
SHARED = torch.zeros(4)
LIST = [SHARED]

@pytest.mark.parametrize(("whole", "part", "held"), [(SHARED, SHARED[:2], LIST)])
def test_it(whole, part, held):
    assert whole is SHARED and held is LIST and held[0] is whole
    part.fill_(1)
    assert compiled(lambda x: x.sum())(whole) == 2
""")
    assert run.outcomes == {"passed": 1}, run.text
    assert run.clean()


def test_indirect_and_fixture_parameters(matrix):
    run = matrix("""
@pytest.fixture(params=[[1], [2]])
def values(request):
    request.param.append(0)
    return request.param

@pytest.fixture
def doubled(request):
    return request.param * 2

@pytest.mark.parametrize("doubled", [2], indirect=True)
def test_it(values, doubled):
    assert len(values) == 2
    compiled(lambda x: x * doubled)(torch.ones(2))
""")
    assert run.outcomes == {"passed": 2}, run.text
    assert run.clean()


def test_doctests(matrix):
    run = matrix(
        "",
        "--doctest-modules",
        "--testmatrix-collapse=on",
        files={
            "mathy.py": '''
import torch

@torch.compile(backend="eager")
def double(x):
    """
    >>> y = double(torch.ones(2))
    >>> y.tolist()
    [2.0, 2.0]
    >>> y = double(torch.ones(3))
    """
    return x * 2
''',
            "test_text.txt": ">>> 1 + 1\n2\n",
        },
    )
    assert run.outcomes == {"passed": 2}, run.text
    found, text = run.read.tests
    assert text.cells["dynamic-specialize"].same_as
    run_itself = {cell: result.regions for cell, result in found.cells.items() if not result.same_as}
    assert run_itself == {"static-specialize": 2, "dynamic-specialize": 2, "eager": 2}


def test_doctest_file(matrix):
    run = matrix("", "--doctest-glob=*.txt", files={"test_text.txt": ">>> 1 + 1\n2\n>>> 1 + 1\n3\n"})
    assert run.outcomes == {"failed": 1}
    assert not run.findings


def test_a_coroutine_fails_as_in_a_bare_run(matrix, pytester):
    run = matrix("""
async def test_it():
    pass
""")
    bare = pytester.runpytest_inprocess()
    assert run.outcomes == {key: value for key, value in bare.parseoutcomes().items() if key != "warnings"}
    assert run.exit == bare.ret
    assert not run.findings


def test_each_cell_has_an_instance_of_its_own(matrix):
    run = matrix("""
class TestIt:
    seen = []

    def test_it(self):
        assert not hasattr(self, "mark")
        assert self.seen == []
        self.mark = 1
        self.seen.append(1)
        compiled(lambda x: x + 1)(torch.ones(2))
""")
    assert run.outcomes == {"passed": 1}, run.text
    assert run.clean()


def test_class_state_passes_from_test_to_test_as_in_a_bare_run(matrix):
    run = matrix("""
class TestSteps:
    made = None

    def test_first(self):
        type(self).made = compiled(lambda x: x + 1)(torch.ones(2))

    def test_second(self):
        assert self.made is not None
        compiled(lambda x: x + 1)(self.made)
""")
    assert run.outcomes == {"passed": 2}, run.text


def test_the_same_test_named_twice(matrix):
    source = """
def test_it():
    compiled(lambda x, n: x + n)(torch.ones(2), 2)
"""
    run = matrix(source, "--keep-duplicates", "test_suite.py", "test_suite.py")
    assert run.exit == 0
    assert run.read.summary.tests == run.outcomes["passed"]


@pytest.mark.parametrize("how", ["capsys", "capfd"])
def test_captured_output_is_of_one_cell(matrix, how):
    run = matrix(f"""
def test_it({how}):
    compiled(lambda x: x + 1)(torch.ones(2))
    print("said")
    assert {how}.readouterr().out == "said\\n"
""")
    assert run.outcomes == {"passed": 1}
    assert "said" not in run.text


def test_function_fixtures_of_pytest_are_new_in_each_cell(matrix):
    run = matrix(
        """
import logging, os, warnings

def test_it(tmp_path, caplog, monkeypatch, recwarn, request, record_property):
    compiled(lambda x: x + 1)(torch.ones(2))
    assert not list(tmp_path.iterdir())
    (tmp_path / "made").write_text("")
    logging.getLogger("suite").warning("said")
    assert [r.getMessage() for r in caplog.records if r.name == "suite"] == ["said"]
    assert "SUITE_VARIABLE" not in os.environ
    monkeypatch.setenv("SUITE_VARIABLE", "1")
    warnings.warn("careful")
    assert len(recwarn) == 1
    assert request.node.user_properties == []
    record_property("once", 1)
    request.node.add_marker("seen")
    assert [mark.name for mark in request.node.iter_markers()] == ["seen"]
    assert "own_keyword" not in request.node.extra_keyword_matches
    request.node.extra_keyword_matches.add("own_keyword")
""",
        "-W",
        "ignore::pytest.PytestUnknownMarkWarning",
    )
    assert run.outcomes == {"passed": 1}, run.text
    assert run.clean()


def test_a_failing_test_shows_the_output_of_one_cell(matrix):
    run = matrix("""
def test_it():
    compiled(lambda x: x + 1)(torch.ones(2))
    print("said")
    assert 0
""")
    assert run.outcomes == {"failed": 1}
    assert run.result.outlines.count("said") == 1
    assert not run.findings


def test_a_warning_is_shown_as_often_as_in_a_bare_run(matrix, pytester):
    run = matrix("""
import warnings

def test_it():
    compiled(lambda x: x + 1)(torch.ones(2))
    warnings.warn("careful")
    warnings.warn("old", DeprecationWarning)
""")
    bare = pytester.runpytest_inprocess()
    assert run.outcomes == bare.parseoutcomes() == {"passed": 1, "warnings": 2}


def test_a_warning_that_is_an_error_fails_in_every_cell(matrix):
    run = matrix("""
import warnings

@pytest.mark.filterwarnings("error:careful")
def test_it():
    compiled(lambda x: x + 1)(torch.ones(2))
    warnings.warn("careful")
""")
    assert set(run.outcomes_of("test_it").values()) == {"failed"}
    assert not run.findings


def test_regions_called_from_threads(matrix):
    run = matrix("""
import threading

def test_it():
    region = compiled(lambda x, n: x * n)
    results = {}
    def work(n):
        results[n] = region(torch.ones(2), n)
    for n in (2, 3):
        thread = threading.Thread(target=work, args=(n,))
        thread.start()
        thread.join()
    assert results[2].sum() == 4 and results[3].sum() == 6
""")
    assert run.outcomes == {"passed": 1}
    counts = {cell: (result.regions, result.compiles) for cell, result in run.tests["test_it"].items()}
    assert counts["static-specialize"] == (2, 2)
    assert counts["dynamic-unspecialize"] == (2, 1)
    assert not [note for note in run.read.notes if note.kind == "recorder"]


def test_a_reset_in_the_middle_of_a_test(matrix):
    run = matrix("""
def test_it():
    region = compiled(lambda x: x + 1)
    region(torch.ones(2))
    torch._dynamo.reset()
    region(torch.ones(2))
""")
    assert {result.compiles for cell, result in run.tests["test_it"].items() if cell != "eager"} == {2}
    assert run.clean()


@pytest.mark.parametrize(
    ("stop", "status"),
    [("raise KeyboardInterrupt", 2), ("pytest.exit('enough')", 2), ("pytest.exit('enough', returncode=7)", 7)],
)
def test_a_run_that_is_stopped_reports_what_was_done(matrix, stop, status):
    run = matrix(
        f"""
def test_before():
    compiled(lambda x, n: x + n)(torch.ones(2), 2)

CELLS = []

def test_stopped():
    compiled(lambda x, n: x + n)(torch.ones(2), 2)
    if not torch._dynamo.config.assume_static_by_default:
        {stop}

def test_after():
    pass
""",
        no_reraise_ctrlc=True,
    )
    assert run.exit == status
    assert list(run.tests) == ["test_before"]
    assert run.read.summary.exit == status
    assert not torch_is_changed()


def torch_is_changed():
    import torch

    return not torch._dynamo.config.assume_static_by_default or torch._dynamo.config.specialize_int


def test_a_fixture_that_fails_in_one_cell(matrix):
    run = matrix("""
@pytest.fixture
def only_static():
    compiled(lambda x: x + 1)(torch.ones(2))
    if not torch._dynamo.config.assume_static_by_default:
        raise RuntimeError("not made for this")

def test_it(only_static):
    pass
""")
    finding = run.finding("outcome")
    assert set(finding.cells) == {"dynamic-specialize", "dynamic-unspecialize"}
    assert run.exit == 1
    assert run.outcomes == {"errors": 1}
    run.result.stdout.fnmatch_lines(["*ERROR at setup of test_it*", "*not made for this*"])


@pytest.mark.parametrize("scope", ["function", "class", "module", "session"])
@pytest.mark.parametrize("compiles", [True, False], ids=["compiles", "plain"])
def test_a_failing_teardown_is_an_error_as_in_a_bare_run(matrix, scope, compiles):
    run = matrix(
        f"""
@pytest.fixture(scope="{scope}")
def broken():
    if {compiles}:
        compiled(lambda x: x + 1)(torch.ones(2))
    yield
    print("printed in teardown")
    raise RuntimeError("cannot clean up")

def test_it(broken):
    compiled(lambda x: x + 1)(torch.ones(2))
""",
        "-rN",
    )
    assert run.outcomes == {"passed": 1, "errors": 1}, run.text
    run.result.stdout.fnmatch_lines(["*ERROR at teardown of test_it*", "*cannot clean up*"])
    assert run.result.outlines.count("printed in teardown") == 1
    assert "Captured stdout teardown" in run.text
    assert not run.findings


def test_a_failing_teardown_with_exitfirst(matrix):
    run = matrix(
        """
@pytest.fixture(scope="module")
def broken():
    yield
    raise RuntimeError("cannot clean up")

def test_it(broken):
    compiled(lambda x: x + 1)(torch.ones(2))
    assert 0

def test_after(broken):
    pass
""",
        "-x",
    )
    assert run.outcomes == {"failed": 1, "errors": 1}, run.text
    assert list(run.tests) == ["test_it"]


def test_a_wider_teardown_that_fails_beside_a_failing_one(matrix):
    run = matrix("""
@pytest.fixture(scope="module")
def wide():
    yield
    raise RuntimeError("wide one")

@pytest.fixture
def narrow():
    yield
    raise RuntimeError("narrow one")

def test_it(wide, narrow):
    compiled(lambda x: x + 1)(torch.ones(2))
""")
    assert run.exit == 1
    assert "wide one" in run.text
    assert "narrow one" in run.text


def test_post_mortem_is_offered(pytester, matrix):
    run = matrix(
        """
import bdb

def test_it():
    compiled(lambda x: x + 1)(torch.ones(2))
    assert 0
""",
        "--pdb",
        "--pdbcls=quitting:Quitting",
        subprocess=True,
        files={
            "quitting.py": """
import pdb

class Quitting(pdb.Pdb):
    def interaction(self, frame, traceback):
        print("post mortem")
        self.set_quit()
"""
        },
    )
    assert "post mortem" in run.text


def test_items_of_another_plugins_making(matrix):
    run = matrix(
        "",
        files={
            "conftest.py": """
import pytest, torch

class Line(pytest.Item):
    def runtest(self):
        assert torch.compile(lambda x, n: x + n, backend="eager")(torch.ones(2), int(self.name)).sum() == 2 + 2 * int(self.name)

    def reportinfo(self):
        return self.path, 0, self.name

class Lines(pytest.File):
    def collect(self):
        return [Line.from_parent(self, name=name) for name in self.path.read_text().split()]

def pytest_collect_file(parent, file_path):
    return Lines.from_parent(parent, path=file_path) if file_path.suffix == ".lines" else None
""",
            "test_it.lines": "3 4",
        },
    )
    assert run.outcomes == {"passed": 2}, run.text
    assert run.tests["3"]["dynamic-unspecialize"].regions == 1
    assert run.clean()


def test_hooks_of_the_suites_own_see_every_run_and_one_report(matrix, pytester):
    run = matrix(
        """
def test_it(request):
    compiled(lambda x: x + 1)(torch.ones(2))
    assert not hasattr(request.node, "seen") or request.node.seen == "teardown"
""",
        files={
            "conftest.py": """
def log(word):
    with open("log", "a") as stream:
        stream.write(word + " ")

def pytest_runtest_logreport(report):
    log("report-" + report.when)

def pytest_runtest_logstart():
    log("start")

def pytest_runtest_logfinish():
    log("finish")

def pytest_runtest_setup(item):
    log("setup")

def pytest_runtest_teardown(item):
    log("teardown")
    item.seen = "teardown"
"""
        },
    )
    assert run.outcomes == {"passed": 1}, run.text
    expected = "start " + "setup teardown " * 5 + "report-setup report-call report-teardown finish "
    assert (pytester.path / "log").read_text() == expected


def test_a_hypothesis_test(matrix):
    run = matrix("""
from hypothesis import given, settings, strategies

@settings(max_examples=3, database=None, derandomize=True, deadline=None)
@given(strategies.integers(2, 5))
def test_it(n):
    assert compiled(lambda x: x * n)(torch.ones(2)).sum() == 2 * n
""")
    assert run.outcomes == {"passed": 1}, run.text
    assert run.clean(), run.text
