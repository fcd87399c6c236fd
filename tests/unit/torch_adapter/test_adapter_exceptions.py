"""Exceptions as data: unwrapped, normalised, never raising."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch._dynamo.exc import BackendCompilerFailed, InternalTorchDynamoError

from testmatrix.torch_adapter import exceptions


def raised(function):
    try:
        function()
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize(
    ("message", "plain"),
    [
        ("at 0x7f00deadbeef", "at 0x…"),
        ("object 94224684730672", "object N"),
        ("in /tmp/pytest-of-me/x/file.py:12", "in file.py"),
        ("line 45, in f", "line N, in f"),
        ("expected s0 to be u12", "expected s… to be s…"),
        ("several\n lines", "several lines"),
        ("first part\n\nsecond part", "first part"),
        ("size 12345 stays", "size 12345 stays"),
    ],
)
def test_message_is_normalised(message, plain):
    assert exceptions.normalise_message(message) == plain


@given(st.text())
def test_normalising_twice_changes_nothing(text):
    once = exceptions.normalise_message(text)
    assert exceptions.normalise_message(once) == once
    assert len(once) <= 400


def test_backend_failure_is_unwrapped():
    def broken(gm, inputs):
        raise KeyError("inside")

    error = raised(lambda: torch.compile(lambda x: x + 1, backend=broken)(torch.ones(1)))
    assert isinstance(error, BackendCompilerFailed)
    found = exceptions.record(error)
    assert (found.type, found.wrapper) == ("KeyError", "torch._dynamo.exc.BackendCompilerFailed")


def test_class_is_read_off_a_wrapper_that_links_nothing():
    found = exceptions.record(InternalTorchDynamoError("TypeError: no such thing"))
    assert (found.type, found.wrapper) == ("TypeError", "torch._dynamo.exc.InternalTorchDynamoError")


def test_frame_is_the_users_innermost():
    found = exceptions.record(raised(lambda: torch.ones(2) @ torch.ones(3)))
    assert found.frame.startswith("test_adapter_exceptions.py:")
    assert not found.assertion


def test_assertions_are_told_apart():
    def check():
        assert torch.ones(1) == 2

    assert exceptions.record(raised(check)).assertion


class Unreadable(Exception):
    def __str__(self):
        raise ValueError("not now")


def test_message_that_cannot_be_read():
    found = exceptions.record(Unreadable())
    assert found.message == "<message not readable: ValueError>"
    assert found.type.endswith("Unreadable")


def test_cause_that_goes_in_a_circle():
    one, other = InternalTorchDynamoError("one"), InternalTorchDynamoError("other")
    one.__cause__, other.__cause__ = other, one
    assert exceptions.record(one).type.endswith("InternalTorchDynamoError")


def test_explanations_of_an_assertion_are_left_out():
    message = "assert torch.float32 == torch.int64\n +  where torch.float32 = tensor([300.]).dtype"
    assert exceptions.normalise_message(message) == "assert torch.float32 == torch.int64"


def test_a_class_that_the_message_repeats_is_said_once():
    wrapped = torch._dynamo.exc.InternalTorchDynamoError("KeyError: 'a'")
    found = exceptions.record(wrapped)
    assert (found.type, found.message) == ("KeyError", "'a'")
