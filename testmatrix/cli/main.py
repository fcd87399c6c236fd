"""The ``testmatrix`` command: its subcommands, and what its errors look like."""

from __future__ import annotations

import click

from testmatrix import __version__
from testmatrix.cli.config import config
from testmatrix.cli.doctor import doctor
from testmatrix.cli.merge import merge
from testmatrix.cli.report import report
from testmatrix.cli.run import run
from testmatrix.cli.shard import shard
from testmatrix.cli.show import show
from testmatrix.errors import EnvironmentUnusable, TestmatrixError

USAGE_STATUS = 2
ENVIRONMENT_STATUS = 3


class _Commands(click.Group):
    """A group whose commands may raise any TestmatrixError: one line on stderr and an exit status, never a traceback."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except TestmatrixError as error:
            click.echo(f"testmatrix: {error}", err=True)
            ctx.exit(ENVIRONMENT_STATUS if isinstance(error, EnvironmentUnusable) else USAGE_STATUS)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="testmatrix")
def main() -> None:
    """Rerun a test suite over torch.compile's settings and compare what comes out.

    Exit status: 0 clean, 1 findings or failures, 2 usage, 3 the environment.
    """


for _command in (config, doctor, merge, report, run, shard, show):
    main.add_command(_command)
