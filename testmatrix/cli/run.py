"""``testmatrix run``: a matrix run of pytest."""

from __future__ import annotations

import subprocess
import sys

import click

#: By pytest's own status. Its 2 is an interruption, which collection errors are, too; 5 is that no test was collected.
_STATUS = {0: 0, 1: 1, 2: 1, 3: 3, 4: 2, 5: 2}


@click.command(context_settings={"ignore_unknown_options": True, "help_option_names": ["--help"]})
@click.argument("pytest_args", nargs=-1, type=click.UNPROCESSED, metavar="[PYTEST ARGS]...")
@click.pass_context
def run(ctx: click.Context, pytest_args: tuple[str, ...]) -> None:
    """Run pytest with --testmatrix; all arguments are pytest's.

    Exit status: 0 clean, 1 findings or failures, 2 usage or no test collected, 3 the environment or an internal error.
    """
    status = subprocess.call([sys.executable, "-m", "pytest", "--testmatrix", *pytest_args])
    # Anything else is a signal or a status that a plugin made up.
    ctx.exit(_STATUS.get(status, 3))
