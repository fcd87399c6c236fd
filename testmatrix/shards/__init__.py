"""Splitting one run over several machines: who runs which test. Pure: no torch, no pytest."""
