"""Everything known about one finding or cause, as lines. Pure."""
