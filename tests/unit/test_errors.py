"""Error messages end in something to do."""

from __future__ import annotations

import pytest

from testmatrix.errors import EnvironmentUnusable, TestmatrixError, UsageError, nearest


def test_nearest_names_the_closest_word():
    assert nearest("statik", ["static", "dynamic"]) == "did you mean 'static'?"


def test_nearest_lists_all_where_none_is_close():
    assert nearest("zzz", ["static", "dynamic"]) == "valid: dynamic, static"


def test_nearest_of_many_lists_a_dozen():
    said = nearest("zzz", (f"word{number}" for number in range(1000)))
    assert said.startswith("valid: ")
    assert said.endswith(", …")
    assert said.count("word") == 12


def test_nearest_of_nothing():
    assert nearest("x", []) == "there are none"


def test_nearest_takes_any_iterable():
    assert nearest("b", (word for word in ("a", "c"))) == "valid: a, c"


@pytest.mark.parametrize("kind", [UsageError, EnvironmentUnusable])
def test_errors_have_a_root_a_slug_and_a_line(kind: type[TestmatrixError]):
    error = kind("what to do")
    assert isinstance(error, TestmatrixError)
    assert error.slug != TestmatrixError.slug
    assert str(error) == "what to do"
