"""What crosses between the two processes arrives, whatever tests and plugins have put into it."""

import warnings
from multiprocessing import Pipe

import pytest

from testmatrix.plugin.execution import Ran
from testmatrix.plugin.supervision.orders import Ended, Exhausted, Raised, RunItem, Stop, TearDown, TornDown, receive, send
from testmatrix.store.records import Began


def sent(message):
    """The message as it comes out at the other end."""
    ours, theirs = Pipe()
    with ours, theirs:
        send(ours, message)
        return receive(theirs)


def report(**more):
    made = pytest.TestReport("test_it.py::test_it", ("test_it.py", 0, "test_it"), {}, "passed", None, "call")
    vars(made).update(more)
    return made


@pytest.mark.parametrize(
    "message",
    [
        RunItem(1, None, {}),
        TearDown(1, 2),
        Stop(),
        Began(test="test_it.py::test_it", cell="eager", purpose="control"),
        Ended(),
        Exhausted("test_it.py:3 in fill"),
        Raised("exit", "enough", 3),
        TornDown(None),
        Ran(record=b"a record", reports=()),
    ],
)
def test_a_message_arrives(message):
    assert sent(message) == message


def test_a_report_arrives_with_all_that_pytest_put_into_it():
    made = report(longrepr="it failed", sections=[("Captured stdout", "text")], user_properties=[("name", 3)])
    (arrived,) = sent(Ran(record=b"", reports=(made,))).reports
    assert vars(arrived) == vars(made)


def test_what_does_not_pickle_arrives_as_its_text():
    made = report(user_properties=[("name", lambda: None), ("other", 1)], of_a_plugin=(each for each in ()))
    (arrived,) = sent(Ran(record=b"", reports=(made,))).reports
    (name, text), other = arrived.user_properties
    assert (name, other) == ("name", ("other", 1))
    assert "<lambda>" in text
    assert "generator object" in arrived.of_a_plugin


def test_a_failure_of_a_teardown_arrives():
    arrived = sent(TornDown(report(longrepr="it failed", of_a_plugin=lambda: None)))
    assert arrived.report.longrepr == "it failed"


def test_a_warning_of_a_class_that_cannot_be_imported_arrives_as_one_of_its_base():
    class Local(FutureWarning):
        pass

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.warn("plain", UserWarning, stacklevel=1)
        warnings.warn("odd", Local, stacklevel=1)
    plain, odd = sent(Ran(record=b"", reports=(), warnings=tuple(caught))).warnings
    assert (plain.category, str(plain.message)) == (UserWarning, "plain")
    assert (odd.category, str(odd.message)) == (FutureWarning, "odd")
    assert (odd.filename, odd.lineno) == (__file__, caught[1].lineno)


def test_the_end_of_the_other_process_is_told():
    ours, theirs = Pipe()
    with theirs:
        ours.close()
        with pytest.raises(EOFError):
            receive(theirs)
