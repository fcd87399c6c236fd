"""Every test starts without compiled code and from the same random state."""

import random

import numpy as np
import pytest
import torch


@pytest.fixture(autouse=True)
def fresh_compiler():
    # Tests share code objects, and a code object that was compiled too often is no longer compiled at all.
    torch._dynamo.reset()


@pytest.fixture(autouse=True)
def fixed_seeds():
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
