"""Every int, float and size that reached a compiled region: what became of it in each cell, and why."""
