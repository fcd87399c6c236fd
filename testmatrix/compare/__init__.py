"""Observation × observation → findings. Pure: no clocks, no files, no state."""
