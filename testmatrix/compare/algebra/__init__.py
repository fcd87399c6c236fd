"""Conditions on numbers: read, brought to a normal form, related to each other with a witness. Knows nothing of guards."""
