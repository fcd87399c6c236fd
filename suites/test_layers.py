"""Modules in training and in evaluation, with numbers among their attributes and arguments."""

import copy
import unittest

import torch
import torch.nn.functional as F
from parameterized import parameterized, parameterized_class
from torch import nn

from .support import same


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(3, 4)

    def forward(self, x, steps):
        h = c = x.new_zeros(x.shape[0], 4)
        for _ in range(steps):
            h, c = self.cell(x, (h, c))
        return h + c


class Attention(nn.Module):
    def __init__(self, heads):
        super().__init__()
        self.heads = heads
        self.project = nn.Linear(8, 24)

    def forward(self, x, causal):
        batch, length, width = x.shape
        parts = self.project(x).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(*parts, is_causal=causal)
        return y.transpose(1, 2).reshape(batch, length, width)


class Scheduled(nn.Module):
    """Counts its calls in a plain attribute and in a buffer."""

    def __init__(self):
        super().__init__()
        self.calls = 0
        self.register_buffer("seen", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        self.calls += 1
        self.seen += x.shape[0]
        return x * self.calls + self.seen


class Mixture(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList(nn.Linear(3, 3) for _ in range(3))

    def forward(self, x, n):
        for i, part in enumerate(self.parts):
            if i < n:
                x = part(x) * (i + 1)
        return self.parts[n % 3](x)


class Positional(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(10, 4)

    def forward(self, x, offset):
        return x + self.table(torch.arange(offset, offset + x.shape[0]))


@parameterized_class(
    ("training", "backend"),
    [(True, "eager"), (False, "eager"), (True, "aot_eager"), (False, "aot_eager")],
)
class TestTrainAndEval(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)

    def check(self, module, *calls):
        ours = copy.deepcopy(module).train(self.training)
        theirs = copy.deepcopy(module).train(self.training)
        fast = torch.compile(ours, backend=self.backend)
        for args in calls:
            torch.manual_seed(1)
            got = fast(*args)
            torch.manual_seed(1)
            same(got, theirs(*args))
        same(dict(ours.state_dict()), dict(theirs.state_dict()))
        return ours

    def test_linear_and_dropout(self):
        module = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.ReLU())
        self.check(module, *((torch.ones(rows, 4),) for rows in (2, 3, 4)))

    def test_batch_norm_buffers(self):
        ours = self.check(nn.BatchNorm1d(3), *((torch.randn(rows, 3),) for rows in (2, 3, 4)))
        self.assertEqual(ours.num_batches_tracked.item(), 3 if self.training else 0)

    def test_convolution(self):
        self.check(nn.Conv2d(1, 2, 3, padding=1), *((torch.randn(1, 1, size, 5),) for size in (4, 5, 6)))

    def test_attention(self):
        self.check(
            Attention(2),
            *((torch.randn(2, length, 8), causal) for length, causal in ((3, True), (4, False), (5, True))),
        )

    def test_call_counter(self):
        ours = self.check(Scheduled(), *((torch.ones(rows),) for rows in (2, 3, 4)))
        self.assertEqual(ours.calls, 3)


class TestLayers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        torch.manual_seed(0)
        cls.recurrent = Recurrent().eval()
        cls.positional = Positional()

    def check(self, module, *calls, backend="eager"):
        fast = torch.compile(module, backend=backend)
        for args in calls:
            same(fast(*args), module(*args))

    def test_recurrent_steps(self):
        self.check(self.recurrent, *((torch.ones(2, 3), steps) for steps in (1, 2, 3)))

    def test_recurrent_batches(self):
        self.check(self.recurrent, *((torch.ones(rows, 3), 2) for rows in (2, 3, 4)), backend="aot_eager")

    def test_embedding_with_offset(self):
        self.check(self.positional, *((torch.ones(3, 4), offset) for offset in (0, 1, 4, 6)))

    def test_embedding_bag(self):
        module = nn.EmbeddingBag(10, 3, mode="sum")
        self.check(module, *((torch.arange(n * 2).view(2, n),) for n in (2, 3, 4)))

    def test_module_list_indexed(self):
        self.check(Mixture(), *((torch.ones(2, 3), n) for n in (0, 1, 2, 3)))

    @parameterized.expand([("layer", nn.LayerNorm(4)), ("group", nn.GroupNorm(2, 4)), ("rms", nn.RMSNorm(4))])
    def test_normalisation(self, _name, module):
        self.check(module, *((torch.arange(rows * 4.0).view(rows, 4),) for rows in (2, 3, 4)), backend="aot_eager")

    def test_attributes_changed_between_calls(self):
        module = Attention(2)
        fast = torch.compile(module, backend="eager")
        for heads in (2, 4, 8):
            module.heads = heads
            same(fast(torch.ones(1, 3, 8), False), module(torch.ones(1, 3, 8), False))

    def test_several_instances(self):
        for heads in (1, 2, 4):
            with self.subTest(heads=heads):
                self.check(Attention(heads), (torch.ones(1, 3, 8), True))

    def test_mode_switched(self):
        module = nn.Dropout(0.5)
        fast = torch.compile(module, backend="eager")
        x = torch.ones(50)
        for training in (True, False, True, False):
            fast.train(training)
            self.assertEqual(bool((fast(x) == 0).any()), training)

    def test_state_loaded_between_calls(self):
        module = nn.Linear(3, 2)
        fast = torch.compile(module, backend="aot_eager")
        for value in (1, 2, 3):
            module.load_state_dict({"weight": torch.full((2, 3), float(value)), "bias": torch.zeros(2)})
            same(fast(torch.ones(1, 3)).detach(), torch.full((1, 2), 3.0 * value))

    def test_state_of_compiled_module(self):
        module = nn.Linear(3, 2)
        fast = torch.compile(module, backend="eager")
        for rows in (2, 3, 4):
            same(fast(torch.ones(rows, 3)), module(torch.ones(rows, 3)))
        self.assertEqual({key.removeprefix("_orig_mod.") for key in fast.state_dict()}, {"weight", "bias"})

    def test_forward_hooks(self):
        module = nn.Linear(3, 2)
        before = module.register_forward_pre_hook(lambda _module, args: (args[0] * 2,))
        self.addCleanup(before.remove)
        after = module.register_forward_hook(lambda _module, args, result: result + args[0].shape[0])
        self.addCleanup(after.remove)
        self.check(module, *((torch.ones(rows, 3),) for rows in (2, 3, 4)))

    def test_parameter_made_of_other_size(self):
        module = nn.Linear(3, 2)
        fast = torch.compile(module, backend="eager")
        for size in (2, 3, 4):
            module.weight = nn.Parameter(torch.ones(size, 3))
            module.bias = nn.Parameter(torch.zeros(size))
            same(fast(torch.ones(1, 3)), module(torch.ones(1, 3)))

    def test_functional_call(self):
        module = nn.Linear(3, 2)

        def step(weight, x):
            return torch.func.functional_call(module, {"weight": weight}, (x,))

        fast = torch.compile(step, backend="eager")
        for n in (2, 3, 4):
            weight, x = torch.full((2, 3), float(n)), torch.ones(n, 3)
            same(fast(weight, x), step(weight, x))
