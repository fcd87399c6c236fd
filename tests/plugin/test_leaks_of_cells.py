"""What a test leaves behind in its process is noted, with its name, and gone when the next one starts."""

from __future__ import annotations

import pytest

#: What leaves something behind, whether it is there, and what the note says.
LEAKS = {
    "environment": ("os.environ['LEFT'] = 'a'", "'LEFT' in os.environ", "environment variable LEFT left at 'a', was None"),
    "directory": ("os.chdir('/')", "os.getcwd() == '/'", "working directory left at '/', was "),
    "setting": (
        "torch._dynamo.config.verbose = True",
        "torch._dynamo.config.verbose",
        "torch._dynamo.config.verbose left at True, was False",
    ),
    "dtype": (
        "torch.set_default_dtype(torch.float64)",
        "torch.get_default_dtype() == torch.float64",
        "torch.set_default_dtype left at torch.float64, was torch.float32",
    ),
    "device": (
        "torch.set_default_device('meta')",
        "torch.empty(1).is_meta",
        "torch.set_default_device left at meta, was None",
    ),
    "gradients": (
        "torch.set_grad_enabled(False)",
        "not torch.is_grad_enabled()",
        "torch.set_grad_enabled left at False, was True",
    ),
    "autocast": (
        "torch.set_autocast_enabled('cpu', True)",
        "torch.is_autocast_enabled('cpu')",
        "autocast on cpu left at True, was False",
    ),
    "stance": (
        "torch.compiler.set_stance('force_eager')",
        "torch._dynamo.eval_frame._stance.stance != 'default'",
        "torch.set_stance left at DynamoStance(stance='force_eager'",
    ),
    "module hook": (
        "torch.nn.modules.module.register_module_forward_hook(hook)",
        "torch.nn.modules.module._global_forward_hooks",
        "global forward hook left behind: hook (test_suite.py:",
    ),
    "saved tensors": (
        "torch.autograd.graph.saved_tensors_hooks(hook, hook).__enter__()",
        "torch._C._autograd._top_saved_tensors_default_hooks(True)",
        "hooks on saved tensors left at (hook (test_suite.py:",
    ),
    "function mode": (
        "Function().__enter__()",
        "torch._C._len_torch_function_stack()",
        "torch function mode left entered: an object of test_suite.Function",
    ),
    "dispatch mode": (
        "Dispatch().__enter__()",
        "torch._C._len_torch_dispatch_stack()",
        "torch dispatch mode left entered: an object of test_suite.Dispatch",
    ),
    "backend": (
        "torch._dynamo.register_backend(hook, name='mine')",
        "'mine' in torch._dynamo.list_backends()",
        "backend 'mine' left registered: hook (test_suite.py:",
    ),
    "fake module": (
        "sys.modules['faked'] = types.ModuleType('faked')",
        "'faked' in sys.modules",
        "put into sys.modules: faked, a module of no import",
    ),
    "replaced module": (
        "sys.modules['colorsys'] = object()",
        "type(sys.modules['colorsys']) is object",
        "replaced in sys.modules: colorsys",
    ),
    "removed module": ("del sys.modules['colorsys']", "'colorsys' not in sys.modules", "removed from sys.modules: colorsys"),
    "builtin": ("builtins.open = hook", "builtins.open is hook", "builtins.open left at hook (test_suite.py:"),
    "new builtin": ("builtins.added = 1", "hasattr(builtins, 'added')", "builtins.added left behind: 1"),
    "trace": ("sys.settrace(tracer)", "sys.gettrace() is tracer", "sys.settrace's function left at tracer (test_suite.py:"),
    "profile": (
        "sys.setprofile(print)",
        "sys.getprofile() is print",
        "sys.setprofile's function left at builtins.print, was None",
    ),
    "hook": ("sys.excepthook = hook", "sys.excepthook is hook", "sys.excepthook left at hook (test_suite.py:"),
    "path": ("sys.path.append('/nowhere')", "'/nowhere' in sys.path", "'/nowhere' left in sys.path"),
    "finder": ("sys.meta_path.append(FINDER)", "FINDER in sys.meta_path", "an object of test_suite.Finder left in sys.meta_path"),
    "recursion": ("sys.setrecursionlimit(12345)", "sys.getrecursionlimit() == 12345", "recursion limit left at 12345, was "),
    "signal": (
        "signal.signal(signal.SIGUSR1, hook)",
        "signal.getsignal(signal.SIGUSR1) is hook",
        "handler of SIGUSR1 left at hook (test_suite.py:",
    ),
    "logging handler": (
        "logging.root.addHandler(HANDLER)",
        "HANDLER in logging.root.handlers",
        "an object of logging.StreamHandler left in the root logger's handlers",
    ),
    "logging level": ("logging.root.setLevel(7)", "logging.root.level == 7", "level of the root logger left at 7, was 30"),
    "logging": ("logging.disable(50)", "logging.root.manager.disable == 50", "logging.disable's level left at 50, was 0"),
    "umask": ("os.umask(0o123)", "umask() == 0o123", "umask left at 0o123, was "),
    "gc": ("gc.disable()", "not gc.isenabled()", "garbage collection left at False, was True"),
    "gc thresholds": ("gc.set_threshold(123)", "gc.get_threshold()[0] == 123", "gc thresholds left at (123, "),
    "locale": ("locale.setlocale(locale.LC_ALL, OTHER)", "locale.setlocale(locale.LC_ALL) == OTHER", "locale left at "),
}

SUITE = """
import builtins, colorsys, gc, locale, logging, os, signal, sys, types
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

class Function(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))

class Dispatch(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))

class Finder:
    def find_spec(self, *args):
        return None

FINDER, HANDLER = Finder(), logging.StreamHandler()
OTHER = "C.UTF-8" if locale.setlocale(locale.LC_ALL) == "C" else "C"

def hook(*args):
    return args[0] if args else None

def umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask

def tracer(*args):
    return None

"""

TEST = """
def test_leaks_{number}():
    assert not ({present})
    {leak}

def test_neighbour_{number}():
    assert not ({present})
"""


def line_of(pytester: pytest.Pytester, text: str) -> str:
    """``test_suite.py:12``: where a text is in the suite that was run."""
    lines = (pytester.path / "test_suite.py").read_text(encoding="utf-8").splitlines()
    return f"test_suite.py:{lines.index(text) + 1}"


def told(run) -> list[tuple[str, str]]:
    """Test and text of the notes on leaks, and of those on faults in finding them."""
    return [(note.test.rpartition("::")[2], note.text) for note in run.read.notes if note.kind in ("leak", "recorder")]


def test_each_is_named_and_gone(matrix, cells, every_cell_is_run):
    """In the same process, and in each of four cells: the second one would meet what the first one left."""
    tests = [TEST.format(number=n, leak=leak, present=present) for n, (leak, present, _) in enumerate(LEAKS.values())]
    run = matrix("".join([SUITE, *tests]))
    run.result.assert_outcomes(passed=2 * len(LEAKS))
    assert run.read.findings == ()
    texts = dict(told(run))
    assert [texts.get(f"test_leaks_{n}", "").partition(text)[:2] for n, (_, _, text) in enumerate(LEAKS.values())] == [
        ("", text) for _, _, text in LEAKS.values()
    ]
    assert len(told(run)) == len(LEAKS)
    assert {note.cells for note in run.read.notes} == {cells}


def test_a_limit_is_put_back(matrix):
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    run = matrix("""
import resource

def test_leaks():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft - 1, hard))
""")
    run.result.assert_outcomes(passed=1)
    assert told(run) == [("test_leaks", f"resource limit RLIMIT_NOFILE left at ({soft - 1}, {hard}), was ({soft}, {hard})")]
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (soft, hard)


def test_the_cells_that_leak_are_named(matrix, cells):
    run = matrix("""
import os

def test_leaks():
    compiled(lambda x: x + 1)(torch.ones(2))
    if not torch._dynamo.config.assume_static_by_default:
        os.environ["LEFT"] = "a"

def test_neighbour():
    compiled(lambda x: x + 1)(torch.ones(2))
    assert "LEFT" not in os.environ
""")
    run.result.assert_outcomes(passed=2)
    (note,) = [note for note in run.read.notes if note.kind == "leak"]
    ran = tuple(cell for cell in cells if not run.tests["test_leaks"][cell].same_as)
    assert note.cells == tuple(cell for cell in ran if cell.startswith("dynamic"))
    assert note.cells


def test_a_thread_is_named(matrix, pytester):
    run = matrix("""
import threading
ENDED = threading.Event()

def poll():
    ENDED.wait(60)

def test_leaks():
    threading.Thread(target=poll, daemon=True).start()

def test_named():
    threading.Thread(target=poll, daemon=True, name="poller-17").start()

def test_neighbour():
    pass

def teardown_module():
    ENDED.set()
""")
    run.result.assert_outcomes(passed=3)
    assert told(run) == [
        ("test_leaks", f"a thread is still running: poll ({line_of(pytester, 'def poll():')})"),
        ("test_named", f"thread 'poller-#' is still running: poll ({line_of(pytester, 'def poll():')})"),
    ]


def test_what_undoes_itself_is_none(matrix):
    run = matrix("""
import builtins, importlib, logging, os, sys, threading, types
from unittest import mock

@pytest.fixture
def prepared():
    os.environ["OWN"] = "1"
    torch.set_default_dtype(torch.float64)
    yield
    del os.environ["OWN"]
    torch.set_default_dtype(torch.float32)

def test_undone(monkeypatch, tmp_path, prepared, caplog, capsys):
    monkeypatch.setenv("LEFT", "a")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(builtins, "open", print)
    monkeypatch.setitem(sys.modules, "faked", types.ModuleType("faked"))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(torch._dynamo.config, "verbose", True)
    caplog.set_level(1)
    thread = threading.Thread(target=print)
    thread.start()
    thread.join()
    with mock.patch.dict(os.environ, {"OTHER": "1"}), torch._dynamo.config.patch(suppress_errors=True):
        compiled(lambda x: x + 1)(torch.ones(2))

def test_imports(tmp_path, monkeypatch):
    (tmp_path / "imported_here.py").write_text("import sys, types; sys.modules[__name__ + '.part'] = types.ModuleType('part')")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("imported_here")
    import imported_here.part

def test_random():
    torch.manual_seed(3)

def test_seeds_pool():
    from concurrent.futures import ThreadPoolExecutor
    pool = ThreadPoolExecutor(1)
    assert pool.submit(int, "3").result() == 3
""")
    run.result.assert_outcomes(passed=4)
    assert told(run) == []


def test_a_busy_pool_is_a_leak(matrix, pytester):
    run = matrix("""
import threading
from concurrent.futures import ThreadPoolExecutor
ENDED = threading.Event()
POOLS = []

def wait():
    ENDED.wait(60)

def test_leaks():
    POOLS.append(ThreadPoolExecutor(1))
    POOLS[0].submit(wait)

def teardown_module():
    ENDED.set()
""")
    thread = f"thread 'ThreadPoolExecutor-#_#' is still running: wait ({line_of(pytester, 'def wait():')})"
    assert told(run) == [("test_leaks", thread)]


FIXTURE = """
import os, sys, threading
ENDED = threading.Event()

def serve():
    ENDED.wait(60)

@pytest.fixture(scope="module")
def server():
    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    os.environ["SERVER"] = "1"
    sys.path.append("/nowhere")
    yield
    sys.path.remove("/nowhere")
    del os.environ["SERVER"]
    ENDED.set()
    thread.join()

def test_first(server):
    assert os.environ["SERVER"] and "/nowhere" in sys.path and not ENDED.is_set()

def test_second(server):
    test_first(None)
    compiled(lambda x: x + 1)(torch.ones(2))

def test_third(server):
    test_first(None)
    sys.path.append("/elsewhere")

def test_fourth(server):
    test_first(None)
    assert "/elsewhere" not in sys.path
"""


def test_what_wider_fixtures_set_up_is_theirs(matrix):
    run = matrix(FIXTURE)
    run.result.assert_outcomes(passed=4)
    assert told(run) == [("test_third", "'/elsewhere' left in sys.path")]
    assert "note: leak: '/elsewhere' left in sys.path (1 test)" in run.text


def test_a_wider_fixture_that_is_torn_down_between_parameters(matrix):
    run = matrix("""
import sys

@pytest.fixture(scope="module", params=["/one", "/two"])
def path(request):
    sys.path.append(request.param)
    yield request.param
    sys.path.remove(request.param)

def test_path(path):
    assert path in sys.path

def test_again(path):
    assert path in sys.path and sys.path[-1] == path
""")
    run.result.assert_outcomes(passed=4)
    assert told(run) == []


def test_a_wider_fixture_of_the_cell(matrix):
    """One that changes a setting is set up in each cell, and said to leak only what it does not undo itself."""
    run = matrix("""
import sys

@pytest.fixture(scope="module")
def configured():
    torch._dynamo.config.verbose = True
    sys.path.append("/nowhere")
    yield
    torch._dynamo.config.verbose = False
    sys.path.remove("/nowhere")

@pytest.fixture(scope="session", autouse=True)
def never_undone():
    torch._dynamo.config.suppress_errors = True

def test_path(configured):
    assert "/nowhere" in sys.path and torch._dynamo.config.verbose and torch._dynamo.config.suppress_errors

def test_again(configured):
    test_path(None)
    compiled(lambda x: x + 1)(torch.ones(2))
""")
    run.result.assert_outcomes(passed=2)
    assert told(run) == []
