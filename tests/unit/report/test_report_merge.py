import itertools

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_results import CELLS, GRID, LAST, finding, int_row, result, run

from testmatrix.compare.finding import IntRow
from testmatrix.errors import UsageError
from testmatrix.report.merge import merge
from testmatrix.report.model import decode, encode
from testmatrix.report.parts import Part
from testmatrix.report.recorded import INTERRUPTED, recorded_report, report_of_tests
from testmatrix.report.rerun import Invocation
from testmatrix.store.records import Began, Finished, NoteEntry, Tested
from testmatrix.store.runs import Recorded

INVOCATION = Invocation(flags=("-c", "x.ini"))
replaced = msgspec.structs.replace


def of_test(name, position=0, findings=(), rows=("symbolic",), notes=(), **changes):
    """What a run writes down of one test."""
    return Tested(
        test=name,
        position=position,
        failed=bool(findings),
        result=result(name, **changes),
        ints=(
            *(int_row(state, test=name, source=f"L['n{n}']") for n, state in enumerate(rows)),
            IntRow(test=name, region="f", source="L['x'].size()[0]", cells={}, number="size"),
        ),
        findings=tuple(finding(**{"test": name, **each}) for each in findings),
        notes=tuple(NoteEntry(kind="recorder", text=text, test=name) for text in notes),
    )


def report(tested, exit_status=0, wall=1.0, **run_changes):
    return report_of_tests(run(**run_changes), tested, INVOCATION, wall=wall, exit_status=exit_status)


def part(tested, where="report.json", exit_status=0, wall=1.0, **run_changes):
    return Part(where=where, report=decode(encode(report(tested, exit_status, wall, **run_changes))))


def shard(number, total, tested, **changes):
    """A run of one of so many shards; later numbers started later."""
    given = {"id": f"r{number}", "started": f"2025-01-31T12:00:{number:02}+00:00", "shard": f"{number}/{total}"}
    return part(tested, **{"where": f"shard-{number}.json", **given, **changes})


def normalised(whole):
    """A report without what a merge may say otherwise."""
    return replaced(whole, run=replaced(whole.run, id="", started=""), summary=replaced(whole.summary, wall=0.0))


FINDINGS = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["output.dtype", "outcome", "guard.specialized"]),
        "severity": st.sampled_from(["error", "warning", "info"]),
        "cells": st.sampled_from([CELLS, CELLS[2:], (LAST,)]),
        "summary": st.sampled_from(["one", "two", "three\nlines"]),
        "signature": st.sampled_from(["s", "t"]),
        "frame": st.sampled_from(["", "m.py:1 in f", "m.py:2 in g"]),
        "region": st.sampled_from(["", "m.f"]),
        "unstable": st.booleans(),
    }
)
TESTS = st.fixed_dictionaries(
    {
        "findings": st.lists(FINDINGS, max_size=4),
        "rows": st.lists(st.sampled_from(["symbolic", "constant", "unused"]), max_size=2),
        "notes": st.lists(st.sampled_from(["lost", "odd"]), max_size=2, unique=True),
        "outcome": st.sampled_from(["passed", "failed"]),
        "same_as": st.sampled_from(["", CELLS[0]]),
    }
)


@st.composite
def suites(draw):
    """A suite that was collected in some order, and which shard each of its tests is in."""
    names = draw(st.permutations([f"{letter}.py::test_{n}" for letter in "ab" for n in range(4)]))
    chosen = draw(st.lists(TESTS, max_size=len(names)))
    suite = [of_test(name, position, **test) for position, (name, test) in enumerate(zip(names, chosen, strict=False))]
    total = draw(st.integers(1, 4))
    return suite, [draw(st.integers(1, total)) for _ in suite], total


def split(suite, numbers, total):
    parts = []
    for number in range(1, total + 1):
        tests = [one for one, of in zip(suite, numbers, strict=True) if of == number]
        parts.append(shard(number, total, tests, exit_status=int(any(one.failed for one in tests))))
    return parts


@given(suites())
def test_all_shards_together_are_one_run_of_the_whole(drawn):
    suite, numbers, total = drawn
    whole = report(suite, exit_status=int(any(one.failed for one in suite)))
    merged = merge(split(suite, numbers, total))
    assert encode(normalised(merged.report)) == encode(normalised(whole))
    assert merged.missing == ()


@given(suites(), st.data())
def test_neither_order_nor_repetition_makes_a_difference(drawn, data):
    parts = split(*drawn)
    chosen = data.draw(st.lists(st.sampled_from(parts), min_size=1, unique_by=id))
    again = data.draw(st.permutations([*chosen, *data.draw(st.lists(st.sampled_from(chosen)))]))
    newest = data.draw(st.booleans())
    assert merge(again, newest=newest) == merge(chosen)
    assert encode(merge(again, newest=newest).report) == encode(merge(chosen).report)


@given(suites(), st.data())
def test_merges_can_be_merged(drawn, data):
    parts = split(*drawn)
    first = data.draw(st.lists(st.sampled_from(parts), min_size=1, unique_by=id))
    once = Part(where="merged.json", report=decode(encode(merge(first).report)))
    twice = merge([once, *parts])
    assert encode(normalised(twice.report)) == encode(normalised(merge(parts).report))


@given(suites())
def test_a_report_alone_stays_as_it_is(drawn):
    whole = report(drawn[0], exit_status=1)
    assert encode(merge([Part(where="r.json", report=whole)]).report) == encode(whole)


A, B, C = (of_test(f"t.py::{name}", position) for position, name in enumerate("abc"))


def test_which_shards_are_missing():
    merged = merge([shard(4, 4, [A]), shard(2, 4, [B])])
    assert merged.report.run.shard == "2,4/4"
    assert merged.missing == ("shard 1/4 is missing", "shard 3/4 is missing")


def test_a_merged_part_counts_as_the_shards_that_it_is_of():
    first = Part(where="some.json", report=merge([shard(1, 3, [A]), shard(2, 3, [B])]).report)
    assert merge([first]).missing == ("shard 3/3 is missing",)
    merged = merge([first, shard(3, 3, [C])])
    assert (merged.report.run.shard, merged.missing) == ("", ())


def test_a_shard_without_tests_is_there():
    assert merge([shard(1, 2, []), shard(2, 2, [A])]).missing == ()


def test_the_worst_status_is_the_status():
    for statuses, worst in (((0, 0), 0), ((0, 5), 5), ((5, 1), 1), ((1, 2), 2), ((2, 4), 4), ((4, 3), 3), ((3, 99), 99)):
        for pair in itertools.permutations(statuses):
            parts = [shard(number, 2, [], exit_status=status) for number, status in enumerate(pair, 1)]
            assert merge(parts).report.summary.exit == worst


def test_it_took_as_long_as_the_longest():
    assert merge([shard(1, 2, [A], wall=3.0), shard(2, 2, [B], wall=5.0)]).report.summary.wall == 5.0


def test_machines_may_differ():
    merged = merge([shard(2, 2, [A], platform="linux-6.1"), shard(1, 2, [B], platform="linux-5.4", python="3.11.8")]).report.run
    assert (merged.platform, merged.python) == ("linux-5.4, linux-6.1", "3.11.7, 3.11.8")
    assert merged.started == "2025-01-31T12:00:01+00:00"


def test_tests_whose_place_is_not_told_keep_the_order_of_their_report():
    """As in a report that was written before it told."""

    def without(given):
        tests = tuple(replaced(test, position=-1) for test in given.report.tests)
        return Part(where=given.where, report=replaced(given.report, tests=tests))

    names = [of_test(name, n) for n, name in enumerate(["z", "a", "y", "b"])]
    parts = [without(shard(1, 2, names[:2])), without(shard(2, 2, names[2:]))]
    expected = ["y", "z", "a", "b"]
    assert [test.test for test in merge(parts).report.tests] == expected
    assert [test.test for test in merge(parts[::-1]).report.tests] == expected


def test_a_test_that_was_collected_twice_is_there_twice():
    again = of_test(A.test, 3, rows=("constant",))
    parts = [shard(1, 2, [A, again]), shard(2, 2, [B])]
    for some in (parts, [*parts, *parts]):
        merged = merge(some).report
        assert merged.tests == report([A, B, again]).tests
        assert [entry.test for entry in merged.ints] == [A.test, A.test, B.test]


def refused(*parts, newest=False):
    with pytest.raises(UsageError) as raised:
        merge(parts, newest=newest)
    told = str(raised.value)
    assert "\n" not in told
    with pytest.raises(UsageError) as reverse:
        merge(parts[::-1], newest=newest)
    assert str(reverse.value) == told
    return told


TWO = "shard-1.json (shard 1/2, run r1) and shard-2.json (shard 2/2, run r2)"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"torch": "2.14.0"}, "the version of torch is 2.13.0 in one, 2.14.0 in the other"),
        ({"oracle": ""}, "the oracle is eager in one, off in the other"),
        ({"cells": CELLS[:1]}, f"the list of cells is {', '.join(CELLS)} in one, {CELLS[0]} in the other"),
        ({"grid": dict(reversed(GRID.items()))}, "the grid is shapes=static,dynamic ints="),
        ({"grid": {**GRID, "floats": ("specialize",)}}, "floats=specialize in the other"),
    ],
)
@pytest.mark.parametrize("newest", [False, True])
def test_runs_that_do_not_go_together(changes, says, newest):
    told = refused(shard(1, 2, [A]), shard(2, 2, [B], **changes), newest=newest)
    assert told.startswith(f"{TWO} do not go together: ")
    assert says in told


def test_shards_of_different_splits():
    told = refused(shard(1, 2, [A]), shard(2, 3, [B]))
    assert told.endswith("shard-2.json (shard 2/3, run r2) do not go together: they are shards of another number of them")


def test_the_whole_suite_and_a_shard_that_is_not_of_it():
    told = refused(part([A], where="all.json"), shard(2, 2, [B]))
    assert told.startswith("all.json (the whole suite, run r1) and shard-2.json (shard 2/2, run r2) do not go together")
    assert told.endswith("one is of the whole suite, and lacks tests of the other")


def test_suites_that_were_run_apart_without_shards():
    merged = merge([part([A], id="x"), part([B], id="y")])
    assert [test.test for test in merged.report.tests] == [A.test, B.test]
    assert (merged.report.run.shard, merged.missing) == ("", ())


DIFFERS = of_test(A.test, A.position, compiles=7)


def test_one_shard_with_two_results():
    told = refused(shard(1, 2, [A, B]), shard(1, 2, [DIFFERS, B], id="r9", where="again.json"))
    assert "again.json (shard 1/2, run r9)" in told
    assert f"have different results of {A.test}: leave one out, or take the newest of each test with --newest" in told


def test_two_shards_with_one_test():
    told = refused(shard(1, 2, [A]), shard(2, 2, [DIFFERS]))
    assert told.startswith(f"{TWO} have different results of {A.test}: ")
    assert "planned with other durations" in told


def test_the_same_result_may_have_taken_longer_elsewhere():
    slow = of_test(A.test, A.position, duration=99.0)
    merged = merge([shard(1, 1, [A]), shard(1, 1, [slow], id="r9")])
    assert [test.test for test in merged.report.tests] == [A.test]


def test_the_newest_result_counts():
    fails = of_test(A.test, A.position, findings=[{}])
    first, again = shard(1, 2, [fails, B], exit_status=1), shard(1, 2, [A, B], id="r9", started="2025-02-01T00:00:00+00:00")
    for parts in itertools.permutations([first, again, shard(2, 2, [C])]):
        merged = merge(parts, newest=True)
        assert merged.report.findings == ()
        assert (merged.report.summary.exit, merged.missing) == (0, ())
        assert [test.test for test in merged.report.tests] == [A.test, B.test, C.test]


def test_what_a_newer_run_left_out_is_still_that_of_the_older():
    fails = of_test(B.test, B.position, findings=[{}])
    first, again = shard(1, 1, [DIFFERS, fails], exit_status=1), shard(1, 1, [A], id="r9", started="2025-02-01T00:00:00+00:00")
    merged = merge([again, first], newest=True)
    assert merged.report.tests == report([A, B]).tests
    assert merged.report.summary.exit == 1


def test_what_a_run_did_not_get_to():
    began = (Began(test=A.test, cell=LAST), Began(test=B.test, cell=LAST))
    cut = Part(where="runs/r1", report=shard(1, 2, [A]).report, began=began, ended=False, damaged=17)
    merged = merge([cut, cut, shard(2, 2, [C])])
    assert merged.missing == (
        "runs/r1: the run did not get to its end",
        f"runs/r1: {B.test} began in {LAST} and did not end",
        "runs/r1: 17 bytes belong to no record: it was cut or damaged there",
    )
    assert merge([cut, shard(2, 2, [B])]).missing[1:] == merged.missing[2:], "another run has it"


def test_a_note_on_no_test_is_kept_once():
    note = NoteEntry(kind="leak", text="a thread")
    parts = [Part(where="r.json", report=replaced(shard(n, 2, []).report, notes=(note,))) for n in (1, 2)]
    assert merge(parts).report.notes == (note,)


def test_a_report_that_lost_a_test():
    broken = replaced(report([of_test("t", findings=[{}])]), tests=())
    assert "r.json is damaged: it has entries of t, which is none of its tests" in refused(Part(where="r.json", report=broken))


@pytest.mark.parametrize("shown", ["2", "half", "2/", "/2", "1;2/3", "1/2/3"])
def test_a_report_of_no_shard(shown):
    assert f"is damaged: {shown!r} is no shard" in refused(part([A], shard=shown))


def test_the_report_of_a_run_from_its_journals():
    recorded = Recorded(run=run(), invocation=INVOCATION, tested=(B, A), finished=Finished(exit=1, wall=2.5))
    assert recorded_report(run(), recorded) == report([A, B], exit_status=1, wall=2.5)


def test_the_report_of_a_run_that_did_not_end():
    collapsed = of_test("c", 2, same_as=CELLS[0], cells=())
    found = recorded_report(run(), Recorded(run=run(), tested=(A, B, collapsed))).summary
    assert (found.exit, found.wall) == (INTERRUPTED, 0.5 * 2 * (len(CELLS) + 1))


def test_reruns_are_told_as_the_run_told_them():
    (one,) = report([of_test("t", findings=[{}])]).findings
    assert one.rerun.startswith("pytest -c x.ini --testmatrix ")
