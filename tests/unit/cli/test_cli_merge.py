import subprocess
import sys

import msgspec
import pytest
from click.testing import CliRunner

from testmatrix.cli.main import main
from testmatrix.report.model import decode, encode
from testmatrix.report.recorded import report_of_tests
from testmatrix.store.records import Began, CellResult, Finished, Invocation, Run, Started, Tested, TestResult
from testmatrix.store.records import encode as encode_record
from testmatrix.store.runs import RunFolder

CELL = "dynamic-unspecialize"


def run(number, total, **changes):
    fields = {
        "id": f"run{number}",
        "started": f"2025-01-31T12:00:{number:02}+00:00",
        "torch": "2.13.0",
        "python": "3.11.7",
        "platform": "linux",
        "grid": {"shapes": ("dynamic",), "ints": ("unspecialize",)},
        "cells": (CELL,),
        "shard": f"{number}/{total}",
    }
    return Run(**{**fields, **changes})


def of_test(position):
    name = f"t.py::test_{position}"
    result = TestResult(test=name, cells={CELL: CellResult(outcome="passed", duration=0.5)})
    return Tested(test=name, position=position, failed=False, result=result)


def journal(store, of, *records, worker=""):
    """A run in a store, with these records in its journal."""
    folder = RunFolder(store / "runs" / f"20250131T1200{of.started[17:19]}.000000Z-{of.id}")
    with folder.journal(worker) as written:
        for record in (Started(run=of, worker=worker), *records):
            written.append(encode_record(record))
    return folder.path


def json_report(path, of, *positions, exit_status=0):
    tested = [of_test(position) for position in positions]
    path.write_bytes(encode(report_of_tests(of, tested, Invocation(), wall=1.0, exit_status=exit_status)))
    return path


@pytest.fixture
def reports(tmp_path):
    return [json_report(tmp_path / f"shard-{n}.json", run(n, 3), n, n + 3) for n in (1, 2, 3)]


def merge(*arguments):
    return CliRunner().invoke(main, ["merge", *map(str, arguments)])


def read(result):
    return decode(result.stdout_bytes)


def names(result):
    return [int(test.test.rpartition("_")[2]) for test in read(result).tests]


def test_all_shards(reports):
    result = merge(*reports)
    assert (result.exit_code, result.stderr) == (0, "")
    assert names(result) == [1, 2, 3, 4, 5, 6]
    assert read(result).run.shard == ""


def test_neither_order_nor_repetition_makes_a_difference(reports):
    expected = merge(*reports).stdout_bytes
    assert merge(*reversed(reports), reports[0]).stdout_bytes == expected


@pytest.mark.parametrize("allowed", [False, True])
def test_a_missing_shard(reports, allowed):
    result = merge(*reports[:2], *(["--allow-missing"] if allowed else []))
    assert result.exit_code == (0 if allowed else 1)
    assert result.stderr == "testmatrix: shard 3/3 is missing\n"
    assert names(result) == [1, 2, 4, 5]
    assert read(result).run.shard == "1,2/3"


def test_a_shard_that_failed(reports, tmp_path):
    json_report(reports[1], run(2, 3), 2, 5, exit_status=1)
    result = merge(*reports, "--allow-missing")
    assert (result.exit_code, read(result).summary.exit) == (1, 1)


def test_to_a_file(reports, tmp_path):
    result = merge(*reports, "-o", tmp_path / "all.json")
    assert (result.exit_code, result.output) == (0, "")
    assert (tmp_path / "all.json").read_bytes() == merge(*reports, "-o", "-").stdout_bytes


def test_what_was_merged_before_may_be_among_the_results(reports, tmp_path):
    """As it is where ``merge -o all.json *.json`` is called again."""
    merge(*reports, "-o", tmp_path / "all.json")
    first = (tmp_path / "all.json").read_bytes()
    assert merge(tmp_path / "all.json", *reports, "-o", tmp_path / "all.json").exit_code == 0
    assert decode((tmp_path / "all.json").read_bytes()).tests == decode(first).tests


def test_a_report_and_the_journals_of_another_shard(reports, tmp_path):
    store = tmp_path / ".testmatrix"
    folder = journal(store, run(3, 3), Finished(exit=0, wall=1.0))
    journal(store, run(3, 3), of_test(6), of_test(3), worker="gw0")
    expected = merge(*reports)
    for given in ([folder], [store], [folder / "main.journal", folder / "gw0.journal"], [folder / "gw0.journal", folder]):
        result = merge(*reports[:2], *given)
        assert (result.exit_code, result.stderr) == (0, "")
        assert result.stdout_bytes == expected.stdout_bytes


def test_a_store_stands_for_its_latest_run(tmp_path):
    store = tmp_path / "store"
    for number in (1, 2):
        journal(store, run(number, 2), of_test(number), Finished(exit=0, wall=1.0))
    result = merge(store)
    assert (names(result), result.stderr) == ([2], "testmatrix: shard 1/2 is missing\n")
    assert merge(*(store / "runs").iterdir()).exit_code == 0


def test_a_run_that_was_killed(tmp_path):
    folder = journal(tmp_path, run(1, 1), of_test(1), Began(test="t.py::test_2", cell=CELL))
    main_journal = folder / "main.journal"
    main_journal.write_bytes(main_journal.read_bytes() + b"\xfdTMJ torn")
    result = merge(folder)
    assert (result.exit_code, names(result)) == (1, [1])
    assert result.stderr.splitlines() == [
        f"testmatrix: {main_journal}: the run did not get to its end",
        f"testmatrix: {main_journal}: t.py::test_2 began in {CELL} and did not end",
        f"testmatrix: {main_journal}: 9 bytes belong to no record: it was cut or damaged there",
    ]


@pytest.mark.parametrize(("arguments", "status"), [([], 1), (["--newest"], 0)])
def test_a_shard_that_was_run_again(reports, tmp_path, arguments, status):
    failed = run(2, 3, id="again", started="2025-01-01T00:00:00+00:00")
    changed = msgspec.structs.replace(of_test(2).result, cells={CELL: CellResult(outcome="failed")})
    tested = msgspec.structs.replace(of_test(2), result=changed)
    report = report_of_tests(failed, [tested], Invocation(), wall=1.0, exit_status=1)
    (tmp_path / "old.json").write_bytes(encode(report))
    result = merge(*reports, tmp_path / "old.json", *arguments)
    if arguments:
        assert (result.exit_code, result.stdout_bytes) == (0, merge(*reports).stdout_bytes)
    else:
        assert result.exit_code == 2
        assert "have different results of t.py::test_2" in result.stderr


def refusal(*arguments):
    result = merge(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("testmatrix: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


def test_what_is_no_result(reports, tmp_path):
    (tmp_path / "bad.json").write_text("{")
    (tmp_path / "empty").mkdir()
    (tmp_path / "store" / "runs").mkdir(parents=True)
    (tmp_path / "empty.journal").touch()
    (tmp_path / "folder.journal").mkdir()
    (tmp_path / "notes.journal").write_text("nothing of ours")
    for name, says in {
        "bad.json": "bad.json is no JSON report of testmatrix",
        "none.json": "none.json cannot be read (no such file or directory)",
        "none.journal": "none.journal cannot be read (no such file or directory)",
        "empty": "empty holds no result: name a JSON report, a journal, the folder of a run, or a store",
        "store": "store holds no result: name a JSON report, a journal, the folder of a run, or a store",
        "folder.journal": "folder.journal holds no result",
        "empty.journal": "empty.journal does not say which run it is of",
        "notes.journal": "notes.journal does not say which run it is of",
    }.items():
        assert says in refusal(*reports, tmp_path / name), name


def test_runs_that_do_not_go_together(reports, tmp_path):
    other = json_report(tmp_path / "other.json", run(2, 3, torch="2.14.0"), 2)
    told = refusal(reports[0], other, "-o", tmp_path / "all.json")
    assert "the version of torch is 2.13.0 in one, 2.14.0 in the other" in told
    assert not (tmp_path / "all.json").exists()


def test_records_of_a_newer_version(tmp_path):
    folder = journal(tmp_path, run(1, 1))
    with RunFolder(folder).journal() as written:
        written.append(encode_record(Started(run=run(1, 1), version=7)))
    assert "holds records of version 7, but 1 is read here: use the testmatrix that wrote it" in refusal(folder)


def test_a_file_that_cannot_be_written(reports, tmp_path):
    assert "--output: cannot write" in refusal(*reports, "-o", tmp_path / "none" / "all.json")


def test_something_must_be_merged():
    assert merge().exit_code == 2


def test_results_are_merged_without_torch():
    program = "import sys, testmatrix.cli.merge; sys.exit('torch' in sys.modules or 'pytest' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
