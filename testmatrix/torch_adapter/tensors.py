"""Values of tensors and NumPy arrays as hashes and bytes.

Reading runs none of the suite's code, and leaves nothing behind: no graph, no random numbers drawn.
"""

from __future__ import annotations

import hashlib
import weakref
from collections.abc import Callable
from typing import Any

import torch

_LIMIT_DIRECT = 16 * 1024  #: bytes up to which hashing costs less than finding out whether it is needed
_LIMIT_SAMPLED = 4 * 2**20  #: bytes past which a hash alone is one of a sample
_LIMIT_READ = 256 * 2**20  #: bytes past which values are never read as a whole: an expanded tensor may have no such memory
_SAMPLE = 64 * 1024  #: elements of a sample that stands for the values
_SAMPLE_MARK = 1024  #: elements by which a change behind the back of a tensor's version is noticed


def is_concrete(tensor: torch.Tensor) -> bool:
    """Whether a tensor has real values: not fake, not meta, not wrapped by a functional transform."""
    return tensor.device.type != "meta" and not is_fake(tensor)


def is_fake(tensor: torch.Tensor) -> bool:
    """Whether a tensor stands for one that does not exist, or not as such."""
    if torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        return True
    return type(tensor).__name__ in ("FakeTensor", "FunctionalTensor", "ProxyTensor")


def values_of(tensor: torch.Tensor, keep: Callable[[int], bool]) -> tuple[str, bytes | None]:
    """(hash, bytes) of the values in logical order; empty and None where they cannot be read.

    ``keep`` decides by their number whether the bytes are kept, too.
    """
    try:
        if not _can_be_read(tensor):
            return "", None
        with torch._C._DisableTorchDispatch():
            plain = tensor.detach()
            if size_of(plain) > _LIMIT_READ:
                return _sampled(plain), None
            raw = _array(plain).tobytes()
    except Exception:  # a subclass that does not allow one of these, or a device that is gone
        return "", None
    return hash_of(raw), raw if keep(len(raw)) else None


def size_of(tensor: torch.Tensor) -> int:
    """Bytes of the values in logical order."""
    return 0 if tensor.is_nested else tensor.numel() * tensor.element_size()


def hash_of(raw: Any) -> str:
    return hashlib.blake2b(raw, digest_size=12).hexdigest()


class Digests:
    """Hashes of tensors; one that has not changed since is not hashed again.

    A change is noticed by the tensor's version and, as compiled code, ``.data`` and NumPy write past it, by a sample of its
    elements. Hashes of samples start with ``~``: they compare with each other only.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[torch.Tensor], tuple[object, ...], str]] = {}

    def of(self, tensor: torch.Tensor) -> str:
        """The hash; empty where the values cannot be read."""
        try:
            if not _can_be_read(tensor):
                return ""
            with torch._C._DisableTorchDispatch():
                return self._of(tensor, tensor.detach())
        except Exception:
            return ""

    def _of(self, tensor: torch.Tensor, plain: torch.Tensor) -> str:
        size = size_of(plain)
        if size > _LIMIT_SAMPLED:
            return _sampled(plain)
        if size <= _LIMIT_DIRECT or plain.layout != torch.strided or plain.is_quantized or tensor.is_inference():
            return hash_of(_array(plain))
        sample = hash_of(_array(_sample(plain, _SAMPLE_MARK)))
        mark = (tensor._version, plain.data_ptr(), plain.shape, plain.stride(), sample)
        known = self._known.get(id(tensor))
        if known is not None and known[0]() is tensor and known[1] == mark:  # ids are used again
            return known[2]
        digest = hash_of(_array(plain))
        self._known[id(tensor)] = (weakref.ref(tensor), mark, digest)
        return digest


def _can_be_read(tensor: torch.Tensor) -> bool:
    """Whether there are values, and reading runs no code of the suite's.

    A subclass with operations of its own must have memory of its own.
    """
    if not is_concrete(tensor) or _is_capturing(tensor):
        return False
    if type(tensor).__torch_dispatch__ is torch.Tensor.__torch_dispatch__:
        return True
    return tensor.layout == torch.strided and tensor.untyped_storage().data_ptr() != 0  # raises for wrappers


def _is_capturing(tensor: torch.Tensor) -> bool:
    """Whether reading would break the capture of a CUDA graph."""
    return tensor.is_cuda and torch.cuda.is_current_stream_capturing()


def _array(plain: torch.Tensor) -> Any:
    """The values in logical order as a NumPy array of bytes."""
    if plain.is_nested or plain.layout != torch.strided:
        plain = plain.to_padded_tensor(0.0) if plain.is_nested else plain.to_dense()
    if plain.is_quantized:
        plain = plain.int_repr()
    if plain.is_conj() or plain.is_neg():
        plain = plain.resolve_conj().resolve_neg()
    return plain.cpu().contiguous().reshape(-1).view(torch.uint8).numpy()


def _sampled(plain: torch.Tensor) -> str:
    return f"~{hash_of(_array(_sample(plain, _SAMPLE)))}"


def _sample(plain: torch.Tensor, count: int) -> torch.Tensor:
    """About so many elements at equal distances, without a copy of the rest."""
    step = max(1, plain.numel() // count)
    if plain.is_contiguous():
        return plain.view(-1)[::step]
    places = torch.arange(0, plain.numel(), step, device=plain.device)
    return plain[torch.unravel_index(places, plain.shape)]
