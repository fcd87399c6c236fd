"""``testmatrix doctor`` says whether there is a ccache; a run does without."""

import pytest

from testmatrix.cli import doctor


def test_ccache_is_named_where_it_is_found(monkeypatch, tmp_path):
    monkeypatch.delenv("CCACHE_DISABLE", raising=False)
    path = tmp_path / "ccache"
    path.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert doctor._ccache() == doctor.Check("ccache", True, str(path))
    assert doctor._ccache in doctor.CHECKS


@pytest.mark.parametrize(("variable", "says"), [("CCACHE_DISABLE", "switched off"), ("UNRELATED", "not found")])
def test_a_run_is_possible_without(monkeypatch, tmp_path, variable, says):
    monkeypatch.delenv("CCACHE_DISABLE", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv(variable, "1")
    check = doctor._ccache()
    assert check.fine
    assert says in check.says
