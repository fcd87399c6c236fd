"""That nothing was written to torch's settings is known without looking at them, and never believed wrongly."""

import contextvars
import threading
from unittest import mock

import pytest
import torch._dynamo.config as dynamo
import torch._inductor.config

from testmatrix.torch_adapter import settings, writes

MODULE = "torch._dynamo.config"


@pytest.fixture(autouse=True)
def _put_back():
    before = settings.snapshot()
    yield
    settings.restore(before)


def assign():
    dynamo.verbose = True


def delete():
    del dynamo.verbose


def load():
    dynamo.load_config({**dynamo.get_config_copy(), "verbose": True})


def patch():
    dynamo.patch(verbose=True).__enter__()


def patch_in_a_closure():
    dynamo._make_closure_patcher(verbose=True)()


def assign_the_default():
    dynamo._config["verbose"].default = not dynamo._config["verbose"].default


def exchange_the_override():
    dynamo._config["verbose"].user_override = contextvars.ContextVar("verbose", default=True)


def hide_in_another_thread():
    thread = threading.Thread(target=delete)
    thread.start()
    thread.join()


def mocked():
    with mock.patch.object(dynamo, "verbose", True):
        pass


@pytest.mark.parametrize(
    "write",
    [
        assign,
        delete,
        load,
        patch,
        patch_in_a_closure,
        assign_the_default,
        exchange_the_override,
        hide_in_another_thread,
        mocked,
    ],
)
def test_writes_are_known(write, monkeypatch):
    monkeypatch.setattr(
        dynamo._config["verbose"], "user_override", dynamo._config["verbose"].user_override
    )  # as it was, after all
    monkeypatch.setattr(dynamo._config["verbose"], "default", dynamo._config["verbose"].default)
    moment = writes.now()
    assert writes.none_since(moment)
    write()
    assert not writes.none_since(moment)


def test_reads_are_no_writes():
    _ = dynamo.verbose, torch._inductor.config.cpp_wrapper
    moment = writes.now()
    _ = dynamo.verbose, dynamo.get_config_copy(), torch._inductor.config.cpp_wrapper
    assert writes.none_since(moment)


def test_a_first_read_that_keeps_a_copy_of_the_default_counts():
    def read_first():
        moment = writes.now()
        _ = dynamo.allowed_functions_module_string_ignorelist
        return writes.none_since(moment)

    assert not contextvars.Context().run(read_first)


def test_a_value_elsewhere_that_cannot_be_compared_is_a_doubt():
    class Odd:
        def __eq__(self, other):
            raise ZeroDivisionError

    variable = contextvars.ContextVar("variable")
    variable.set(Odd())
    moment = writes.now()
    variable.set(Odd())
    assert not writes.none_since(moment)


def test_where_writes_cannot_be_counted_nothing_is_known(monkeypatch):
    monkeypatch.setattr(writes, "_is_counting", False)
    monkeypatch.delattr("torch.utils._config_module._ConfigEntry")
    assert writes.now() is None
    assert not writes.none_since(None)


def test_a_snapshot_is_used_again_until_something_is_written():
    first = settings.snapshot()
    assert settings.snapshot() is first
    dynamo.verbose = not dynamo.verbose
    second = settings.snapshot()
    assert second is not first
    assert settings.changed(first) == (f"{MODULE}.verbose",)


def test_a_snapshot_does_not_hold_after_a_change_in_place():
    dynamo.allowed_functions_module_string_ignorelist.add("kept")
    before = settings.snapshot()
    assert before.still_holds()
    dynamo.allowed_functions_module_string_ignorelist.add("left behind")
    assert not before.still_holds()
    assert settings.snapshot() is not before


def test_only_own_entries_are_put_back_where_no_others_were_written():
    before, value = settings.snapshot(), dynamo.specialize_int
    settings.apply([(MODULE, "specialize_int", not value)])
    assert settings.restore(before, {(MODULE, "specialize_int"): not value}, only_own=True) == []
    assert dynamo.specialize_int is value
    assert settings.changed(before) == ()
    assert settings.snapshot().entries is before.entries


def test_what_was_changed_is_said_and_what_is_still_as_set_is_not():
    before, key = settings.snapshot(), (MODULE, "specialize_int")
    value = not dynamo.specialize_int
    settings.apply([(*key, value)])
    dynamo.verbose = not dynamo.verbose
    (change,) = settings.restore(before, {key: value})
    assert change == (f"{MODULE}.verbose", dynamo.verbose, not dynamo.verbose)
