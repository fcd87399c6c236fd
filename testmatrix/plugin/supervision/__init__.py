"""Tests run in a forked process, so that what takes it down takes nothing else with it."""
