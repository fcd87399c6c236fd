"""What is planted runs in a process of its own, with the plugin: much of it is meant to fail without."""

collect_ignore = ["planted"]
