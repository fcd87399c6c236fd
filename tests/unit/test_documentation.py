"""What the documentation must not forget."""

import inspect
import re
from pathlib import Path

import pytest

from testmatrix import errors
from testmatrix.options import FINDING_KINDS
from testmatrix.report import model
from testmatrix.store import records

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "ci" / "README.md", ROOT / "CONTRIBUTING.md"])


def rows(page):
    """First cells of a page's tables."""
    return re.findall(r"^\| `([^|]+)` \|", (DOCS / "reference" / page).read_text(encoding="utf-8"), re.MULTILINE)


def test_every_kind_of_finding_is_explained():
    assert rows("findings.md") == list(FINDING_KINDS)


def test_every_error_is_explained():
    classes = [each for _, each in inspect.getmembers(errors, inspect.isclass) if issubclass(each, errors.TestmatrixError)]
    sections = re.findall(r"^## `(\w+)`", (DOCS / "reference" / "errors.md").read_text(encoding="utf-8"), re.MULTILINE)

    assert sorted(sections) == sorted(each.slug for each in classes)


@pytest.mark.parametrize(
    "struct",
    [
        model.Report,
        records.Run,
        records.TestResult,
        records.CellResult,
        model.IntEntry,
        model.IntResult,
        model.FindingEntry,
        model.CauseEntry,
        model.Summary,
        model.IntSummary,
        records.NoteEntry,
    ],
)
def test_every_key_of_the_report_is_explained(struct):
    text = (DOCS / "reference" / "report-format.md").read_text(encoding="utf-8")

    assert [name for name in struct.__struct_fields__ if f"`{name}`" not in text] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))
    local = [target for target in targets if "://" not in target]

    assert [target for target in local if not (page.parent / target).exists()] == []


def test_the_script_finds_its_line_in_the_readme():
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()

    for environment in ("grid", "tests"):
        matching = [line for line in lines if re.fullmatch(rf"python3 -m venv .* -e {environment}", line)]
        assert len(matching) == 1
