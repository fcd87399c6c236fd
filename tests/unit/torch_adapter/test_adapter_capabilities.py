"""What the installed torch has to offer."""

import pytest

from testmatrix.errors import EnvironmentUnusable
from testmatrix.torch_adapter import capabilities


def test_nothing_is_missing_here():
    assert capabilities.missing() == ()
    capabilities.require()


@pytest.mark.parametrize("capability", capabilities.CAPABILITIES, ids=lambda one: f"{one.module}.{one.attribute}")
def test_missing_name_is_reported(monkeypatch, capability):
    owner = __import__(capability.module, fromlist=["_"])
    *outer, name = capability.attribute.split(".")
    for each in outer:
        owner = getattr(owner, each)
    for each in getattr(owner, "__mro__", [owner]):
        if name in vars(each):
            monkeypatch.delattr(each, name)
    (line,) = capabilities.missing()
    assert line == f"{capability.module}.{capability.attribute} is missing, needed {capability.purpose}"


def test_refusal_names_the_versions_that_work(monkeypatch):
    lost = capabilities.Capability("torch._dynamo.utils", "no_such_name", "for this test")
    monkeypatch.setattr(capabilities, "CAPABILITIES", (lost, lost))
    with pytest.raises(EnvironmentUnusable, match=r"no_such_name is missing.*1 more.*works with: torch"):
        capabilities.require()


def test_module_that_does_not_exist_is_missing(monkeypatch):
    monkeypatch.setattr(capabilities, "CAPABILITIES", (capabilities.Capability("torch._nowhere", "x", "for this test"),))
    assert capabilities.missing() == ("torch._nowhere.x is missing, needed for this test",)


def test_version_is_plain_text():
    import torch

    assert type(capabilities.version()) is str
    assert capabilities.version() == str(torch.__version__)
