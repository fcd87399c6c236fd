"""Shards that were really run, put together: what one run over the whole suite reports."""

import msgspec
from click.testing import CliRunner

from testmatrix.cli.main import main
from testmatrix.report.model import decode, encode

SOURCE = """
def is_compiling_unspecialized():
    return torch.compiler.is_compiling() and not torch._dynamo.config.specialize_int

@pytest.mark.parametrize("n", range(4))
def test_adds(n):
    add = compiled(lambda x, n: x + n)
    for each in (n, n + 3):
        assert add(torch.ones(3), each)[0] == 1 + each

@pytest.mark.parametrize("name", ["z", "a", "m"])
def test_wrong_where_ints_are_symbols(name):
    shift = compiled(lambda x, n: x + n + 1 if is_compiling_unspecialized() else x + n)
    shift(torch.ones(2), 5)

def test_loops():
    repeat = compiled(lambda x, n: sum(x for _ in range(n)))
    repeat(torch.ones(2), 3)
    repeat(torch.ones(2), 4)

def test_fails_where_ints_are_symbols():
    compiled(lambda x, n: x * n)(torch.ones(2), 7)
    assert torch.compiler.is_compiling() or torch._dynamo.config.specialize_int

def test_compiles_nothing():
    pass
"""
TOTAL = 3


def merge(*arguments):
    result = CliRunner().invoke(main, ["merge", *map(str, arguments)])
    return result, decode(result.stdout_bytes)


def normalised(report):
    """A report without times."""
    replaced = msgspec.structs.replace
    tests = [
        replaced(test, cells={cell: replaced(result, duration=0.0) for cell, result in test.cells.items()})
        for test in report.tests
    ]
    run, summary = replaced(report.run, id="", started=""), replaced(report.summary, wall=0.0)
    return replaced(report, run=run, summary=summary, tests=tuple(tests))


def test_all_shards_are_the_whole(matrix, pytester):
    whole = matrix(SOURCE, "--testmatrix-store=off").read
    assert {"outcome", "output.value", "guard.specialized"} <= {finding.kind for finding in whole.findings}
    assert any(len(cause.findings) > 1 for cause in whole.causes)
    paths = []
    for number in range(1, TOTAL + 1):
        shard = matrix(SOURCE, f"--testmatrix-shard={number}/{TOTAL}").read
        assert 0 < len(shard.tests) < len(whole.tests)
        paths.append(pytester.path / f"shard-{number}.json")
        paths[-1].write_bytes(encode(shard))

    result, merged = merge(*reversed(paths), paths[0])
    assert encode(normalised(merged)) == encode(normalised(whole))
    assert (result.exit_code, result.stderr) == (1, "")

    folders = list((pytester.path / ".testmatrix" / "runs").iterdir())
    assert len(folders) == TOTAL
    for results in (folders, [*paths[:2], *folders]):  # journals, and reports together with the journals of the same runs
        result, merged = merge(*results)
        assert encode(normalised(merged)) == encode(normalised(whole))
        assert (result.exit_code, result.stderr) == (1, "")

    result, merged = merge(paths[0], paths[2])
    assert (result.exit_code, result.stderr) == (1, f"testmatrix: shard 2/{TOTAL} is missing\n")
    known = {finding.id: finding for finding in whole.findings}
    assert 0 < len(merged.findings) < len(known)
    assert all(known[finding.id] == finding for finding in merged.findings)
