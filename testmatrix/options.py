"""Every option of a matrix run, in one table.

:data:`OPTIONS` is behind the command line flags, the environment variables, the ini keys, ``--help`` and the reference
documentation. A new option is an entry here and a field of :class:`Options`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from testmatrix.errors import UsageError, nearest
from testmatrix.shards.shard import Shard, parse_shard

Severity = Literal["error", "warning", "info"]
#: What a flag, a variable or an ini key holds; None where it is not given.
Given = str | bool | None

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")

#: Every kind of finding, as the reference documentation lists them.
FINDING_KINDS: tuple[str, ...] = (
    "outcome",
    "outcome.count",
    "output.value",
    "output.dtype",
    "output.shape",
    "output.stride",
    "output.device",
    "output.type",
    "output.alias",
    "output.grad",
    "mutation",
    "guard.missing",
    "guard.extra",
    "guard.specialized",
    "compile.count",
    "compile.break",
    "compile.limit",
    "compile.none",
    "probe.output",
    "probe.exception",
    "probe.mutation",
    "crash",
    "timeout",
)

#: Families: the part of a kind before the dot, where that is no kind itself.
FINDING_FAMILIES: tuple[str, ...] = tuple(
    dict.fromkeys(kind.partition(".")[0] for kind in FINDING_KINDS if kind.partition(".")[0] not in FINDING_KINDS)
)

#: Where runs are kept, in the root directory, and the word for nowhere.
STORE = ".testmatrix"
NO_STORE: Literal["off"] = "off"

#: Where a process that lists tests writes them.
LISTING_VARIABLE = "TESTMATRIX_LISTING"

#: Variables that the package itself sets for its child processes: not options, and not refused as unknown ones.
INTERNAL_ENVIRONMENT: frozenset[str] = frozenset({LISTING_VARIABLE})


@dataclass(frozen=True, slots=True)
class Source:
    """Where an option's value came from."""

    label: str  #: ``--testmatrix-grid``, ``environment TESTMATRIX_GRID``, ``ini testmatrix_grid`` or ``default``
    text: str  #: the value as it was written there


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of one run, parsed. Grid, cells and backend are text still: they need the project's axes."""

    enabled: bool = False
    grid: str = "default"
    cells: str = ""  #: empty: all
    backend: str = ""  #: empty: not varied
    oracle: bool = True
    control: bool = True
    collapse: bool = True
    json: Path | None = None
    fail_on: frozenset[str] = frozenset({"error"})  #: kinds, families and severities
    max_kept: int = 256 * 2**20  #: bytes
    config: Path | None = None
    shard: Shard | Literal["auto"] | None = None  #: None: all tests; ``auto``: what the CI system says
    durations: Path | None = None
    store: Path | Literal["off"] | None = None  #: None: in the root directory
    resume: bool = False
    timeout: float = 600.0  #: seconds; 0: none
    supervise: bool = True
    sources: Mapping[str, Source] = field(default_factory=dict, compare=False)  #: by field

    def fails(self, kind: str, severity: Severity) -> bool:
        """Whether a finding of that kind and severity makes the run fail."""
        family = kind.partition(".")[0]
        return kind in self.fail_on or severity in self.fail_on or (family in FINDING_FAMILIES and family in self.fail_on)

    def store_in(self, rootdir: Path) -> Path | None:
        """The folder in which runs are kept; None where they are not."""
        return None if self.store == NO_STORE else self.store or rootdir / STORE

    def located(self, name: str, error: UsageError) -> UsageError:
        """The error with the place where the option ``name`` was given in front of it."""
        source = self.sources.get(name)
        return error if source is None or source.label == "default" else UsageError(f"{source.label}: {error}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option. Its names are made from its field's: ``max_kept`` is ``--testmatrix-max-kept`` and so on."""

    field: str  #: of :class:`Options`
    parse: Callable[[str], object]  #: raises UsageError that says what is wrong with the text, not where it was given
    default: str  #: as text
    metavar: str
    help: str
    switch: bool = False  #: the flag takes no value
    boolean: bool = False
    path: bool = False  #: relative to the root directory where it is an ini value, to the current one elsewhere

    @property
    def suffix(self) -> str:
        """What follows ``testmatrix`` in its names; the switch has none."""
        return "" if self.field == "enabled" else f"_{self.field}"

    @property
    def flag(self) -> str:
        return f"--testmatrix{self.suffix.replace('_', '-')}"

    @property
    def ini(self) -> str:
        """Also the flag's attribute in the parsed command line."""
        return f"testmatrix{self.suffix}"

    @property
    def environment(self) -> str:
        return f"TESTMATRIX{self.suffix.upper()}"


def _parse_text(text: str) -> str:
    if not text.strip():
        raise UsageError("the value is empty")
    return text.strip()


def _parse_switch(text: str) -> bool:
    if text.strip().lower() in {"on", "true", "yes", "1"}:
        return True
    if text.strip().lower() in {"off", "false", "no", "0"}:
        return False
    raise UsageError(f"{text!r} is neither 'on' nor 'off'")


def _parse_path(text: str) -> Path:
    return Path(_parse_text(text)).expanduser()


def _parse_store(text: str) -> Path | Literal["off"]:
    return NO_STORE if text.strip() == NO_STORE else _parse_path(text)


_UNITS = {"": 1, "b": 1, "kib": 2**10, "mib": 2**20, "gib": 2**30, "kb": 10**3, "mb": 10**6, "gb": 10**9}


def _parse_bytes(text: str) -> int:
    match = re.fullmatch(r"(\d+)\s*([a-z]*)", text.strip().lower(), re.ASCII)
    if match is None or match[2] not in _UNITS:
        raise UsageError(f"{text!r} is no number of bytes: write 1048576, 64MiB or 1GiB")
    return int(match[1]) * _UNITS[match[2]]


_SECONDS = {"": 1, "s": 1, "min": 60, "m": 60, "h": 3600}


def _parse_seconds(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]*)", text.strip().lower(), re.ASCII)
    if match is None or match[2] not in _SECONDS:
        raise UsageError(f"{text!r} is no number of seconds: write 90, 1.5s, 10min or 1h")
    return float(match[1]) * _SECONDS[match[2]]


def _parse_fail_on(text: str) -> frozenset[str]:
    words = [word.strip() for word in text.split(",")]
    valid = (*SEVERITIES, *FINDING_KINDS, *FINDING_FAMILIES)
    if words == ["none"]:
        return frozenset()
    for word in words:
        if word == "none":
            raise UsageError("'none' stands alone: it names no kind")
        if not word:
            raise UsageError(f"empty kind in {text!r}")
        if word not in valid:
            raise UsageError(f"unknown kind or severity {word!r}: {nearest(word, valid)}")
    return frozenset(words)


OPTIONS: tuple[Option, ...] = (
    Option(
        field="enabled",
        parse=_parse_switch,
        default="off",
        metavar="on|off",
        switch=True,
        boolean=True,
        help="run every test in every cell of the grid, compare what the cells did and say what differs; without it, a run is "
        "plain pytest",
    ),
    Option(
        field="grid",
        parse=_parse_text,
        default="default",
        metavar="GRID",
        help="what to vary: axes with their values, as in 'shapes=static,dynamic ints=unspecialize', the name of a preset, or a "
        "preset and further axes; axes left out are not varied",
    ),
    Option(
        field="cells",
        parse=_parse_text,
        default="",
        metavar="CELLS",
        help="run only these cells of the grid: names and patterns (*, ?, [...]) separated by commas, as in "
        "'dynamic-unspecialize' or 'static-*' (default: all)",
    ),
    Option(
        field="backend",
        parse=_parse_text,
        default="",
        metavar="NAMES",
        help="short for the axis 'backend' in the grid: eager, aot_eager, inductor, separated by commas (default: what the "
        "suite uses)",
    ),
    Option(
        field="oracle",
        parse=_parse_switch,
        default="on",
        metavar="on|off",
        boolean=True,
        help="run every test with compilation off, too, and compare the cells with that; off: with each other only",
    ),
    Option(
        field="control",
        parse=_parse_switch,
        default="on",
        metavar="on|off",
        boolean=True,
        help="before a finding is reported, run its cell and what it was compared with once more: what does not repeat is "
        "reported as unstable",
    ),
    Option(
        field="collapse",
        parse=_parse_switch,
        default="on",
        metavar="on|off",
        boolean=True,
        help="do not run a cell whose settings, as far as they differ from those of a cell that was run, that cell never "
        "consulted: it could not differ; off: run every test in every cell",
    ),
    Option(
        field="json",
        parse=_parse_path,
        default="",
        metavar="PATH",
        path=True,
        help="write the report to this file, as JSON (default: none is written)",
    ),
    Option(
        field="fail_on",
        parse=_parse_fail_on,
        default="error",
        metavar="KINDS",
        help="findings that make the run fail: severities (error, warning, info), kinds (output.dtype) and families of kinds "
        "(output, guard, compile, probe), separated by commas, or 'none'",
    ),
    Option(
        field="max_kept",
        parse=_parse_bytes,
        default="256MiB",
        metavar="BYTES",
        help="how much of tensors' values is kept for comparing, for each test in each cell; beyond it values are compared by "
        "hash alone; takes units: 64MiB, 1GiB",
    ),
    Option(
        field="config",
        parse=_parse_path,
        default="",
        metavar="PATH",
        path=True,
        help="the project's own axes and presets (default: testmatrix.toml in the root directory, or else [tool.testmatrix] in "
        "its pyproject.toml)",
    ),
    Option(
        field="shard",
        parse=parse_shard,
        default="",
        metavar="K/N",
        help="run the K-th of N parts of the suite and deselect the rest, each test being in exactly one part; 'auto' takes K "
        "and N from the variables of GitLab, CircleCI or Buildkite (default: all tests)",
    ),
    Option(
        field="durations",
        parse=_parse_path,
        default="",
        metavar="PATH",
        path=True,
        help="how long tests took, so that shards take equally long: the JSON report of an earlier run, or a file that "
        "'testmatrix shard durations' wrote; the same one in all shards (default: none, shards have equally many tests); with "
        "-n, long tests begin first",
    ),
    Option(
        field="store",
        parse=_parse_store,
        default="",
        metavar="PATH",
        path=True,
        help=f"folder in which each run writes down what its tests show, as they end; '{NO_STORE}': nowhere (default: {STORE} in "
        "the root directory)",
    ),
    Option(
        field="resume",
        parse=_parse_switch,
        default="off",
        metavar="on|off",
        switch=True,
        boolean=True,
        help="go on with the last run over the same cells that the store has: run only the tests that it has not done, and "
        "report on both together",
    ),
    Option(
        field="timeout",
        parse=_parse_seconds,
        default="600",
        metavar="SECONDS",
        help="how long a test may take in one cell: after that its process is ended, the cell is reported as a timeout, and the "
        "run goes on; takes units: 90s, 10min, 1h; 0: as long as it likes",
    ),
    Option(
        field="supervise",
        parse=_parse_switch,
        default="on",
        metavar="on|off",
        boolean=True,
        help="run the tests in a forked process, so that a crash, or a test that never ends, is that cell's result and the run "
        "goes on; off: run them in pytest's own process, as --pdb and --trace do, and systems that cannot fork safely (macOS, "
        "Windows)",
    ),
)


class AddOption(Protocol):
    """pytest's ``OptionGroup.addoption``."""

    def __call__(self, *opts: str, **attrs: Any) -> object: ...


class AddIni(Protocol):
    """pytest's ``Parser.addini``."""

    def __call__(self, name: str, help: str, type: Literal["string", "bool"], default: Any) -> object: ...


def add_to_parser(add_option: AddOption, add_ini: AddIni) -> None:
    """Declare all flags and ini keys. None of them has a default there, so that :func:`resolve` sees what was given."""
    for option in OPTIONS:
        # A help text says itself what an empty default means.
        default = f" (default: {option.default})" if option.default and not option.switch else ""
        text = option.help + default
        if option.switch:
            add_option(option.flag, dest=option.ini, action="store_true", default=None, help=text)
        else:
            add_option(option.flag, dest=option.ini, action="store", default=None, metavar=option.metavar, help=text)
        add_ini(option.ini, f"as {option.flag}", type="bool" if option.boolean else "string", default=None)


def read_ini(getini: Callable[[str], Any], present: Iterable[str] = ()) -> dict[str, Given]:
    """The ini values for :func:`resolve`, through pytest's ``Config.getini``.

    ``present`` are all keys of the ini file, so that :func:`resolve` can refuse those that look like ours and are not.
    """
    values: dict[str, Given] = {option.ini: getini(option.ini) for option in OPTIONS}
    return {**{name: "" for name in present if re.match(r"testmatrix(_|\b)", name)}, **values}


def resolve(
    flags: Mapping[str, Any], environ: Mapping[str, str], ini: Mapping[str, Given], rootdir: Path | None = None
) -> Options:
    """What each option is: its flag, or else its variable, or else its ini key, or else its default.

    ``flags`` and ``ini`` are keyed by ``testmatrix_grid`` and so on; of ``flags``, other keys are ignored, so that
    ``vars(config.option)`` will do. Empty variables and ini values count as not given; an empty flag is an error. Raises
    UsageError that begins with where the value was given, also for variables and ini keys that look like ours and are not.
    """
    _refuse_unknown("environment variable", environ, "TESTMATRIX_", {o.environment for o in OPTIONS} | INTERNAL_ENVIRONMENT)
    _refuse_unknown("ini key", ini, "testmatrix", {o.ini for o in OPTIONS})
    values: dict[str, Any] = {}
    sources: dict[str, Source] = {}
    for option in OPTIONS:
        source = _source(option, flags.get(option.ini), environ.get(option.environment), ini.get(option.ini))
        sources[option.field] = source
        if source.label == "default":
            if option.default:  # an empty default is the field's own
                values[option.field] = option.parse(option.default)
            continue
        try:
            value = option.parse(source.text)
        except UsageError as error:
            raise UsageError(f"{source.label}: {error}") from None
        if isinstance(value, Path) and rootdir is not None and source.label.startswith("ini "):
            value = rootdir / value
        values[option.field] = value
    return Options(**values, sources=sources)


def is_enabled(flags: Mapping[str, Any], environ: Mapping[str, str], ini: Mapping[str, Given]) -> bool:
    """Whether this is a matrix run, looking at nothing else: a plain run is not stopped by a misspelt option of ours.

    Raises UsageError where the switch itself cannot be read.
    """
    switch = OPTIONS[0]
    source = _source(switch, flags.get(switch.ini), environ.get(switch.environment), ini.get(switch.ini))
    try:
        return bool(switch.parse(source.text))
    except UsageError as error:
        raise UsageError(f"{source.label}: {error}") from None


def _source(option: Option, flag: Given, variable: Given, ini: Given) -> Source:
    """The first of the three that is given."""
    candidates = (
        (option.flag, flag, flag is not None),
        (f"environment {option.environment}", variable, bool(variable)),
        (f"ini {option.ini}", ini, ini is not None and ini != ""),
    )
    for label, value, given in candidates:
        if given:
            return Source(label, {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value))
    return Source("default", option.default)


def _refuse_unknown(what: str, names: Iterable[str], prefix: str, known: Iterable[str]) -> None:
    for name in sorted(names):
        if name.startswith(prefix) and name not in known:
            raise UsageError(f"unknown {what} {name}: {nearest(name, known)}")
