"""What is found of what was left behind, what is said of it, and that it is put back."""

import _thread
import builtins
import contextlib
import functools
import gc
import http.server
import importlib
import importlib.util
import signal
import sys
import threading
import time
import types
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
import torch
from torch._dynamo import config
from torch._dynamo.backends import registry
from torch.optim import optimizer
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from testmatrix.torch_adapter import settings, state
from testmatrix.torch_adapter.leaks import containers, restored, snapshot
from testmatrix.torch_adapter.leaks.leak import Leak, named, put_back


@pytest.fixture
def left():
    """Run something; what it left behind, which is gone afterwards."""

    def run(action):
        before = snapshot.take()
        action()
        leaks = put_back(snapshot.found(before))
        assert [leak for leak in snapshot.found(before) if not leak.lasting and leak.undo] == []
        return [leak.text for leak in leaks]

    return run


class Function(TorchFunctionMode):
    pass


class Dispatch(TorchDispatchMode):
    pass


def hook(*args):
    return args[0] if args else None


def test_nothing(left):
    assert left(lambda: None) == []


# What there is to say


@dataclass
class Point:
    x: int


class Odd:
    @property
    def __spec__(self):
        raise TypeError("is no module")

    def __eq__(self, other):
        raise TypeError("cannot be compared")

    __hash__ = None

    def __repr__(self):
        raise TypeError("cannot be shown")


@dataclass(repr=False)
class OddPoint(Odd):
    x: int = 0


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "None"),
        (True, "True"),
        (0.5, "0.5"),
        ("a\nb", r"'a\nb'"),
        ("/tmp/pytest-of-me/pytest-3/test_it0/file", "'file'"),
        ((1, "a"), "(1, 'a')"),
        ({"b", "a"}, "{'a', 'b'}"),
        ({"a": object}, "{'a': <class 'object'>}"),
        (torch.float64, "torch.float64"),
        (torch.device("cpu"), "cpu"),
        (int, "int"),
        (print, "builtins.print"),
        (Point(3), "Point(x=3)"),
        (Odd(), f"an object of {__name__}.Odd"),
        (OddPoint(), f"an object of {__name__}.OddPoint"),
        (hook, f"hook (test_leaks.py:{hook.__code__.co_firstlineno})"),
        (functools.partial(hook, 1), f"hook (test_leaks.py:{hook.__code__.co_firstlineno})"),
    ],
)
def test_names_of_values(value, text):
    assert named(value) == text


def test_functions_by_their_own_name():
    def inner():
        pass

    assert named(inner).startswith("inner (test_leaks.py:")
    assert named(Point.__init__).startswith("Point.__init__ (")
    assert named(Point(1).__init__) == named(Point.__init__)


def test_long_values_are_cut():
    assert len(named("a" * 1000)) < 130


# What cannot be undone


def test_what_cannot_be_undone_lasts():
    def fails():
        raise OSError("only root may")

    undone = []
    leaks = (Leak("a thread"), Leak("a limit", fails), Leak("a hook", lambda: undone.append(1)))
    assert [leak.lasting for leak in put_back(leaks)] == [True, True, False]
    assert undone == [1]


def test_fixtures_that_outlive_the_cell_have_their_part(monkeypatch):
    start = snapshot.take()
    monkeypatch.setattr(builtins, "of_test", 1, raising=False)
    before = snapshot.take()
    monkeypatch.syspath_prepend("/of_fixture")
    rebased = snapshot.rebased(start, before, snapshot.take())
    assert [leak.text for leak in snapshot.found(rebased)] == ["builtins.of_test left behind: 1"]


def test_what_the_runner_changes_by_phase_is_kept(monkeypatch):
    start = snapshot.take()
    monkeypatch.setattr(sys, "stdout", sys.stdout if sys.stdout is not sys.__stdout__ else sys.__stderr__)
    monkeypatch.setattr(builtins, "now_there", 1, raising=False)
    refreshed = snapshot.refreshed(start)
    monkeypatch.undo()
    assert [leak.text for leak in snapshot.found(refreshed)] == ["builtins.now_there removed"]


# Settings of the process


def test_inductor_may_raise_the_recursion_limit(left, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch._inductor.compile_fx", types.ModuleType("torch._inductor.compile_fx"))
    limit = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(1500)
        before = snapshot.take()
        sys.setrecursionlimit(2000)
        assert snapshot.found(before) == ()
        sys.setrecursionlimit(2001)
        (leak,) = snapshot.found(before)
        assert leak.text == "recursion limit left at 2001, was 1500"
    finally:
        sys.setrecursionlimit(limit)


def test_an_odd_stream(left, monkeypatch):
    monkeypatch.setattr(sys, "stdin", sys.stdin)  # pytest's, to be put back in any case
    assert left(lambda: setattr(sys, "stdin", Odd()))[0].startswith(f"sys.stdin left at an object of {__name__}.Odd, was ")


def test_signal_handlers(left):
    text = f"handler of SIGUSR1 left at SIG_IGN, was {signal.Handlers(signal.getsignal(signal.SIGUSR1)).name}"
    assert left(lambda: signal.signal(signal.SIGUSR1, signal.SIG_IGN)) == [text]


def test_garbage_collection(left):
    assert left(gc.disable) == ["garbage collection left at False, was True"]
    assert gc.isenabled()


# Lists and dictionaries


def changes(part, change):
    before = part.read()
    change()
    now = part.read()
    return [leak.text for leak in put_back(part.leaks(before, now))] if before != now else []


def test_lists():
    live = ["a", "b"]
    part = containers.list_part("it", lambda: live)
    assert changes(part, lambda: live.append("c")) == ["'c' left in it"]
    assert changes(part, lambda: live.remove("a")) == ["'a' left out of it"]
    assert changes(part, live.reverse) == ["order of it left changed"]
    assert live == ["a", "b"]


def test_lists_hold_what_an_import_installed(monkeypatch):
    class Installed:
        pass

    snapshot.take()
    first, last, other = Installed(), Installed(), object()
    Installed.__module__ = "first_imported_here"
    monkeypatch.setitem(sys.modules, "first_imported_here", types.ModuleType("first_imported_here"))
    live = ["a"]
    part = containers.list_part("it", lambda: live, of_imports=True)
    assert changes(part, lambda: live.__setitem__(slice(0, 0), [first, other])) == ["an object of object left in it"]
    assert live == [first, "a"]
    assert changes(part, lambda: live.extend([last, "b"])) == ["'b' left in it"]
    assert live == [first, "a", last]


def test_a_package_may_add_what_is_inside_of_it_to_the_path(left, tmp_path, restored_modules, monkeypatch):
    """As setuptools does, for parts of its own that it finds there later."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    package = tmp_path / "first_imported_here"
    package.mkdir()
    source = "import os, sys\nsys.path.append(os.path.join(os.path.dirname(__file__), '_vendor'))\nsys.path.append('/elsewhere')"
    (package / "__init__.py").write_text(source, encoding="utf-8")
    assert left(lambda: importlib.import_module("first_imported_here")) == ["'/elsewhere' left in sys.path"]
    assert sys.path[-2:] == [str(tmp_path), str(package / "_vendor")]


def test_lists_without_what_comes_and_goes_with_the_runner():
    live = ["a", 1]
    part = containers.list_part("it", lambda: live, ignored=lambda each: isinstance(each, int))
    assert changes(part, lambda: live.append(2)) == []
    assert changes(part, lambda: live.append("b")) == ["'b' left in it"]
    assert live == ["a", 1, 2]


def test_dictionaries():
    live = {"a": 1, "b": 2, "_": 0}
    part = containers.dict_part("it", lambda: live, {"_"})
    assert changes(part, lambda: live.update(a=3, c=4, _=5)) == ["it.a left at 3, was 1", "it.c left behind: 4"]
    assert changes(part, lambda: live.pop("b")) == ["it.b removed"]
    assert live == {"a": 1, "b": 2, "_": 5}


# Modules


@pytest.fixture
def restored_modules():
    before = sys.modules.copy()
    yield
    for name in sys.modules.keys() - before.keys():
        del sys.modules[name]


def real(name, tmp_path, source=""):
    path = tmp_path / f"{name}.py"
    path.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def test_an_import_is_no_leak(left, tmp_path, restored_modules):
    assert left(lambda: real("real_module", tmp_path)) == []
    assert "real_module" in sys.modules


def test_a_package_may_make_its_own_parts(left, tmp_path, restored_modules):
    source = "import sys, types\nsys.modules[__name__ + '.moves'] = types.ModuleType('moves')"
    assert left(lambda: real("real_package", tmp_path, source)) == []
    assert "real_package.moves" in sys.modules


@pytest.mark.parametrize("name", ["torch.made", "torch._inductor.runtime.compile_tasks.cabc", "_cython_3_1_2", "cython_other"])
def test_machinery_makes_modules(left, restored_modules, name):
    assert left(lambda: sys.modules.update({name: types.ModuleType(name)})) == []


@pytest.mark.parametrize(
    ("module", "text"),
    [
        (types.ModuleType("fake"), "put into sys.modules: fake, a module of no import"),
        (Point(1), "put into sys.modules: fake, Point(x=1)"),
        (None, "put into sys.modules: fake, None"),
        (contextlib, "put into sys.modules: fake, which is contextlib"),
        (Odd(), f"put into sys.modules: fake, an object of {__name__}.Odd"),
    ],
    ids=["module", "object", "nothing", "alias", "odd"],
)
def test_fakes(left, restored_modules, module, text):
    assert left(lambda: sys.modules.update(fake=module)) == [text]
    assert "fake" not in sys.modules


def test_replaced_and_removed(left, restored_modules):
    names = [f"module_{n}" for n in range(5)]
    sys.modules.update({name: types.ModuleType(name) for name in names})
    kept = [sys.modules[name] for name in names]

    def change():
        del sys.modules["module_4"]
        sys.modules.update({name: types.ModuleType(name) for name in names[:4]})

    assert left(change) == [
        "replaced in sys.modules: module_0, module_1, module_2 and 1 more",
        "removed from sys.modules: module_4",
    ]
    assert [sys.modules[name] for name in names] == kept


# Threads


@pytest.fixture
def ended():
    event = threading.Event()
    yield event
    event.set()


def wait(event):
    event.wait(60)


class Waits(threading.Thread):
    def __init__(self, event):
        super().__init__(daemon=True, name="waits-for-12")
        self.event = event

    def run(self):
        wait(self.event)


def at(function):
    return f"{function.__name__} (test_leaks.py:{function.__code__.co_firstlineno})"


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda event: threading.Thread(target=wait, args=(event,)), f"a thread is still running: {at(wait)}"),
        (lambda event: threading.Thread(target=functools.partial(wait, event)), f"a thread is still running: {at(wait)}"),
        (Waits, f"thread 'waits-for-#' is still running: {at(Waits.run)}"),
        (lambda event: threading.Timer(60, hook), f"a thread is still running: {at(hook)}"),
    ],
    ids=["function", "partial", "subclass", "timer"],
)
def test_threads(left, ended, make, text):
    thread = make(ended)
    thread.daemon = True
    before = snapshot.take()
    thread.start()
    (leak,) = put_back(snapshot.found(before))
    assert (leak.text, leak.lasting) == (text, True)
    if isinstance(thread, threading.Timer):
        thread.cancel()


def test_a_server_is_no_machinery(left):
    server = http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    try:
        (text,) = left(thread.start)
        assert text.startswith("a thread is still running: serve_forever (socketserver.py:")
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_threads_that_end_by_themselves(left):
    assert left(threading.Thread(target=time.sleep, args=(0.05,)).start) == []


def test_idle_pools_are_machinery(left, ended):
    pool = ThreadPoolExecutor(1)
    try:
        assert left(lambda: pool.submit(int, "3").result()) == []
        (text,) = left(lambda: pool.submit(wait, ended)) or ["idle when the first look came, so that no new thread was needed"]
        assert text.startswith("idle")
    finally:
        ended.set()
        pool.shutdown()


def test_busy_pools_are_not(left, ended):
    pool = ThreadPoolExecutor(1)
    started = threading.Event()

    def busy():
        started.set()
        wait(ended)

    def submit():
        pool.submit(busy)
        assert started.wait(60)

    try:
        assert left(submit) == [f"thread 'ThreadPoolExecutor-#_#' is still running: {at(busy)}"]
    finally:
        ended.set()
        pool.shutdown()


def test_threads_that_python_did_not_start(left, ended):
    """Such as those of torch's that call hooks: Python has an object for each, and knows nothing of it."""
    known = threading.Event()

    def foreign():
        threading.current_thread()
        known.set()
        wait(ended)

    def start():
        _thread.start_new_thread(foreign, ())
        assert known.wait(60)

    assert left(start) == []


# Torch


def test_modes(left):
    assert left(lambda: Function().__enter__()) == [f"torch function mode left entered: an object of {__name__}.Function"]
    assert left(lambda: Dispatch().__enter__()) == [f"torch dispatch mode left entered: an object of {__name__}.Dispatch"]
    assert torch._C._len_torch_function_stack() == torch._C._len_torch_dispatch_stack() == 0


def test_modes_of_others(left):
    with Function() as outer:
        assert left(torch._C._pop_torch_function_stack) == [
            f"torch function mode of others left: an object of {__name__}.Function"
        ]
        assert torch._C._get_function_stack_at(0) is outer


def test_the_default_device_is_no_mode_of_its_own(left):
    """Setting it is told as what it is, and the stack stays in order around it."""
    try:
        assert left(lambda: torch.set_default_device("meta")) == []
        assert torch.empty(1).is_meta

        def enter():
            torch.set_default_device("cpu")
            Function().__enter__()

        assert left(enter) == [f"torch function mode left entered: an object of {__name__}.Function"]
        assert torch._C._len_torch_function_stack() == 1
    finally:
        torch.set_default_device(None)
    assert torch._C._len_torch_function_stack() == 0


def test_hooks_on_saved_tensors(left):
    def outer(tensor):
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(outer, outer):
        push = torch.autograd.graph.saved_tensors_hooks(hook, hook).__enter__
        (text,) = left(lambda: (push(), push()))
        assert text == f"hooks on saved tensors left at ({at(hook)}, {at(hook)}), were ({at(outer)}, {at(outer)})"
        assert torch._C._autograd._top_saved_tensors_default_hooks(True) == (outer, outer)
        assert left(torch._C._autograd._pop_saved_tensors_default_hooks) != []
        assert torch._C._autograd._top_saved_tensors_default_hooks(True) == (outer, outer)
    assert torch._C._autograd._top_saved_tensors_default_hooks(True) is None


@pytest.mark.parametrize(
    ("register", "kind"),
    [
        (torch.nn.modules.module.register_module_forward_pre_hook, "forward pre hook"),
        (torch.nn.modules.module.register_module_forward_hook, "forward hook"),
        (torch.nn.modules.module.register_module_full_backward_hook, "backward hook"),
        (torch.nn.modules.module.register_module_full_backward_pre_hook, "backward pre hook"),
        (torch.nn.modules.module.register_module_module_registration_hook, "module registration hook"),
        (torch.nn.modules.module.register_module_parameter_registration_hook, "parameter registration hook"),
        (torch.nn.modules.module.register_module_buffer_registration_hook, "buffer registration hook"),
        (optimizer.register_optimizer_step_pre_hook, "optimizer pre hook"),
        (optimizer.register_optimizer_step_post_hook, "optimizer post hook"),
    ],
)
def test_global_hooks(left, register, kind):
    assert left(lambda: register(hook)) == [f"global {kind} left behind: {at(hook)}"]


def test_global_hooks_of_others(left):
    handle = torch.nn.modules.module.register_module_forward_hook(hook)
    try:
        assert left(handle.remove) == [f"global forward hook removed: {at(hook)}"]
    finally:
        handle.remove()


def test_backends(left):
    def mine(graph, inputs):
        return graph

    assert left(lambda: torch._dynamo.register_backend(mine, name="mine")) == [f"backend 'mine' left registered: {at(mine)}"]
    torch._dynamo.register_backend(mine, name="mine")  # raises where it is known
    (text,) = left(lambda: registry._COMPILER_FNS.pop("mine"))
    assert text == "backend 'mine' removed"
    del registry._COMPILER_FNS["mine"], registry._BACKENDS["mine"]


def test_backends_that_torch_looks_up_when_they_are_asked_for(left):
    def mine(graph, inputs):
        return graph

    mine.__module__ = "torch._dynamo.backends.mine"
    assert left(lambda: torch._dynamo.register_backend(mine, name="mine")) == []
    del registry._COMPILER_FNS["mine"], registry._BACKENDS["mine"]


# What is said of what was put back


def test_what_is_told_of_changes():
    def told(name, before, after, expected=()):
        return list(restored.told([settings.Change(name, before, after)], expected))

    verbose = "torch._dynamo.config.verbose"
    assert told(verbose, False, True) == [f"{verbose} left at True, was False"]
    assert told(verbose, False, True, {verbose}) == []
    data_ptr = "environment variable _TORCHINDUCTOR_PYOBJECT_TENSOR_DATA_PTR"
    assert told(data_ptr, None, "139873") == []  # torch's own, when it first compiles for the processor
    assert told(data_ptr, "1", "2") == [f"{data_ptr} left at '2', was '1'"]
    assert told("environment variable TORCH_LOGS", None, "dynamo") == [
        "environment variable TORCH_LOGS left at 'dynamo', was None"
    ]


# What is put back by :mod:`testmatrix.torch_adapter.state`


def changed(action, own=None):
    before = state.save()
    action()
    return [tuple(change) for change in state.restore(before, own or {})]


def test_changes_of_settings():
    name = "torch._dynamo.config.verbose"
    assert changed(lambda: None) == []
    assert changed(lambda: setattr(config, "verbose", True)) == [(name, False, True)]
    assert changed(lambda: setattr(config, "verbose", False)) == []  # at its default, which is said by itself now
    assert changed(lambda: setattr(config, "verbose", True), {(config.__name__, "verbose"): True}) == []
    assert changed(lambda: setattr(config, "verbose", None), {(config.__name__, "verbose"): True}) == [(name, False, None)]


def test_what_mocks_undo_is_no_change():
    def patch():
        with pytest.MonkeyPatch.context() as monkeypatch:
            monkeypatch.setattr(config, "verbose", True)

    assert changed(patch) == []
    assert config.verbose is False


def test_what_was_read_for_the_first_time_is_no_change():
    entry = config._config["allowed_functions_module_string_ignorelist"]
    before = settings.snapshot()
    entry.user_override.set(set(entry.default))
    assert settings.restore(before) == []


def test_changes_of_switches_and_surroundings(monkeypatch, tmp_path):
    monkeypatch.setenv("BEFORE", "1")
    monkeypatch.chdir(tmp_path)

    def change():
        torch.set_default_dtype(torch.float64)
        monkeypatch.delenv("BEFORE")
        monkeypatch.setenv("AFTER", "2")
        monkeypatch.chdir("/")
        torch.manual_seed(3)

    assert changed(change) == [
        ("torch.set_default_dtype", torch.float32, torch.float64),
        ("environment variable AFTER", None, "2"),
        ("environment variable BEFORE", "1", None),
        ("working directory", str(tmp_path), "/"),
    ]
