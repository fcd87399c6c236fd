"""Torch's sympy expressions as text from which they can be read back without loss.

``str`` rounds floats to 15 digits and writes torch's integer division as ``(a//b)``, which cannot be told from a division whose
rounding differs. Here a function is always ``Name(arguments)``, and a float what Python's ``repr`` writes.
"""

from __future__ import annotations

from typing import Any

from sympy.printing.str import StrPrinter


class _Printer(StrPrinter):  # type: ignore[misc]
    #: Functions' own ways of writing themselves are passed over.
    printmethod = None

    def _print_Float(self, expression: Any) -> str:
        return repr(float(expression))

    def _print_Identity(self, expression: Any) -> str:
        return f"({self._print(expression.args[0])})"

    def _print_IntInfinity(self, expression: Any) -> str:
        return "int_oo"

    def _print_NegativeIntInfinity(self, expression: Any) -> str:
        return "-int_oo"

    def _print_SingletonInt(self, expression: Any) -> str:
        return NESTED  # torch numbers them through the process


#: The size of a dimension that has no one size, in nested tensors.
NESTED = "nested"


def text_of(expression: Any) -> str:
    return str(_Printer().doprint(expression))


def bound_of(value: Any) -> str:
    """A bound of a range; ``oo`` and ``-oo`` where there is none."""
    return text_of(value).replace("int_oo", "oo")
