"""What is recorded of symbols lets through the inputs that torch's own shape guards let through, and no others."""

import math
import random
import re

import pytest
import sympy
import torch
from torch.fx.experimental.symbolic_shapes import SYMPY_INTERP
from torch.utils._sympy import functions

from testmatrix.torch_adapter import guards

ASSIGNMENTS = 400


def contiguous(x, y, n):
    return x + y


def branches(x, y, n):
    if x.shape[0] % 3 == 0 and n > 4:
        x = x * n
    return x + 1 if y.shape[0] * 2 >= n else y


def joined(x, y, n):
    return torch.cat([x, y]).view(-1)[: n + 1]


def related(x, y, n):
    return x + 1 if x.shape[0] == n and y.shape[1] != n else y


def divided(x, y, n):
    return x + 1 if (n // 3) * 2 + max(n, x.shape[1]) < x.shape[0] * y.shape[0] and n**2 > 3 and (n & 3) == 3 else y


def burned(x, y, n):
    for _ in range(y.shape[1]):
        x = x + 1
    return x.sum(dim=1 if n == 7 else 0)


def reshaped(x, y, n):
    return x.reshape(2, -1) + y.sum()


def inputs(kind):
    if kind == "views":
        return torch.ones(20, 30)[2:14, 3:12:2], torch.ones(5, 12).t(), 7
    if kind == "three":
        return torch.ones(6, 5, 4), torch.ones(6, 5, 4), 7
    return torch.ones(6, 5), torch.ones(6, 5), 7


@pytest.fixture
def both(record, monkeypatch):
    """Compile, and get what was recorded and torch's own code of the shape guards."""

    def run(function, args, **settings):
        seen = []
        real = guards.read

        def read(manager, builder):
            shape_env = next(
                guard for guard in builder.check_fn_manager.output_graph.guards if guard.name == "" and is_shapes(guard)
            )
            seen.append((real(manager, builder), list(dict.fromkeys(shape_env.code_list or ()))))
            return seen[-1][0]

        monkeypatch.setattr(guards, "read", read)
        with record() as recording, torch._dynamo.config.patch(**settings):
            torch.compile(function, backend="eager")(*args)
        assert recording.notes == []
        return seen[0]

    return run


def is_shapes(guard):
    return guard.create_fn_name() == "SHAPE_ENV"


def accepted_by_torch(code, values):
    names = {source: f"v{i}" for i, source in enumerate(sorted(values, key=len, reverse=True))}
    text = " and ".join(f"({one})" for one in code) or "True"
    for source, name in names.items():
        text = text.replace(source, name)
    return bool(eval(text, {**SYMPY_INTERP, "math": math}, {name: values[source] for source, name in names.items()}))


def fixed_extents(read):
    """Sizes and strides that are constants: torch checks them with the tensor."""
    return [
        f"{guard.source}.{extent}()[{i}] == {value}"
        for guard in read.guards
        if guard.kind == "TENSOR_MATCH"
        for extent, items in re.findall(r"\b(size|stride)=\[([^\]]*)\]", guard.text)
        for i, value in enumerate(items.split(", "))
        if value.isdigit()
    ]


def accepted_as_recorded(read, values):
    """Every source of a symbol has its value, which is in its range and what replaced it; and every condition holds."""
    given = {symbol.name: values[symbol.sources[0]] for symbol in read.symbols if symbol.sources}
    number = {"int_oo": sympy.oo, **vars(functions), **{name: sympy.sympify(value) for name, value in given.items()}}
    for symbol in read.symbols:
        if not symbol.sources:
            continue
        value = given[symbol.name]
        if any(values[source] != value for source in symbol.sources):
            return False
        if symbol.replacement and sympy.sympify(symbol.replacement, locals=number) != value:
            return False
        if symbol.lower and not sympy.sympify(symbol.lower) <= value <= sympy.sympify(symbol.upper):
            return False
    conditions = (guard.text for guard in read.guards if guard.kind == "SHAPE")
    return all(sympy.sympify(text, locals=number) == sympy.true for text in conditions)


def assignments(read, generator):
    """Values of sources: most of them what the symbols make of a few random numbers, some off by a little in one source."""
    free = [symbol for symbol in read.symbols if symbol.sources and not symbol.replacement]
    for _ in range(ASSIGNMENTS):
        numbers = {one.name: int(float(one.hint)) + generator.choice((0, 0, 0, 1, -1, 2, 3, -4, 6)) for one in free}
        values = {}
        for symbol in read.symbols:
            value = numbers.get(symbol.name)
            if value is None:
                value = sympy.sympify(symbol.replacement, locals={**vars(functions), **numbers})
            values.update((source, int(value)) for source in symbol.sources)
        if values and generator.random() < 0.4:
            values[generator.choice(sorted(values))] += generator.choice((-1, 1, 2))
        if all(value > 0 for source, value in values.items() if source != "L['n']"):
            yield values


CASES = [
    *((function, kind) for function in (branches, related, divided, burned, reshaped) for kind in ("plain", "views", "three")),
    *((contiguous, "plain"), (contiguous, "three"), (joined, "plain")),
]


@pytest.mark.parametrize(("function", "kind"), CASES)
def test_the_same_inputs_are_let_through(both, function, kind):
    read, code = both(function, inputs(kind))
    assert code
    known = {source for symbol in read.symbols for source in symbol.sources}
    code += [one for one in fixed_extents(read) if one.partition(" ")[0] in known]
    generator = random.Random(f"{function.__name__} {kind}")
    outcomes = set()
    for values in assignments(read, generator):
        by_torch = accepted_by_torch(code, values)
        assert accepted_as_recorded(read, values) == by_torch, (values, code)
        outcomes.add(by_torch)
    assert outcomes == {True, False}


def test_every_source_in_torchs_code_is_recorded(both):
    read, code = both(divided, inputs("views"))
    known = {source for symbol in read.symbols for source in symbol.sources}
    used = set(re.findall(r"L\['\w+'\](?:\._base)?(?:\.(?:size|stride)\(\)\[\d+\]|\.storage_offset\(\))?", " ".join(code)))
    assert used <= known
