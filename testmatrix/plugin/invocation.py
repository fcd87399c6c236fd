"""How pytest was called: what a command that shows a finding again has to have in common with it."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from testmatrix.report.rerun import Invocation

#: What selects tests, says how much of them is shown, or where; by the name under which pytest keeps it. A rerun has one test,
#: and what it does there is the same with and without these.
_LEFT_OUT = """
    keyword markexpr deselect ignore ignore_glob pyargs keepduplicates collectonly
    maxfail lf failedfirst last_failed_no_failures newfirst stepwise stepwise_skip stepwise_reset cacheclear cacheshow
    numprocesses maxprocesses maxworkerrestart dist distload looponfail tx px rsyncdir rsyncignore basetemp
    verbose no_header no_summary no_fold_skipped fold_skipped reportchars disable_warnings showlocals tbstyle xfail_tb
    show_traceback showcapture fulltrace color code_highlight durations durations_min pastebin junitxml xmlpath junitprefix
    log_file log_file_mode usepdb usepdb_cls trace setupshow setupplan setuponly debug version help
"""
#: Plugins of pytest's and xdist's own that nothing in a test depends on.
_SHOWING_PLUGINS = frozenset({"no:cacheprovider", "no:xdist", "no:terminal", "no:junitxml", "no:pastebin", "no:faulthandler"})

Actions = Mapping[str, argparse.Action]


def invocation(config: pytest.Config, grid: tuple[str, ...]) -> Invocation:
    """The invocation as far as reruns share it; ``grid`` are its own flags without which a cell would mean another one."""
    params = config.invocation_params
    root = os.path.relpath(config.rootpath, params.dir)
    flags = list(carried([os.fspath(arg) for arg in params.args], _actions(config)))
    if config.inipath is None and root != os.curdir and not any(flag.startswith("--rootdir") for flag in flags):
        flags.append(f"--rootdir={root}")  # without an ini file, pytest guesses it from the paths that it is given
    return Invocation(grid=grid, flags=tuple(flags), root="" if root == os.curdir else root)


def _actions(config: pytest.Config) -> Actions:
    """Every option that pytest, plugins and conftest files defined, by its names."""
    parser: Any = config._parser
    inner = parser.optparser if hasattr(parser, "optparser") else parser._getparser()
    actions: Actions = inner._option_string_actions
    return actions


def carried(arguments: list[str], actions: Actions) -> Iterator[str]:
    """The arguments that a rerun takes over: options, with their values, that are not left out."""
    left = list(arguments)
    while left:
        word = left.pop(0)
        if word == "--":
            return
        if word.startswith("--"):
            yield from _long(word, left, actions)
        elif word.startswith("-") and len(word) > 1:
            yield from _short(word, left, actions)


def _long(word: str, left: list[str], actions: Actions) -> list[str]:
    name, equals, value = word.partition("=")
    action = actions.get(name)
    if action is None:
        return []
    values = _values(action, left) if not equals else []
    return [word, *values] if _matters(action, [value, *values]) else []


def _short(word: str, left: list[str], actions: Actions) -> list[str]:
    """One option or several in a word (``-xvs``), of which the last may have its value behind it."""
    if word in actions:  # also such as ``-co``
        values = _values(actions[word], left)
        return [word, *values] if _matters(actions[word], values) else []
    kept: list[str] = []
    for position, letter in enumerate(word[1:], 2):
        action = actions.get(f"-{letter}")
        if action is None:
            break
        rest = word[position:]
        values = [rest] if rest and action.nargs != 0 else _values(action, left)
        if _matters(action, values):
            kept.extend([f"-{letter}", *values])
        if action.nargs != 0:
            break
    return kept


def _values(action: argparse.Action, left: list[str]) -> list[str]:
    """Take an option's values from the words after it."""
    if action.nargs is None:
        most = 1
    elif isinstance(action.nargs, int):
        most = action.nargs
    else:
        most = 1 if action.nargs == "?" else len(left)
    values: list[str] = []
    while left and len(values) < most and (action.nargs is None or not left[0].startswith("-")):
        values.append(left.pop(0))
    return values


def _matters(action: argparse.Action, values: list[str]) -> bool:
    if action.dest in _LEFT_OUT.split() or action.dest.startswith("testmatrix"):
        return False
    return action.dest != "plugins" or not _SHOWING_PLUGINS.intersection(values)
