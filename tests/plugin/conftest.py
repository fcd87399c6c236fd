"""Runs of pytest inside pytest: a matrix over a small suite, and its report."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import _pytest.pytester
import pytest
import torch
import torch._dynamo.testing
from _pytest.pytester import SysModulesSnapshot

from testmatrix.report.model import FindingEntry, Report, decode
from testmatrix.store.records import CellResult
from testmatrix.torch_adapter import hooks, recording

REPORT = "report.json"

#: At the head of every small suite.
HEAD = """
import pytest
import torch

def compiled(function=None, **options):
    options.setdefault("backend", "eager")
    return torch.compile(function, **options) if function is not None else (lambda f: torch.compile(f, **options))
"""


@dataclass(frozen=True)
class Matrix:
    """One finished run."""

    result: pytest.RunResult
    report: Report | None  #: None: it wrote none

    @property
    def read(self) -> Report:
        assert self.report is not None, "the run wrote no report"
        return self.report

    @property
    def exit(self) -> int:
        return int(self.result.ret)

    @property
    def text(self) -> str:
        return "\n".join([*self.result.outlines, *self.result.errlines])

    @property
    def outcomes(self) -> dict[str, int]:
        return self.result.parseoutcomes()

    @property
    def tests(self) -> dict[str, dict[str, CellResult]]:
        """Name after the last ``::`` → cells."""
        return {test.test.rpartition("::")[2]: dict(test.cells) for test in self.read.tests}

    @property
    def findings(self) -> tuple[FindingEntry, ...]:
        return self.read.findings

    @property
    def kinds(self) -> list[str]:
        return sorted(finding.kind for finding in self.findings)

    def outcomes_of(self, test: str) -> dict[str, str]:
        """Cell → outcome of one test."""
        return {cell: result.outcome for cell, result in self.tests[test].items()}

    def finding(self, kind: str) -> FindingEntry:
        found = [finding for finding in self.findings if finding.kind == kind]
        assert len(found) == 1, f"{len(found)} findings of kind {kind}, not one, among {self.kinds}"
        return found[0]

    def clean(self) -> bool:
        """No finding but of numbers that torch keeps constant, and no fault of the recorder's."""
        told = [one for one in self.findings if one.kind != "guard.specialized" or one.severity == "error"]
        return not told and not [note for note in self.read.notes if note.kind == "recorder"]


class RunMatrix(Protocol):
    def __call__(self, source: str = "", *args: str, **options: Any) -> Matrix: ...


@pytest.fixture(autouse=True)
def imported_once(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the inner suite's own modules are forgotten after a run: torch and what it needs cannot be imported twice."""
    base = tmp_path_factory.getbasetemp()

    def is_foreign(name: str) -> bool:
        origin = getattr(sys.modules.get(name), "__file__", None)
        return origin is None or not Path(origin).is_relative_to(base)

    class KeepsForeign(SysModulesSnapshot):
        def __init__(self, preserve: object = None) -> None:
            super().__init__(preserve=is_foreign)

    monkeypatch.setattr(_pytest.pytester, "SysModulesSnapshot", KeepsForeign)


@pytest.fixture(autouse=True)
def isolated(imported_once: None, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing of one inner run is left for the next."""
    for name in [name for name in os.environ if name.startswith(("TESTMATRIX", "PYTEST_ADDOPTS"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "200")
    yield
    assert recording.active() is None, "a recording is still going on"
    hooks.uninstall()
    torch._dynamo.reset()


@pytest.fixture
def matrix(pytester: pytest.Pytester) -> RunMatrix:
    """Run a suite, given as source, over the grid: in this process, or ``subprocess=True``. ``files`` are further modules."""

    def run(
        source: str = "", *args: str, files: dict[str, str] | None = None, subprocess: bool = False, **options: Any
    ) -> Matrix:
        if source:
            pytester.makepyfile(test_suite=HEAD + source)
        for name, text in (files or {}).items():
            path = pytester.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        path = pytester.path / REPORT
        path.unlink(missing_ok=True)
        given = ["--testmatrix", f"--testmatrix-json={path}", *args]
        run_it = pytester.runpytest_subprocess if subprocess else pytester.runpytest_inprocess
        result = run_it(*given, **options)
        return Matrix(result, decode(path.read_bytes()) if path.exists() else None)

    return run


@pytest.fixture
def cells() -> tuple[str, ...]:
    return ("static-specialize", "static-unspecialize", "dynamic-specialize", "dynamic-unspecialize")


@pytest.fixture
def every_cell_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests that count the runs of a test which asks for none of what the cells differ in."""
    monkeypatch.setenv("TESTMATRIX_COLLAPSE", "off")
