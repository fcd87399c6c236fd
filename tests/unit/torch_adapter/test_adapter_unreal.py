"""Results without real values."""

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode


@pytest.mark.parametrize("kind", ["real", "meta", "fake"])
def test_fake_results_are_not_concrete(record, kind):
    fake = FakeTensorMode().from_tensor(torch.ones(2))
    made = {"real": torch.ones(2), "meta": torch.ones(2, device="meta"), "fake": fake}[kind]

    @torch.compiler.disable
    def result():
        return [made]

    with record(oracle=True) as recording:
        torch.compile(lambda x: (x, result()), backend="eager")(torch.ones(2))
    assert recording.regions[0].concrete == (kind != "fake")
    assert recording.notes == []
