"""Numbers that stay constant where they should be symbols: the reason, the line, and what the test asked for itself."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.usefixtures("every_cell_is_run")

#: (how the function uses ``n``, reason)
FORCED = {
    "for i in range(n): x = x + i": "range()",
    "x = x * 2 if n == 2 else x * 3": None,  # the other branch carries it
    "x = x[..., n] * 2": "index",
    "x = x.sum(dim=n - 2)": "dim=",
    "x = x[:n, :n] * torch.hann_window(n)": "passing it to a function (hann_window())",
    "x = torch.nan_to_num(x, nan=n)": "passing it to a function (nan_to_num())",
    "x = x * TABLE[n] if n in TABLE else x": "lookup",
    "x = torch.addmm(x, x, x, beta=n, alpha=n + 1)": None,
    "x = x * n": None,
}
SIZES = """
def test_matmul():
    compiled(lambda x: x @ torch.ones(4, 2))(torch.ones(3, 4))

def test_parameter():
    compiled(lambda x, weight: x * weight)(torch.ones(4), torch.nn.Parameter(torch.ones(1)))
"""
ASKED = """
def test_refused():
    def step(x, n):
        for i in range(n):
            x = x + i
        return x
    with torch.compiler.config.patch(dynamic_sources="L['n']"):
        compiled(step)(torch.ones(3), 3)

def test_given():
    with torch.compiler.config.patch(dynamic_sources="L['n']"):
        compiled(lambda x, n: x * n)(torch.ones(3), 3)

def test_marked():
    x = torch.ones(3)
    torch._dynamo.mark_dynamic(x, 0)
    compiled(lambda x: x * 2)(x)
"""


@pytest.fixture
def specialised(matrix):
    """The findings of a suite by the name of its test."""

    def run(source):
        done = matrix(source)
        found = [finding for finding in done.findings if finding.kind == "guard.specialized"]
        return {name: [one for one in found if one.test.endswith(f"::{name}")] for name in done.tests}

    return run


def test_what_forces_an_int_and_where(specialised):
    functions = "\n".join(
        f"""
def test_{number}():
    def step(x, n):
        {use}
        return x
    for n in (2, 3):
        compiled(step)(torch.ones(4, 4), n)
"""
        for number, use in enumerate(FORCED)
    )
    found = specialised(f"TABLE = {{2: 10, 3: 20}}\n{functions}")

    told = {}
    for number, use in enumerate(FORCED):
        ints = [one for one in found[f"test_{number}"] if one.evidence["source"] == "L['n']"]
        told[use] = ints[0].evidence["reason"].removeprefix("forced: ") if ints else None
        assert all((one.severity, one.evidence["code"]) == ("warning", use) for one in ints)
        assert all(any(line.endswith(f">         {use}") for line in one.evidence["context"]) for one in ints)
    assert told == FORCED


def test_ints_that_are_constant_by_design(specialised):
    found = specialised("""
TICK = 0

class Counting(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return x * self.calls

def test_module():
    region = compiled(Counting())
    region(torch.ones(2)), region(torch.ones(2))

def test_global():
    def step(x):
        global TICK
        TICK += 2
        return x * TICK
    compiled(step)(torch.ones(2))
""")

    told = {
        name: [(one.severity, one.evidence["source"], one.evidence["reason"]) for one in ones] for name, ones in found.items()
    }
    assert told == {
        "test_module": [("info", "L['self'].calls", "by design: module attribute")],
        "test_global": [("info", "G['TICK']", "by design: global")],
    }


def test_sizes(specialised, cells):
    found = specialised(SIZES)

    (matmul,) = (one for one in found["test_matmul"] if one.severity == "warning")
    assert (matmul.evidence["source"], matmul.evidence["reason"]) == ("L['x'].size()[1]", "forced: shape equality (@)")
    assert matmul.cells == cells[2:]
    (parameter,) = found["test_parameter"]
    assert (parameter.severity, parameter.evidence["reason"]) == ("info", "by design: size of a Parameter")


def test_what_was_asked_for_by_name_and_not_given_is_an_error_in_every_cell(specialised, cells):
    found = specialised(ASKED)

    assert {name: len(ones) for name, ones in found.items()} == {"test_refused": 1, "test_given": 0, "test_marked": 0}
    (refused,) = found["test_refused"]
    assert (refused.severity, refused.cells, refused.evidence["asked"]) == ("error", cells, "dynamic_sources")


def test_numbers_in_the_report(matrix):
    run = matrix("""
def test_it():
    region = compiled(lambda x, n, f: x * n * f)
    for n, f in ((2, 0.5), (3, 1.5), (4, 2.5)):
        region(torch.ones(3), n, f)
""")

    (row,) = run.read.ints
    assert (row.source, row.kind, row.cells["static-specialize"].compiles) == ("L['n']", "argument", (1, 2, 3))
    assert row.cells["dynamic-unspecialize"].compiles == (1, 1, 1)
    assert [(one.source, one.number) for one in run.read.numbers] == [("L['f']", "float"), ("L['x'].size()[0]", "size")]
    assert run.read.summary.ints.reached == 1


def test_zero_dimensional_tensors_are_no_ints(matrix):
    run = matrix("""
def test_it():
    norm = torch.nn.BatchNorm1d(3)
    region = compiled(lambda x, n, t: norm(x) * [1.0, 2.0, 3.0][n] * t)
    for n in (1, 2):
        region(torch.ones(2, 3), n, torch.tensor(4))
""")

    assert [(row.source, row.cells["dynamic-unspecialize"].state) for row in run.read.ints] == [("L['n']", "constant")]
    assert (run.read.summary.ints.reached, run.read.summary.ints.symbolic) == (1, 0)


def test_refused_marks_tell_what_refused_them(specialised):
    found = specialised("""
def test_one():
    x = torch.ones(1, 3)
    torch._dynamo.mark_dynamic(x, 0)
    compiled(lambda x: x * 2)(x)

def test_unbacked():
    x, w = torch.ones(4, 3), torch.ones(3, 4)
    torch._dynamo.decorators.mark_unbacked(x, 0)
    compiled(lambda x: w @ x)(x)
""")

    (one,) = (finding for finding in found["test_one"] if finding.severity == "error")
    assert (one.evidence["reason"], one.evidence["asked"]) == ("by design: 0 or 1", "mark_dynamic")
    (unbacked,) = (finding for finding in found["test_unbacked"] if finding.severity == "error")
    assert (unbacked.evidence["reason"], unbacked.evidence["code"]) == (
        "forced: shape equality (@)",
        "compiled(lambda x: w @ x)(x)",
    )


def test_what_forces_an_int_in_a_statement_of_several_lines_and_under_another_name(specialised):
    found = specialised("""
LIST = [1, 2, 3, 4]

def scaled(x, count, flag):
    return x * LIST[count] if flag == "a" else x

def test_lines():
    def step(x, n):
        return x.sum(
            dim=n
        )
    compiled(step)(torch.ones(4, 4), 1)

def test_name():
    def step(x, n):
        return scaled(x, n, "a")
    compiled(step)(torch.ones(4), 2)

def test_part():
    def step(x, n):
        return x * max(LIST[:n])
    compiled(step)(torch.ones(4), 2)
""")

    told = {name: [one.evidence["reason"] for one in ones if one.evidence["source"] == "L['n']"] for name, ones in found.items()}
    assert told == {"test_lines": ["forced: dim="], "test_name": ["forced: index"], "test_part": ["forced: slice"]}


def test_taking_a_tensor_apart(specialised, cells):
    found = specialised("""
def test_it():
    def step(x):
        a, b, c = x
        return a + b * c
    compiled(step)(torch.ones(3, 5))
""")

    (taken,) = (one for one in found["test_it"] if one.evidence["source"] == "L['x'].size()[0]")
    assert (taken.cells, taken.evidence["reason"]) == (cells[2:], "forced: iteration")


def test_a_float_that_was_asked_for_and_is_a_constant_is_an_error(matrix):
    run = matrix("""
def test_it():
    with torch.compiler.config.patch(dynamic_sources="L['a']"):
        compiled(lambda x, a: x * a)(torch.ones(3), 2.5)
""")
    finding = run.finding("guard.specialized")
    assert (finding.severity, finding.cells) == ("error", ("static-specialize", "static-unspecialize"))
    assert finding.evidence["source"] == "L['a']"
