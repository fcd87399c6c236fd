"""The ``testmatrix`` command, one file a subcommand."""
