"""Sizes, strides and offsets that differ from eager."""

import pytest
import torch
import torch.nn.functional as F


def test_indexed_by_a_size_comparison():
    def pick(x):
        return x + (3.0, 4.0)[x.size(0) > 5]

    fast = torch.compile(pick, backend="eager")
    for n in (5, 6, 8):
        torch.testing.assert_close(fast(torch.ones(n)), pick(torch.ones(n)))


def test_literal_among_sizes():
    def crop(x):
        return x[:1] if 6 in x.shape else x * 1

    fast = torch.compile(crop, backend="eager")
    for shape in ((3, 5), (3, 6), (6, 4), (5, 7)):
        assert fast(torch.ones(shape)).shape == crop(torch.ones(shape)).shape


def test_bytes_of_a_tensor():
    def footprint(x):
        return x + 1, x.nbytes

    fast = torch.compile(footprint, backend="eager")
    for n in (4, 6):
        assert fast(torch.ones(n, 2))[1] == footprint(torch.ones(n, 2))[1]


def test_shape_after_transposing_in_place():
    def turned(x):
        y = x * 2
        y.t_()
        return y.shape, y - 1

    fast = torch.compile(turned, backend="eager")
    for shape in ((2, 5), (3, 7)):
        assert tuple(fast(torch.ones(shape))[0]) == tuple(turned(torch.ones(shape))[0])


def test_layout_after_restriding_in_place():
    def restrided(n):
        y = torch.ones(30)
        y.as_strided_((2, n), (1, 3))
        return y.stride(), y + 1

    fast = torch.compile(restrided, backend="eager")
    for n in (4, 6):
        assert tuple(fast(n)[0]) == tuple(restrided(n)[0])


def test_nearest_keeps_an_unchanged_axis():
    def stretch(x):
        return F.interpolate(x, scale_factor=(1.2, 2.5), mode="nearest")

    x = torch.arange(16.0).reshape(1, 1, 4, 4)
    torch.testing.assert_close(torch.compile(stretch)(x), stretch(x))


def test_view_of_a_tail_keeps_its_offset():
    def advance(buffer, tail):
        buffer.mul_(3)
        return tail[1]

    fast = torch.compile(advance, backend="aot_eager")
    for rows in (5, 7):
        one, other = (torch.arange(rows * 4.0).reshape(rows, 4) for _ in range(2))
        got, want = fast(one, one[1:]), advance(other, other[1:])
        assert got.storage_offset() == want.storage_offset()


def test_marked_size_meets_a_constant_one():
    def blend(left, right):
        return (left + right) * left.shape[0]

    fast = torch.compile(blend, backend="eager")
    for n in (5, 9):
        left = torch.ones(n, 2)
        torch._dynamo.mark_dynamic(left, 0, min=2, max=12)
        torch.testing.assert_close(fast(left, torch.ones(n, 2)), blend(left, torch.ones(n, 2)))


def test_more_values_than_compiles():
    fast = torch.compile(lambda x, n: x - n, backend="eager", fullgraph=True)
    for n in range(3, 15):
        torch.testing.assert_close(fast(torch.ones(2), n), torch.ones(2) - n)


@pytest.mark.parametrize("length", [2, 5])
def test_member_of_a_range_is_a_truth_value(length):
    def found(x, n):
        return x * 2, 2 in range(n)

    assert torch.compile(found, backend="eager")(torch.ones(1), length)[1] is found(torch.ones(1), length)[1]
