"""What a compiled function does to globals and closures, against what it does in eager."""

from __future__ import annotations

import pytest

SUITE = """
import numpy as np
NUMBERS, TABLE, ARRAY, TENSOR = [], {}, np.zeros(2), torch.zeros(2)

class Holder:
    calls = 0

def wrong():
    return int(torch.compiler.is_compiling()) * WRONG

def change_list():
    NUMBERS.append(1 + wrong())

def change_dict():
    TABLE["a"] = 1 + wrong()

def change_array():
    ARRAY[0] = 1 + wrong()

def change_tensor():
    TENSOR.fill_(1 + wrong())

def change_class():
    Holder.calls = 1 + wrong()

@pytest.mark.parametrize("change", [change_list, change_dict, change_array, change_tensor, change_class])
def test_change(change):
    NUMBERS.clear(), TABLE.clear()
    torch.compile(change, backend="eager")()

def test_optimizer():
    weight, other = torch.nn.Parameter(torch.ones(2)), torch.ones(2)
    optimizer = torch.optim.Adam([weight], lr=0.1)
    @compiled
    def step(x):
        optimizer.zero_grad()
        ((weight + wrong()) * x).pow(2).sum().backward()
        optimizer.step()
        other.add_(1 + wrong())
    step(torch.ones(2))
    step(torch.ones(2))
"""


@pytest.mark.parametrize("wrong", [0, 1])
def test_state_that_is_changed_in_place(matrix, wrong):
    run = matrix(f"WRONG = {wrong}\n{SUITE}")
    found = [finding for finding in run.findings if finding.kind == "mutation"]
    assert {finding.test.rpartition("::")[2] for finding in found} == (set(run.tests) if wrong else set()), run.text
    assert not [note for note in run.read.notes if note.kind == "recorder"]
    assert all(finding.severity == "error" for finding in found)
