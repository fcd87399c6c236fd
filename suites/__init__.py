"""Ordinary test suites for programs under torch.compile."""
