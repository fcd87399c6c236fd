"""Builds through ccache: which commands are taken apart, and that whatever is not goes through as torch wrote it."""

import os
import shlex
import sys
from pathlib import Path

import pytest
import torch._inductor.cpp_builder
import torch._inductor.cpu_vec_isa

from testmatrix.torch_adapter import compiler

#: As torch writes it, shortened.
COMMAND = (
    "g++ /c/kf/ckf.main.cpp -D TORCH_HEADER -D  MACROS -O3 -g1 -march=native -shared -fPIC -std=c++20 -fopenmp"
    " -include /h/c3v.h -I/py/include -mfma -o /c/kf/ckf.main.so -ltorch -lgomp -L/py/lib"
)

#: Stands in for the compiler: writes its inputs and says what it was asked for.
FAKE = """#!/usr/bin/env python3
import os, sys
words = sys.argv[1:]
output = words[words.index("-o") + 1]
inputs = [word for word in words if word.endswith((".cpp", ".o")) and word != output]
content = "".join(open(name).read() for name in inputs)
with open({log!r}, "a") as stream:
    print(*(os.path.basename(word) for word in [*sys.argv[:1], *inputs, output]), file=stream)
if "broken" in content:
    sys.exit(1)
with open(output, "w") as stream:
    stream.write(content + "built\\n")
"""

CCACHE = """#!/bin/sh
echo "ccache $CCACHE_DIR $CCACHE_READONLY" >> {log}
exec "$@"
"""


@pytest.fixture
def tools(tmp_path, monkeypatch):
    """A compiler and a ccache on the path that write what they do to a log."""
    for name in [name for name in os.environ if name.startswith("CCACHE_")]:
        monkeypatch.delenv(name)
    log = tmp_path / "log"
    log.touch()
    (tmp_path / "bin").mkdir()
    for name, text in (("my-g++", FAKE), ("ccache", CCACHE)):
        path = tmp_path / "bin" / name
        path.write_text(text.format(log=str(log)))
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    return log


@pytest.fixture
def run_directory(tmp_path):
    path = tmp_path / "run"
    path.mkdir()
    return path


def build_in(cell, run, source="int x;\n", libraries="-ltorch -lgomp", output="k.main.so"):
    """What a cell has of a library after torch built it."""
    directory = cell / "xx"
    work = directory / "k_CxxBuild"
    work.mkdir(parents=True, exist_ok=True)
    (directory / "k.main.cpp").write_text(source)
    run(f"my-g++ {directory}/k.main.cpp -O3 -shared -fPIC -o {directory}/{output} {libraries}", str(work))
    return (directory / output).read_text()


def shared(directory):
    return compiler._through(compiler.SharedBuilds("ccache", str(directory)), torch._inductor.cpp_builder._run_compile_cmd)


def test_a_command_is_taken_apart():
    build = compiler.split(shlex.split(COMMAND))
    assert build is not None
    assert (build.compiler, build.source, build.output) == ("g++", "/c/kf/ckf.main.cpp", "/c/kf/ckf.main.so")
    assert shlex.join(build.compiling) == (
        "-D TORCH_HEADER -D MACROS -O3 -g1 -march=native -fPIC -std=c++20 -fopenmp -include /h/c3v.h -I/py/include -mfma"
    )
    assert {"-shared", "-fPIC", "-fopenmp", "-ltorch", "-lgomp", "-L/py/lib", "-march=native"} <= set(build.linking)


@pytest.mark.parametrize(
    "command",
    [
        COMMAND.replace("-shared", "-c"),
        COMMAND.replace("-shared", ""),
        COMMAND.replace("-o /c/kf/ckf.main.so", ""),
        COMMAND.replace("-o /c/kf/ckf.main.so", "") + " -o",
        f"{COMMAND} other.cpp",
        f"{COMMAND} other.o",
        f"{COMMAND} @options",
        f"{COMMAND} -flto=thin",
        f"{COMMAND} -MD",
        f"{COMMAND} --unknown value",
        COMMAND.replace(".cpp", ".o"),
        COMMAND.replace("/c/kf/ckf.main.cpp", "-x c++-header header.h"),
        "g++",
    ],
)
def test_doubtful_commands_are_not(command):
    assert compiler.split(shlex.split(command)) is None


def test_the_second_cell_copies_what_the_first_linked(tools, run_directory):
    run = shared(run_directory)
    assert build_in(run_directory / "one", run) == build_in(run_directory / "two", run) == "int x;\nbuilt\nbuilt\n"
    lines = [line for line in tools.read_text().splitlines() if "k.main" in line]
    assert lines == ["my-g++ k.main.cpp shared.o", "my-g++ shared.o k.main.so", "my-g++ k.main.cpp shared.o"]


def test_another_source_or_other_options_are_linked_anew(tools, run_directory):
    run = shared(run_directory)
    build_in(run_directory / "one", run)
    assert build_in(run_directory / "two", run, source="int y;\n") == "int y;\nbuilt\nbuilt\n"
    build_in(run_directory / "three", run, libraries="-ltorch -lgomp -Wl,-O1")
    assert tools.read_text().count("shared.o k.main.so") == 3


def test_what_links_other_libraries_is_not_copied(tools, run_directory):
    run = shared(run_directory)
    for cell in ("one", "two"):
        build_in(run_directory / cell, run, libraries="-lmine")
    assert tools.read_text().count("shared.o k.main.so") == 2
    assert not (run_directory / "linked").exists()


def test_only_so_many_are_kept(tools, run_directory, monkeypatch):
    monkeypatch.setattr(compiler, "_MOST_LINKED", 2)
    for number in range(4):
        build_in(run_directory / str(number), shared(run_directory), source=f"int x{number};\n")
    assert len(list((run_directory / "linked").iterdir())) == 2


def test_what_is_built_outside_of_the_cells_is_torchs_own_business(tools, run_directory, tmp_path):
    assert build_in(tmp_path / "elsewhere", shared(run_directory)) == "int x;\nbuilt\n"
    assert "ccache" not in tools.read_text()


def test_a_failed_build_fails_as_without(tools, run_directory):
    with pytest.raises(torch._inductor.exc.CppCompileError) as caught:
        build_in(run_directory / "one", shared(run_directory), source="broken\n")
    assert f"my-g++ {run_directory}/one/xx/k.main.cpp -O3 -shared" in str(caught.value)


def test_a_missing_ccache_is_done_without(tools, run_directory, tmp_path):
    run = compiler._through(
        compiler.SharedBuilds(str(tmp_path / "missing"), str(run_directory)), torch._inductor.cpp_builder._run_compile_cmd
    )
    assert build_in(run_directory / "one", run) == "int x;\nbuilt\n"


def test_the_runs_own_ccache_is_configured_by_nothing_else(tools, run_directory, monkeypatch):
    monkeypatch.setenv("CCACHE_READONLY", "1")
    build_in(run_directory / "one", shared(run_directory))
    assert f"ccache {run_directory}/ccache \n" in tools.read_text()
    monkeypatch.setenv("CCACHE_DIR", "/mine")
    build_in(run_directory / "two", shared(run_directory))
    assert "ccache /mine 1\n" in tools.read_text()


def test_ccache_is_found_and_can_be_switched_off(tools, monkeypatch):
    assert compiler.find_ccache() == str(tools.parent / "bin" / "ccache")
    monkeypatch.setenv("CCACHE_DISABLE", "1")
    assert compiler.find_ccache() is None
    monkeypatch.delenv("CCACHE_DISABLE")
    monkeypatch.setenv("PATH", "/nowhere")
    assert compiler.find_ccache() is None


def test_torch_builds_through_it_in_the_block_only(tools, run_directory):
    module = torch._inductor.cpp_builder
    before = module._run_compile_cmd
    with compiler.shared_builds(str(run_directory)):
        build_in(run_directory / "one", module.run_compile_cmd)
    assert "ccache" in tools.read_text()
    assert module._run_compile_cmd is before


def test_a_torch_that_builds_otherwise_is_left_alone(tools, tmp_path, monkeypatch):
    monkeypatch.delattr(torch._inductor.cpp_builder, "_run_compile_cmd")
    monkeypatch.delattr(torch._inductor.cpu_vec_isa.VecISA, "check_build")
    with compiler.shared_builds(str(tmp_path)), compiler.probes_elsewhere(None):
        assert not hasattr(torch._inductor.cpp_builder, "_run_compile_cmd")


@pytest.mark.parametrize("writable", [True, False])
def test_probes_of_the_processor_are_kept_elsewhere(monkeypatch, writable):
    seen = []

    def check_build(isa, code):
        seen.append(os.environ["TORCHINDUCTOR_CACHE_DIR"])
        if seen[-1] == "/bare" and not writable:
            raise PermissionError
        return True

    isa = torch._inductor.cpu_vec_isa.VecISA
    monkeypatch.setattr(isa, "check_build", check_build)
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "/cell")
    with compiler.probes_elsewhere("/bare"):
        assert isa.check_build(isa(), "code")
    assert seen == (["/bare"] if writable else ["/bare", "/cell"])
    assert os.environ["TORCHINDUCTOR_CACHE_DIR"] == "/cell"
    assert isa.check_build is check_build
