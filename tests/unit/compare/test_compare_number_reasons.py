"""What of a line made a number a constant."""

from __future__ import annotations

import pytest

from testmatrix.compare.numbers.reasons import family, forced


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("for i in range(start + 1, n):", "range()"),
        ("return torch.cat([x[i] for i in range(n)])", "range()"),
        ("return x.sum(dim=n)", "dim="),
        ("if n == 5:", "=="),
        ("elif n != 5:", "=="),
        ("return x if n == 0 else odd(x, n - 1)", "=="),
        ("case 2 | 3:", "=="),
        ("if n in TABLE:", "lookup"),
        ("return x + table.get(n, -1)", "lookup"),
        ("return x[..., n] * 2", "index"),
        ("return x * [2.0, 3.0, 4.0][n]", "index"),
        ("return x[n, 1]", "index"),
        ("return x * 2 if n else x * 3", "truth value"),
        ("return x + (not n)", "truth value"),
        ("return torch.hann_window(n)", "passing it to a function (hann_window())"),
        ("return torch.nan_to_num(x, nan=n)", "passing it to a function (nan_to_num())"),
        ("return x.repeat_interleave(n, dim=0)", "passing it to a function (repeat_interleave())"),
        ("return n.bit_length()", "method (bit_length())"),
        ("return x ** n", "operator (**)"),
        ("n //= 2", "an operation"),
        ("return x * (k // n)", "operator (//)"),
        ("while n > 0:", "comparison"),
        ("return f'{n}'", "formatting"),
        ("return x[:n]", "slice"),
        ("return x * n", "arithmetic (*)"),
        ("", "an operation"),
    ],
)
def test_reasons(code: str, reason: str) -> None:
    assert forced(code, ("n",), "int") == f"forced: {reason}"


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        # A slice carries ints, so that the other use is the one that forced.
        ("return x[:n] * torch.hann_window(n)", "passing it to a function (hann_window())"),
        # What is done with the result of a call is done to something else.
        ("return table[len(str(n))]", "passing it to a function (str())"),
        # What a function in the line is called with is no use of its argument.
        ("check(lambda x, n: F.one_hot(x, n), *((x, n) for n in range(3)))", "passing it to a function (one_hot())"),
        ("return sorted(x, key=lambda a: a)[n]", "index"),
    ],
)
def test_the_most_telling_use_of_a_line_counts(code: str, reason: str) -> None:
    assert forced(code, ("n",), "int") == f"forced: {reason}"


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("n, dim=0)", "passing it to a function"),
        ("torch.full(", "passing it to a function (full())"),
        ("stop=n),", "passing it to a function"),
        ("dim=n)", "dim="),
        ("if (n == 5 and", "=="),
        ("$ for i in range(n", "range()"),
    ],
)
def test_parts_of_statements(code: str, reason: str) -> None:
    assert forced(code, ("n",), "int") == f"forced: {reason}"


def test_an_attribute_counts_before_the_object_that_it_is_of() -> None:
    assert forced("if self.calls == len(self.names):", ("calls", "self"), "int") == "forced: =="


def test_a_number_that_goes_by_another_name_in_that_line() -> None:
    assert forced("for i in range(count):", ("n",), "int") == "forced: range()"


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("return x @ weight", "shape equality (@)"),
        ("return x + torch.rand(4)", "shape equality (+)"),
        ("return F.linear(input, self.weight)", "shape equality (linear())"),
        ("if x.shape[0] == 5:", "=="),
        ("for row in x:", "iteration"),
        ("for i in range(x.size(0)):", "range()"),
        ("", "shape equality"),
    ],
)
def test_sizes(code: str, reason: str) -> None:
    assert forced(code, ("x",), "size") == f"forced: {reason}"


@pytest.mark.parametrize("code", ["x" * 5000, "(" * 400, "\x00", "f(" * 60 + "n"])
def test_any_line_has_an_answer(code: str) -> None:
    assert forced(code, ("n",), "int").startswith("forced: ")


def test_a_family_leaves_the_details_out() -> None:
    assert family("forced: passing it to a function (hann_window())") == "forced: passing it to a function"
    assert family("by design: global") == "by design: global"


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        # A function in the line that does nothing to the number is no more than an argument.
        ("return functools.reduce(lambda p, q: p + q, [x for _ in range(n)])", "range()"),
        ("return list(map(lambda v: v * 2, [x, x]))[n]", "index"),
        ("return list(map(lambda v: v * n, [x, x]))", "arithmetic (*)"),
        # What is done with a part is done to something else.
        ("for i, v in enumerate(LIST[:n]):", "slice"),
        ("return x * max(LIST[:n])", "slice"),
        ("return x[:n, 1] == 3", "slice"),
        ("return LIST[n] == 5", "index"),
        ("return torch.stack(x[..., n])", "index"),
        ("return x[n, 1] ** 2", "index"),
        # An item goes by its key.
        ("for i in range(table['n']):", "range()"),
    ],
)
def test_what_is_done_to_the_number_and_not_to_what_is_made_of_it(code: str, reason: str) -> None:
    assert forced(code, ("n",), "int") == f"forced: {reason}"


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ('return x * LIST[count] if flag == "a" else x', "index"),
        ("return x * LIST[count] if flag == mode else x", "index"),
        ('return x.sum(dim=count) if "a" == flag else x', "dim="),
        ("return [x for _ in range(count)] if self.flag == mode else x", "range()"),
        ("return x if count == 5 else y", "=="),
        # Of two that tell as much, that in the function.
        ("check(lambda x, s: x[: int(s)], *((x, int32(k)) for k in (1, 2)))", "passing it to a function (int())"),
    ],
)
def test_under_another_name_what_is_done_to_ints_alone_counts_first(code: str, reason: str) -> None:
    assert forced(code, ("n", "self"), "int") == f"forced: {reason}"


def context_of(source: str, own: int) -> tuple[str, ...]:
    """The lines of a piece of source, as a guard has them around its own."""
    return tuple(f"{12 + n} {'>' if n == own else '|'} {line}" for n, line in enumerate(source.splitlines()))


@pytest.mark.parametrize(
    ("source", "own", "reason"),
    [
        ("def step(x, n):\n    return x.sum(\n        dim=n\n    )", 1, "dim="),
        ("return x.sum(  # of (all\n    dim=n,  # which\n)", 0, "dim="),
        ("y = torch.sum(\n    x,\n    n,", 2, "passing it to a function (sum())"),
        ("y = LIST[\n    n\n]", 1, "index"),
        ("return (x * n).sum(\n    dim=n\n)", 0, "dim="),
        # Where the line itself tells, the others are not asked.
        ("y = x[n](\n    dim=n\n)", 0, "index"),
        # Statements beside it are others.
        ("y = x.sum(dim=n)\ny = y * n\ny = y[n]", 1, "arithmetic (*)"),
        ("y = f(\n    k)\ny = y * n\ny = y[n]", 2, "arithmetic (*)"),
    ],
)
def test_a_line_is_completed_from_those_around_it(source: str, own: int, reason: str) -> None:
    assert forced(source.splitlines()[own].strip(), ("n",), "int", context_of(source, own)) == f"forced: {reason}"


def test_sizes_of_a_statement_of_several_lines() -> None:
    source = "return F.linear(\n    x,\n    self.weight,\n)"
    assert forced("return F.linear(", ("x",), "size", context_of(source, 0)) == "forced: shape equality (linear())"


@pytest.mark.parametrize(("code", "reason"), [("a, b, c = x", "iteration"), ("a, b = x.shape", "shape equality")])
def test_taking_apart_is_iteration(code: str, reason: str) -> None:
    assert forced(code, ("x",), "size") == f"forced: {reason}"
