"""Assertions on how much was compiled: found by source, and passed over."""

import importlib.util
import itertools
import textwrap

import pytest
from torch._dynamo.testing import CompileCounter

from testmatrix.plugin import count_assertions

_numbers = itertools.count()


@pytest.fixture
def load(tmp_path):
    """Makes a module of source text."""

    def make(source):
        path = tmp_path / f"suite_{next(_numbers)}.py"
        path.write_text(textwrap.dedent(source), encoding="utf-8")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return make


def failing(function, *args):
    """The count assertion that a call fails on, None where it fails on another."""
    try:
        function(*args)
    except AssertionError as error:
        return count_assertions.find(error.__traceback__)
    raise AssertionError("nothing failed")


COUNTING = [
    "assert counter.frame_count == 1",
    "assert counter.op_count == 1",
    "assert counter.frame_count == 1, 'compiled too often'",
    "assert (\n    1 ==\n    counter.frame_count)",
    "self.assertEqual(counter.frame_count, 1)",
    "self.assertEqual(1, second=counter.op_count)",
    "self.assertTrue(counter.frame_count < 1)",
    "self.assertExpectedInline(text, '''graph''')",
    "frames = counter.frame_count\nassert frames == 1",
    "frames = counter.frame_count\nmore = frames + 1\nassert more == 1",
    "assert counters['stats']['unique_graphs'] == -1",
    "assert len(counter.graphs) == 1",
]
OTHERS = [
    "assert counter.other == 1",
    "assert text == 'graph'",
    "self.assertEqual(text, 'graph')",
    "frames = 3\nassert frames == 1",
]

FRAME = """
from torch._dynamo.utils import counters

class Counter:
    frame_count = op_count = 3
    graphs = ()
    other = 3

    def __call__(self, gm, example_inputs):
        pass

class Case:
    def assertEqual(self, first, second):
        assert first == second

    def assertTrue(self, value):
        assert value

    def assertExpectedInline(self, text, expected):
        assert text == expected

def case(self=Case(), counter=Counter(), text=""):
{body}
    return "the end"
"""


def case_of(load, body):
    return load(FRAME.format(body=textwrap.indent(body, "    "))).case


@pytest.mark.parametrize("body", COUNTING)
def test_recognised(load, body):
    found = failing(case_of(load, body))
    assert found is not None
    assert found.code.co_name == "case"
    assert found.text.startswith("suite_")


@pytest.mark.parametrize("body", OTHERS)
def test_not_recognised(load, body):
    assert failing(case_of(load, body)) is None


@pytest.mark.parametrize("body", COUNTING)
def test_test_goes_on_past_it(load, body):
    case = case_of(load, body)
    before = case.__code__
    with count_assertions.passed_over(failing(case), None) as failed:
        assert case() == "the end"
    assert len(failed) == 1
    assert case.__code__ is before


def test_other_assertions_of_the_function_still_fail(load):
    case = case_of(load, "assert counter.frame_count == 1\nassert text == 'graph'")
    with count_assertions.passed_over(failing(case), None) as failed, pytest.raises(AssertionError):
        case()
    assert len(failed) == 1


def test_all_of_a_function_are_passed_over_at_once(load):
    case = case_of(load, "assert counter.frame_count == 1\nfor _ in range(2):\n    assert counter.op_count == 2")
    with count_assertions.passed_over(failing(case), None) as failed:
        case()
    assert [text.partition(": ")[2] for text in failed] == [
        "assert counter.frame_count == 1",
        "assert counter.op_count == 2",
        "assert counter.op_count == 2",
    ]


def test_what_holds_is_not_noted(load):
    case = case_of(load, "assert counter.frame_count == 3\nassert counter.op_count == 2")
    with count_assertions.passed_over(failing(case), None) as failed:
        case()
    assert [text.partition(": ")[2] for text in failed] == ["assert counter.op_count == 2"]


def test_code_comes_back_though_the_block_raises(load):
    case = case_of(load, "assert counter.frame_count == 1")
    before = case.__code__
    with pytest.raises(ZeroDivisionError), count_assertions.passed_over(failing(case), None):
        _ = 1 // 0
    assert case.__code__ is before


def test_backend_that_collects(load):
    module = load(
        """
        def case():
            seen, calls = [], 0

            def backend(gm, inputs):
                nonlocal calls
                calls += 1
                seen.append(gm)

            backend(None, None)
            if calls:
                assert len(seen) == 2
        """
    )
    assert failing(module.case) is not None


def test_closures_are_kept(load):
    module = load(
        """
        def outer(counter):
            limit = 1

            def case():
                assert counter.frame_count == limit
                return counter

            return case
        """
    )

    counter = CompileCounter()
    counter.frame_count = 3
    case = module.outer(counter)
    with count_assertions.passed_over(failing(case), None):
        assert case() is counter


def test_assertion_in_a_helper_is_found(load):
    module = load(
        """
        def check(counter):
            assert counter.frame_count == 1

        def case(counter):
            check(counter)
            return "the end"
        """
    )

    class Counter(CompileCounter):
        def __init__(self):
            self.frame_count = 3

    found = failing(module.case, Counter())
    assert found.code.co_name == "check"
    with count_assertions.passed_over(found, None):
        assert module.case(Counter()) == "the end"


def test_source_that_is_gone(tmp_path):
    namespace = {}
    exec(compile("def case(c):\n    assert c.frame_count == 1", str(tmp_path / "nowhere.py"), "exec"), namespace)

    class Counter(CompileCounter):
        def __init__(self):
            self.frame_count = 3

    assert failing(namespace["case"], Counter()) is None


def test_nothing_to_find_without_a_traceback():
    assert count_assertions.find(None) is None
