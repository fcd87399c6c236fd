"""Fixtures of wider scope: set up again for each cell where they belong to it, once where not."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.usefixtures("every_cell_is_run")

LOG = """
def log(word):
    with open("log", "a") as stream:
        stream.write(word + " ")
"""

REGION = "compiled(lambda x: x + 1)(torch.ones(2))"

#: What makes a fixture a cell's own.
BELONGS = {
    "calls-region": REGION,
    "makes-region": "compiled(lambda x: x + 1)",
    "reads-setting": "torch._dynamo.config.specialize_int",
    "changes-setting": "torch._dynamo.config.verbose = True",
    "patches-setting": "stack.enter_context(torch._dynamo.config.patch(cache_size_limit=3))",
}
STAYS = {
    "nothing": "pass",
    "tensor": "torch.ones(2)",
    "random": "torch.rand(2)",
    "module": "torch.nn.Linear(2, 2)",
    "other-setting": "torch._dynamo.config.cache_size_limit",
    "environment": "__import__('os').environ.__setitem__('SUITE_VARIABLE', '1')",
}


def suite(scope: str, body: str) -> str:
    return f"""
import contextlib

{LOG}

@pytest.fixture(scope="{scope}")
def wide():
    with contextlib.ExitStack() as stack:
        log("wide+")
        {body}
        yield
        log("wide-")

class TestIt:
    def test_one(self, wide):
        log("one")
        {REGION}

    def test_two(self, wide):
        log("two")
        {REGION}
"""


def scoped(bodies: dict[str, str], scopes: list[str]) -> list:
    """Every body in one scope, and the first body in every scope."""
    first = next(iter(bodies))
    pairs = [(name, "class") for name in bodies] + [(first, scope) for scope in scopes]
    return [pytest.param(scope, bodies[name], id=f"{scope}-{name}") for name, scope in pairs]


@pytest.mark.parametrize(("scope", "body"), scoped(BELONGS, ["module", "package", "session"]))
def test_one_that_belongs_to_the_cell_is_set_up_again(matrix, pytester, scope, body):
    run = matrix(suite(scope, body))
    assert run.outcomes == {"passed": 2}, run.text
    assert (pytester.path / "log").read_text() == "wide+ one wide- " * 5 + "wide+ two wide- " * 5
    assert run.clean()


@pytest.mark.parametrize(("scope", "body"), scoped(STAYS, ["module", "session"]))
def test_one_that_does_not_is_set_up_once(matrix, pytester, monkeypatch, scope, body):
    monkeypatch.delenv("SUITE_VARIABLE", raising=False)
    monkeypatch.setenv("SUITE_VARIABLE", "0")
    run = matrix(suite(scope, body))
    assert run.outcomes == {"passed": 2}, run.text
    assert (pytester.path / "log").read_text() == "wide+ " + "one " * 5 + "two " * 5 + "wide- "
    assert run.clean()


def test_what_depends_on_a_cells_fixture_goes_with_it(matrix, pytester):
    run = matrix(f"""
{LOG}

@pytest.fixture(scope="session")
def outer():
    log("outer+")
    yield
    log("outer-")

@pytest.fixture(scope="module")
def region(outer):
    log("region+")
    yield compiled(lambda x: x + 1)
    log("region-")

@pytest.fixture(scope="module")
def result(region):
    log("result+")
    yield [region]
    log("result-")

@pytest.fixture(scope="module")
def apart():
    log("apart+")
    yield
    log("apart-")

@pytest.fixture
def inner(result):
    log("inner+")
    yield
    log("inner-")

def test_one(outer, apart, inner, result):
    log("one")
    result[0](torch.ones(2))
""")
    assert run.outcomes == {"passed": 1}, run.text
    cell = "region+ result+ inner+ one inner- result- region- "
    assert (pytester.path / "log").read_text() == f"outer+ apart+ {cell}{cell * 4}apart- outer- "
    assert run.clean()


def test_a_wide_fixture_sees_the_settings_of_its_cell(matrix):
    run = matrix("""
@pytest.fixture(scope="session")
def settings():
    return (torch._dynamo.config.assume_static_by_default, torch._dynamo.config.specialize_int)

def test_it(settings):
    assert settings == (torch._dynamo.config.assume_static_by_default, torch._dynamo.config.specialize_int)
    compiled(lambda x: x + 1)(torch.ones(2))
""")
    assert run.outcomes == {"passed": 1}
    assert run.clean()


def test_random_numbers_of_a_wide_fixture_leave_every_cell_in_the_same_state(matrix):
    run = matrix("""
import random

@pytest.fixture(scope="module", autouse=True)
def seeded():
    torch.manual_seed(7)
    random.seed(7)

@pytest.fixture(scope="session")
def drawn():
    return torch.rand(2)

@pytest.fixture
def late(request):
    torch.rand(1)
    return request.getfixturevalue("drawn_late")

@pytest.fixture(scope="module")
def drawn_late():
    return torch.rand(2)

def test_one(seeded, drawn, late):
    assert compiled(lambda x: x + 1)(torch.rand(2) + drawn + late).shape == (2,)
    assert random.random() == random.Random(7).random()

def test_two():
    compiled(lambda x: x + 1)(torch.rand(2))
""")
    assert run.outcomes == {"passed": 2}, run.text
    assert run.clean(), run.text


def test_a_parametrized_module_fixture_changes_the_state_for_its_tests(matrix):
    run = matrix("""
import os

@pytest.fixture(scope="module", params=["a", None, "b"])
def variable(request):
    if request.param is not None:
        os.environ["SUITE_VARIABLE"] = request.param
    yield request.param
    os.environ.pop("SUITE_VARIABLE", None)

def test_one(variable):
    assert os.environ.get("SUITE_VARIABLE") == variable
    compiled(lambda x: x + 1)(torch.ones(2))

def test_two(variable):
    assert os.environ.get("SUITE_VARIABLE") == variable
    compiled(lambda x: x + 1)(torch.ones(2))
""")
    assert run.outcomes == {"passed": 6}, run.text
    assert run.clean()


def test_values_of_wide_fixtures_are_as_before_in_each_cell(matrix):
    run = matrix("""
@pytest.fixture(scope="module")
def model():
    return torch.nn.Linear(2, 2)

@pytest.fixture(scope="session")
def box():
    return {"tensors": [torch.zeros(2)], "log": []}

def test_it(model, box):
    assert box["log"] == [] and box["tensors"][0].sum() == 0
    box["log"].append(1)
    box["tensors"][0].add_(1)
    assert model.training and model.weight.grad is None
    compiled(model)(torch.ones(2)).sum().backward()
    with torch.no_grad():
        model.weight.zero_()
    model.eval()

def test_next(model, box):
    assert not model.training and box["log"] == [1]
""")
    assert run.outcomes == {"passed": 2}, run.text
    assert run.clean(), run.text


def test_function_fixtures_that_change_the_module_start_from_the_same(matrix):
    run = matrix("""
CALLS = []

def setup_function():
    CALLS.append("setup")

@pytest.fixture
def counted():
    CALLS.append("fixture")

def test_it(counted):
    assert CALLS == ["setup", "fixture"]
    compiled(lambda x: x + 1)(torch.ones(2))
""")
    assert run.outcomes == {"passed": 1}, run.text


def test_setup_of_modules_and_classes(matrix, pytester):
    run = matrix(f"""
{LOG}

def setup_module():
    log("module+")

def teardown_module():
    log("module-")

class TestIt:
    @classmethod
    def setup_class(cls):
        log("class+")
        cls.region = staticmethod(compiled(lambda x: x + 1))

    @classmethod
    def teardown_class(cls):
        log("class-")

    def setup_method(self):
        log("+")

    def teardown_method(self):
        log("-")

    def test_it(self):
        self.region(torch.ones(2))
""")
    assert run.outcomes == {"passed": 1}, run.text
    assert (pytester.path / "log").read_text() == "module+ " + "class+ + - class- " * 5 + "module- "
    assert run.clean()


def test_a_broken_wide_fixture_is_an_error_of_every_test(matrix, pytester):
    run = matrix("""
@pytest.fixture(scope="module")
def broken():
    compiled(lambda x: x + 1)(torch.ones(2))
    raise RuntimeError("no")

def test_one(broken):
    pass

def test_two(broken):
    pass
""")
    bare = pytester.runpytest_inprocess()
    assert run.outcomes == bare.parseoutcomes() == {"errors": 2}
    assert not run.findings


def test_a_skip_in_a_wide_fixture(matrix):
    run = matrix("""
@pytest.fixture(scope="module")
def unavailable():
    compiled(lambda x: x + 1)(torch.ones(2))
    pytest.skip("no such device")

def test_it(unavailable):
    assert 0
""")
    assert run.outcomes == {"skipped": 1}
    assert set(run.outcomes_of("test_it").values()) == {"skipped"}
    assert not run.findings
