"""Makes ``builders`` importable, whatever the import mode."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))
# The first example pays for importing torch and sympy.
settings.register_profile("compare", deadline=None)
settings.load_profile("compare")
