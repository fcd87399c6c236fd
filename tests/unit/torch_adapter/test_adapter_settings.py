"""Torch's settings: taken, compared, set, watched and put back."""

import sys
import threading
from unittest import mock

import pytest
import torch
import torch._dynamo.config as dynamo

from testmatrix.errors import UsageError
from testmatrix.torch_adapter import settings

MODULE = "torch._dynamo.config"
KEY = (MODULE, "specialize_int")


@pytest.fixture(autouse=True)
def _put_back():
    before = settings.snapshot()
    yield
    settings.restore(before)


@pytest.fixture
def seen():
    """Reads and writes of the watched setting."""
    reads, writes = [], []
    with settings.watched([KEY], reads.append, writes.append):
        yield reads, writes


def test_restore_puts_a_value_back():
    before, value = settings.snapshot(), dynamo.specialize_int
    dynamo.specialize_int = not value
    assert settings.changed(before) == ("torch._dynamo.config.specialize_int",)
    settings.restore(before)
    assert dynamo.specialize_int is value
    assert settings.changed(before) == ()


def test_restore_shows_what_a_mock_left_hidden():
    before = settings.snapshot()
    del dynamo.specialize_int
    with pytest.raises(AttributeError):
        _ = dynamo.specialize_int
    settings.restore(before)
    assert dynamo.specialize_int in (True, False)


def test_restore_after_a_mocked_setting():
    before = settings.snapshot()
    with mock.patch.object(dynamo, "specialize_int", True):
        assert dynamo.specialize_int is True
    settings.restore(before)
    assert settings.changed(before) == ()


def test_restore_puts_back_what_was_changed_in_place():
    dynamo.allowed_functions_module_string_ignorelist.add("kept")
    before = settings.snapshot()
    dynamo.allowed_functions_module_string_ignorelist.add("left behind")
    settings.restore(before)
    assert "left behind" not in dynamo.allowed_functions_module_string_ignorelist


def test_restored_settings_are_seen_by_the_modules_own_hash():
    before, original = settings.snapshot(), dynamo.get_hash()
    dynamo.specialize_int = not dynamo.specialize_int
    assert dynamo.get_hash() != original
    settings.restore(before)
    assert dynamo.get_hash() == original


def test_single_reads_are_seen(seen):
    _ = dynamo.specialize_int
    assert seen == ([KEY], [])


@pytest.mark.parametrize("read", ["get_config_copy", "get_hash", "save_config", "codegen_config"])
def test_copies_and_hashes_of_the_whole_module_are_seen(seen, read):
    getattr(dynamo, read)()
    first = len(seen[0])
    getattr(dynamo, read)()  # of which parts are kept from the first time
    assert KEY in seen[0][:first]
    assert KEY in seen[0][first:]
    assert seen[1] == []


def test_copies_for_the_log_are_not(seen):
    assert torch._dynamo.utils._get_dynamo_config_for_logging()
    assert seen == ([], [])


def test_a_copy_of_another_module_is_not(seen):
    torch._inductor.config.get_config_copy()
    assert seen == ([], [])


@pytest.mark.parametrize("write", ["assignment", "patch", "load", "delete"])
def test_writes_are_seen(seen, write):
    if write == "assignment":
        dynamo.specialize_int = True
    elif write == "patch":
        with dynamo.patch(specialize_int=True):
            pass
    elif write == "load":
        dynamo.load_config({**dynamo.get_config_copy(), "specialize_int": True})
    else:
        del dynamo.specialize_int
    assert KEY in seen[1]


def test_watched_setting_still_works(seen):
    with dynamo.patch(specialize_int=True):
        assert dynamo.specialize_int is True
    assert dynamo.specialize_int is False


def test_watching_ends_though_the_block_raises():
    entry = dynamo._config["specialize_int"]
    before = entry.user_override
    with pytest.raises(ZeroDivisionError), settings.watched([KEY], print, print):
        _ = 1 // 0
    assert entry.user_override is before


def test_applied_setting_reaches_other_threads():
    settings.apply([(MODULE, "specialize_int", True)])
    found = []
    thread = threading.Thread(target=lambda: found.append(dynamo.specialize_int))
    thread.start()
    thread.join()
    assert found == [True]


@pytest.mark.parametrize(
    ("module", "name", "said"),
    [
        ("torch._dynamo.nothing", "x", "there is no config module"),
        ("torch._dynamo.utils", "counters", "not one of torch's config modules"),
        (MODULE, "specialise_int", "specialize_int"),
    ],
)
def test_unknown_setting_is_refused(module, name, said):
    with pytest.raises(UsageError, match=said):
        settings.check(module, name, "file.toml: axes.a")


INDUCTOR = "torch._inductor.config"


@pytest.mark.parametrize(
    ("module", "name", "value", "said"),
    [
        (MODULE, "specialize_int", "yes", "must be a boolean, not 'yes'; it is (True|False)$"),
        (MODULE, "specialize_int", 1, "must be a boolean, not 1"),
        (MODULE, "recompile_limit", True, "must be an integer, not True"),
        (MODULE, "recompile_limit", "8", "must be an integer, not '8'"),
        (MODULE, "recompile_limit", 8.0, "must be an integer, not 8.0"),
        (INDUCTOR, "max_autotune_gemm_backends", False, "must be a string, not False"),
        (INDUCTOR, "multi_kernel_hints", 3, "must be of type list, not 3"),
    ],
)
def test_a_value_of_another_type_is_refused(module, name, value, said):
    with pytest.raises(UsageError, match=said) as caught:
        settings.check(module, name, "file.toml: axes.a", value)
    assert str(caught.value).startswith(f"file.toml: axes.a: {module}.{name} must be ")


@pytest.mark.parametrize(
    ("module", "name", "value"),
    [
        (MODULE, "specialize_int", True),
        (MODULE, "specialize_int", None),
        (MODULE, "recompile_limit", 3),
        (INDUCTOR, "max_autotune_gemm_backends", "ATEN"),
        (INDUCTOR, "triton.multi_kernel", 2),
        (INDUCTOR, "cpu_backend", "triton"),
        (INDUCTOR, "fx_graph_remote_cache", True),
        (INDUCTOR, "joint_custom_pre_pass", "anything"),
        (INDUCTOR, "worker_log_path", "log"),
        (INDUCTOR, "aten_distributed_optimizations.max_memory_increase_gb", 2),
    ],
)
def test_a_value_that_torch_takes_is_fine(module, name, value):
    __import__(module)
    if name not in sys.modules[module]._config:
        pytest.skip("not in this torch")
    settings.check(module, name, "", value)


def test_what_torch_has_now_is_a_value_that_it_takes():
    for module in settings.config_modules():
        for name in module._config:
            if module._config[name].alias is None and not module._config[name].deprecated:
                settings.check(module.__name__, name, "", getattr(module, name))


def test_an_unknown_setting_is_said_in_a_short_line():
    with pytest.raises(UsageError) as caught:
        settings.check(MODULE, "qqqq")
    assert len(str(caught.value)) < 600
