"""Sizes that are computed, and operators that take sizes, steps, strides and counts."""

import pytest
import torch
import torch.nn.functional as F

from .support import agree

BACKENDS = pytest.mark.parametrize("backend", ["eager", "aot_eager"])


def grid(rows, columns=6):
    return torch.arange(rows * columns, dtype=torch.float32).reshape(rows, columns)


def image(height, width=5):
    return torch.arange(height * width, dtype=torch.float32).reshape(1, 1, height, width)


@BACKENDS
def test_reshape_to_halves(backend):
    agree(lambda x: x.reshape(x.shape[0] * 2, x.shape[1] // 2), *map(grid, (2, 3, 4)), backend=backend)


@BACKENDS
def test_view_with_inferred_size(backend):
    agree(lambda x, n: x.view(n, -1) + n, *((grid(4), n) for n in (2, 3, 4)), backend=backend)


def test_unflatten():
    agree(lambda x, n: x.unflatten(1, (n, -1)), *((grid(2), n) for n in (2, 3, 6)))


def test_flatten_of_leading_sizes():
    agree(lambda x: x.unsqueeze(1).flatten(0, 1) * x.size(0), *map(grid, (2, 3, 5)))


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate"])
def test_pad(mode):
    agree(lambda x, n: F.pad(x, (n, 1), mode=mode), *((image(4)[0], n) for n in (1, 2, 3, 0)))


def test_pad_to_multiple():
    def step(x, multiple):
        return F.pad(x, (0, -x.shape[1] % multiple))

    agree(step, *((grid(2, columns), multiple) for columns, multiple in ((5, 4), (6, 4), (7, 3), (8, 4))))


def test_negative_pad():
    agree(lambda x, n: F.pad(x, (-n, 0)), *((grid(2), n) for n in (1, 2, 3)), backend="aot_eager")


@pytest.mark.parametrize("mode", ["nearest", "bilinear"])
def test_interpolate_size(mode):
    agree(lambda x, n: F.interpolate(x, size=(n, n + 1), mode=mode), *((image(4), n) for n in (3, 6, 7)))


def test_interpolate_factor():
    agree(lambda x, n: F.interpolate(x, scale_factor=n), *((image(size), n) for size, n in ((3, 2), (4, 3), (5, 2))))


def test_repeat_interleave():
    agree(lambda x, n: x.repeat_interleave(n, dim=0), *((grid(3), n) for n in (1, 2, 3)))


def test_repeat_and_tile():
    agree(lambda x, n: (x.repeat(n, 1), x.tile(n)), *((grid(2), n) for n in (2, 3, 4)), backend="aot_eager")


@BACKENDS
def test_as_strided(backend):
    agree(lambda x, n: x.as_strided((n, 2), (1, n)) + 1, *((grid(4), n) for n in (2, 3, 4)), backend=backend)


def test_overlapping_windows():
    def windows(x, width):
        return x.as_strided((x.numel() - width + 1, width), (1, 1))

    agree(windows, *((torch.arange(size), width) for size, width in ((6, 2), (7, 3), (8, 3))))


def test_arange():
    agree(lambda x, n: torch.arange(1, n * 3, n) + x, *((torch.ones(1), n) for n in (2, 3, 4)), backend="aot_eager")


def test_arange_over_a_size():
    agree(lambda x: x * torch.arange(x.shape[0], 0, -1)[:, None], *map(grid, (2, 3, 4)))


def test_full_and_zeros():
    agree(lambda x, n: (torch.full((n, 2), n), x.new_zeros(n, n)), *((grid(1), n) for n in (2, 3, 4)))


def test_one_hot():
    agree(lambda x, n: F.one_hot(x, n), *((torch.arange(4) % 3, n) for n in (3, 4, 5)))


@pytest.mark.parametrize("pool", [F.avg_pool2d, F.max_pool2d])
def test_pooling_window(pool):
    agree(lambda x, n: pool(x, n, stride=1), *((image(5), n) for n in (2, 3, 4)))


def test_pooling_over_sizes():
    agree(lambda x: F.avg_pool2d(x, 2, padding=1, ceil_mode=True), *map(image, (4, 5, 6)), backend="aot_eager")


def test_adaptive_pooling():
    agree(lambda x, n: F.adaptive_avg_pool2d(x, (n, 2)), *((image(6), n) for n in (2, 3, 4)))


@BACKENDS
def test_convolution_padding(backend):
    weight = torch.ones(1, 1, 3, 3)
    agree(lambda x, n: F.conv2d(x, weight, padding=n), *((image(4), n) for n in (1, 2, 3)), backend=backend)


def test_convolution_stride_and_dilation():
    weight = torch.ones(1, 1, 2, 2)
    agree(lambda x, n: F.conv2d(x, weight, stride=n, dilation=n), *((image(7, 7), n) for n in (1, 2, 3)))


def test_one_dimensional_convolution_same_size():
    def step(x, width):
        return F.conv1d(x, torch.ones(1, 1, width), padding=(width - 1) // 2)

    agree(step, *((torch.arange(9.0).reshape(1, 1, 9), width) for width in (3, 5, 7)))


def test_transposed_convolution_output_padding():
    weight = torch.ones(1, 1, 3, 3)
    agree(lambda x, n: F.conv_transpose2d(x, weight, stride=n, padding=1), *((image(3), n) for n in (2, 3, 4)))


def test_expand():
    agree(lambda x, n: x[:1].expand(n, -1) * n, *((grid(2), n) for n in (2, 3, 4)), backend="aot_eager")


def test_expand_as_other():
    agree(lambda x, y: x.expand_as(y) + y, *((grid(1), grid(n)) for n in (2, 3, 1)))


def test_split():
    agree(lambda x, n: list(x.split(n)), *((grid(6), n) for n in (2, 3, 4)))


def test_split_with_sizes():
    agree(lambda x, n: list(x.split([n, x.shape[0] - n])), *((grid(6), n) for n in (1, 2, 3)))


def test_chunk():
    agree(lambda x, n: list(x.chunk(n, dim=1)), *((grid(2, 7), n) for n in (2, 3, 4)))


def test_linspace():
    agree(lambda x, n: x + torch.linspace(0, n, n + 1).sum(), *((grid(1), n) for n in (2, 3, 4)))


def test_eye():
    agree(lambda x, n: x[:, :n] @ torch.eye(n), *((grid(2), n) for n in (2, 3, 4)))


@BACKENDS
def test_triangles(backend):
    agree(lambda x, n: (x.tril(n), x.triu(-n)), *((grid(4), n) for n in (0, 1, 2, -1)), backend=backend)


def test_diagonal():
    agree(lambda x, n: (x.diagonal(n), torch.diag_embed(x[0], n)), *((grid(3), n) for n in (0, 1, 2)))


def test_roll():
    agree(lambda x, n: x.roll((n, -n), (0, 1)), *((grid(3), n) for n in (1, 2, 3)))


def test_narrow():
    agree(lambda x, n: x.narrow(0, n, x.shape[0] - n), *((grid(5), n) for n in (1, 2, 3)))


def test_unfold():
    agree(lambda x, n: x.unfold(1, n, 2), *((grid(2), n) for n in (2, 3, 4)))


def test_unfold_image():
    agree(lambda x, n: F.unfold(x, n), *((image(5), n) for n in (2, 3, 4)))


def test_pixel_shuffle():
    agree(lambda x, n: F.pixel_shuffle(x, n), *((torch.arange(36.0).reshape(1, 36, 1, 1), n) for n in (2, 3, 6)))


def test_strided_slices():
    agree(lambda x, n: (x[::n], x[:, n::2], x[-n:]), *((grid(5), n) for n in (1, 2, 3)))


def test_ellipsis_and_none_index():
    agree(lambda x, n: x[..., None, :n] + n, *((grid(3), n) for n in (1, 2, 3)))


def test_integer_index():
    agree(lambda x, n: (x[n], x[-n, n]), *((grid(4), n) for n in (1, 2, 3)), backend="aot_eager")


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_reductions_along_dim(dim):
    agree(lambda x, dim: (x.mean(dim), x.argmax(dim), x.cumsum(dim)), *((grid(rows), dim) for rows in (2, 3, 4)))


def test_dim_varies():
    agree(lambda x, dim: x.softmax(dim).unsqueeze(dim), *((grid(3), dim) for dim in (0, 1, -1, -2)))


def test_topk_and_sort():
    agree(lambda x, n: (x.topk(n).values, x.kthvalue(n).values), *((grid(2), n) for n in (1, 2, 3)))


def test_cat_with_own_length():
    agree(lambda x: torch.cat([x, x.new_full((1, x.shape[1]), x.shape[0])]), *map(grid, (2, 3, 4)))


def test_broadcast_of_two_sizes():
    agree(
        lambda x, y: x[:, None] + y[None],
        *((torch.ones(a), torch.ones(b)) for a, b in ((2, 3), (3, 4), (4, 4), (1, 4))),
    )


def test_matmul_inner_size():
    agree(lambda x, y: x @ y / x.shape[-1], *((grid(2, n), grid(n, 3)) for n in (3, 4, 5)), backend="aot_eager")


def test_mean_by_hand():
    agree(lambda x: x.sum() / x.numel() + x.ndim * len(x), *map(grid, (2, 3, 4)))


def test_shape_returned():
    agree(lambda x: (x + 1, x.shape[0], list(x.shape), x.stride(0)), *map(grid, (2, 3, 4)))


def test_shape_unpacked():
    def step(x):
        batch, _, height, width = x.shape
        return x.reshape(batch, height * width).sum(-1) * (height + width)

    agree(step, *map(image, (3, 4, 5)))


def test_meshgrid():
    def step(x, n):
        rows, columns = torch.meshgrid(torch.arange(n), torch.arange(n + 1), indexing="ij")
        return x[0, 0] + rows * columns

    agree(step, *((grid(1), n) for n in (2, 3, 4)))


def test_einsum_head_split():
    def attend(x, heads):
        rows, columns = x.shape
        y = x.view(rows, heads, columns // heads)
        return torch.einsum("ihd,jhd->hij", y, y)

    agree(attend, *((grid(3), heads) for heads in (1, 2, 3)))


def test_bincount_minimum_length():
    agree(lambda x, n: torch.bincount(x, minlength=n), *((torch.tensor([0, 1, 1]), n) for n in (2, 3, 5)))
