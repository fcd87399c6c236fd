"""Compile caches are the cell's own and leave nothing: no directory, no setting, nothing in memory."""

import os
import subprocess
import sys
import textwrap
from contextlib import suppress
from pathlib import Path

import pytest
import torch
import torch._inductor.config
from torch.compiler._cache import CacheArtifactManager

from testmatrix.errors import EnvironmentUnusable
from testmatrix.torch_adapter import caches


@pytest.fixture(autouse=True)
def root(monkeypatch, tmp_path):
    """A root directory of the test's own, not made yet."""
    path = tmp_path / "root"
    monkeypatch.setattr(caches, "_root", str(path))
    caches._sharing.cache_clear()
    yield path
    caches._sharing.cache_clear()


def directories():
    return {name: Path(os.environ[name]) for name in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")}


def test_each_cell_has_directories_of_its_own(root, monkeypatch):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "/somewhere")
    monkeypatch.delenv("TRITON_CACHE_DIR", raising=False)
    seen = []
    for _ in range(2):
        with caches.fresh_caches():
            seen += directories().values()
    assert len(set(seen)) == 4
    assert all(path.is_relative_to(root) for path in seen)
    assert os.environ["TORCHINDUCTOR_CACHE_DIR"] == "/somewhere"
    assert "TRITON_CACHE_DIR" not in os.environ


def test_nothing_is_made_where_nothing_is_written(root):
    with caches.fresh_caches():
        pass
    assert not root.exists()


@pytest.mark.parametrize("error", [None, KeyboardInterrupt, SystemExit])
def test_what_was_written_is_removed(root, error):
    with suppress(KeyboardInterrupt, SystemExit), caches.fresh_caches():
        for path in directories().values():
            path.mkdir(parents=True)
            (path / "file").touch()
        if error is not None:
            raise error
    assert list(root.iterdir()) == []


def test_directories_without_permissions_are_removed_and_what_they_link_to_is_not(tmp_path):
    (tmp_path / "elsewhere").mkdir(mode=0o755)
    tmp_path.chmod(0o777)
    if (child := os.fork()) == 0:
        try:
            os.chdir(tmp_path)
            with suppress(PermissionError):
                os.setuid(65534)  # root needs no permissions
            inner = Path("root", "locked", "inner")
            inner.mkdir(parents=True)
            (inner / "file").touch()
            (inner / "link").symlink_to("../../../elsewhere")
            inner.chmod(0)
            inner.parent.chmod(0)
            caches.use_root("root")
            caches.remove_root()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert [path.name for path in tmp_path.iterdir()] == ["elsewhere"]
    assert (tmp_path / "elsewhere").stat().st_mode & 0o777 == 0o755


def test_a_chosen_root_is_removed_with_what_a_lost_process_left(tmp_path):
    chosen = tmp_path / "testmatrix-chosen"
    caches.use_root(str(chosen))
    assert not chosen.exists()
    if (child := os.fork()) == 0:
        with caches.fresh_caches():
            directories()["TRITON_CACHE_DIR"].mkdir(parents=True)
            os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert list(chosen.iterdir()) != []
    caches.remove_root()
    assert not chosen.exists()
    with caches.fresh_caches():
        assert directories()["TRITON_CACHE_DIR"].is_relative_to(chosen)


def test_processes_below_one_root_name_different_directories():
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        with caches.fresh_caches():
            os.write(write, os.fsencode(directories()["TRITON_CACHE_DIR"]))
        os._exit(0)
    os.waitpid(child, 0)
    with caches.fresh_caches():
        assert os.read(read, 1000) != os.fsencode(directories()["TRITON_CACHE_DIR"])
    os.close(read)
    os.close(write)


def test_without_a_root_the_process_that_made_one_removes_it(tmp_path):
    source = """
        import os, sys
        from testmatrix.torch_adapter import caches
        with caches.fresh_caches():
            os.makedirs(os.environ["TORCHINDUCTOR_CACHE_DIR"])
            child = os.fork()
            if child == 0:
                sys.exit()
            os.waitpid(child, 0)
            print(os.path.isdir(os.environ["TORCHINDUCTOR_CACHE_DIR"]), len(os.listdir(os.environ["TMPDIR"])))
    """
    (tmp_path / "temporary").mkdir()
    environment = {**os.environ, "TMPDIR": str(tmp_path / "temporary"), "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "outside")}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(source)], env=environment, text=True, capture_output=True, check=True
    )
    assert done.stdout.split() == ["True", "1"]
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_root_is_named_and_must_be_writable(monkeypatch, tmp_path):
    monkeypatch.setattr(caches, "_root", None)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert Path(caches.root()).name.startswith("testmatrix-")
    monkeypatch.setattr(caches, "_root", None)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    with pytest.raises(EnvironmentUnusable, match="TMPDIR"):
        caches.root()


def test_profiles_of_earlier_runs_are_not_used(monkeypatch):
    monkeypatch.setenv("TORCH_COMPILE_JOB_ID", "job")
    with torch.compiler.config.patch(job_id="job"):
        with caches.fresh_caches():
            assert "TORCH_COMPILE_JOB_ID" not in os.environ
            assert torch.compiler.config.job_id is None
        assert torch.compiler.config.job_id == "job"
    assert os.environ["TORCH_COMPILE_JOB_ID"] == "job"


@pytest.mark.parametrize(("module", "name", "alone"), caches._SHARING)
def test_torch_has_the_settings_that_share(module, name, alone):
    __import__(module)
    assert hasattr(sys.modules[module], name)


def test_caches_on_other_machines_are_off_in_a_cell():
    with torch._inductor.config.patch(fx_graph_remote_cache=True):
        with caches.fresh_caches():
            assert torch._inductor.config.fx_graph_remote_cache is False
            assert torch._inductor.config.fx_graph_cache
        assert torch._inductor.config.fx_graph_remote_cache is True


def test_artifacts_in_memory_are_the_cells_own():
    with caches.fresh_caches():
        CacheArtifactManager._ensure_cache_artifacts_registered()
        CacheArtifactManager.record_artifact("inductor", "key", b"content")
        assert CacheArtifactManager.need_serialize()
    assert not CacheArtifactManager.need_serialize()
    with caches.fresh_caches():
        assert torch.compiler.save_cache_artifacts() is None
