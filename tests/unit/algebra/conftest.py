"""Makes ``random_conditions`` importable, whatever the import mode, and says how many examples its properties get."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))
# ALGEBRA_EXAMPLES=50000 for a thorough run.
EXAMPLES = int(os.environ.get("ALGEBRA_EXAMPLES", "2000"))
settings.register_profile("algebra", deadline=None, max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow])
