"""The table of ints, floats and sizes, under the names by which a run asks for it."""

from testmatrix.compare.numbers.rows import number_rows as int_rows
from testmatrix.compare.numbers.specialised import specialised_numbers as specialised_ints

__all__ = ["int_rows", "specialised_ints"]
