"""Empty libraries stand in for torch's where those are loaded, and what is linked with them loads and finds their symbols."""

import ctypes
import subprocess
import sys

import pytest
import torch
from torch.utils.cpp_extension import TORCH_LIB_PATH

from testmatrix.torch_adapter import linking

GIVEN = ("-shared", "-fPIC", "-ltorch", "-ltorch_cpu", "-ltorch_python", f"-L{TORCH_LIB_PATH}")

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="libraries are stood in for on Linux only")


def test_a_library_finds_what_it_needs_in_the_torch_that_is_loaded(tmp_path):
    source = tmp_path / "source.cpp"
    source.write_text(
        'extern "C" int aoti_torch_device_type_cuda(); extern "C" int device() { return aoti_torch_device_type_cuda(); }'
    )
    options = linking.options("g++", GIVEN, str(tmp_path))
    subprocess.run(["g++", str(source), *options, "-o", str(tmp_path / "kernel.so")], check=True, capture_output=True)
    library = ctypes.CDLL(str(tmp_path / "kernel.so"))
    assert library.device() == ctypes.CDLL(f"{TORCH_LIB_PATH}/libtorch_cpu.so").aoti_torch_device_type_cuda() == 1


def test_the_libraries_are_empty_and_come_first(tmp_path):
    options = linking.options("g++", GIVEN, str(tmp_path))
    assert options.index(f"-L{tmp_path}/stand-ins") < options.index(f"-L{TORCH_LIB_PATH}")
    made = sorted((tmp_path / "stand-ins").iterdir())
    assert [path.name for path in made] == ["libtorch.so", "libtorch_cpu.so", "libtorch_python.so"]
    assert all(path.stat().st_size < 100_000 for path in made)
    before = [path.stat().st_mtime_ns for path in made]
    assert linking.options("g++", GIVEN, str(tmp_path)) == options
    assert [path.stat().st_mtime_ns for path in made] == before


def test_what_is_not_loaded_under_its_name_is_read_as_ever(tmp_path, monkeypatch):
    monkeypatch.setattr(linking, "_is_loaded", lambda library: False)
    assert linking.options("g++", GIVEN, str(tmp_path)) == list(GIVEN)
    assert list(tmp_path.iterdir()) == []


def test_whether_a_library_is_loaded():
    assert torch.__version__
    assert linking._is_loaded("libtorch_cpu.so")
    assert not linking._is_loaded("libtorch_missing.so")
    assert not linking._is_loaded("libbackend_with_compiler.so")  # it is there, and nothing loads it


def test_a_compiler_that_fails_is_said(tmp_path):
    with pytest.raises(subprocess.SubprocessError):
        linking.options("false", GIVEN, str(tmp_path))
