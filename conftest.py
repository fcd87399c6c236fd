"""For the whole repository; ``suites/`` is run through it as well, so nothing here may touch a test."""

pytest_plugins = ["pytester"]
