"""From findings to what a person decides about: causes and their verdicts."""
