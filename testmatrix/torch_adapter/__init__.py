"""The only code that touches torch's private names.

Importing this package imports no torch; its modules do, and are imported once a matrix run has started.
"""
