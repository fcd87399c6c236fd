"""What a test's module and classes hold: each cell starts from the same, and each test from what the one before left."""

from __future__ import annotations

SUITE = """
LOG, TABLE = [], {"inner": [0]}
NUMBER = 0

class Table:
    def __init__(self):
        self.rows = []

table = Table()

def default(values=[]):
    return values

def region():
    compiled(lambda x, n: x + n)(torch.ones(2), 3)

def state():
    return [*LOG], {"inner": [*TABLE["inner"]]}, NUMBER, [*table.rows], [*default()]

def step(number):
    global NUMBER
    LOG.append(number)
    TABLE["inner"].append(number)
    NUMBER = number
    table.rows.append(number)
    default.__defaults__ = ([*default(), number],)

def expected(*numbers):
    return [*numbers], {"inner": [0, *numbers]}, max(numbers, default=0), [*numbers], [*numbers]

def test_first():
    assert state() == expected()
    step(1)
    region()

def test_that_compiles_nothing():
    assert state() == expected(1)
    step(2)

def test_that_changes_nothing():
    assert state() == expected(1, 2)
    region()

class TestInAClass:
    seen = []

    def test_third(self):
        assert state() == expected(1, 2)
        assert self.seen == []
        step(3)
        self.seen.append(3)
        vars(table).clear()
        table.__dict__ = {"rows": [1, 2, 3]}
        region()

    def test_fourth(self):
        assert state() == expected(1, 2, 3)
        assert self.seen == [3]
        region()

@pytest.mark.parametrize("value", [[1], [2]])
def test_parameters(value):
    assert state() == expected(1, 2, 3)
    assert len(value) == 1
    value.append(0)
    region()
"""


def test_every_cell_starts_where_the_first_one_did(matrix):
    run = matrix(SUITE)
    assert run.outcomes == {"passed": 7}, run.text
    assert run.clean(), run.text
    assert {test: result["eager"].regions for test, result in run.tests.items() if "eager" in result} == {
        **dict.fromkeys(["test_first", "test_that_changes_nothing", "test_third", "test_fourth"], 1),
        **dict.fromkeys(["test_parameters[value0]", "test_parameters[value1]"], 1),
    }
