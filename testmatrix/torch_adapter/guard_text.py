"""Guard code as text that is the same in every process."""

from __future__ import annotations

import hashlib
import re

#: Hooks are kept by the number of their handle, which counts up through the process.
_HOOK_HANDLE = re.compile(r"___dict_contains\(\d+, (?=[^()]*hooks)")
_VERSION = re.compile(r"(?P<call>___dict_version\(.*\)) == \d+")
_ID = re.compile(r"\b(?:\d{7,}|0x[0-9a-f]+)\b")
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]+\b")
#: Globals that Dynamo installs, numbered by process or named by the id of what they hold and by the compile.
_COMPILED_NAMES = re.compile(r"__builtins_dict___\d+|__compiled_fn_\d+\w*|___\w+?_\d+(?=')|(?:_\d{7,})+_c\d+\b")


def plain(code: str) -> str:
    """Guard code without its comment, ids, addresses and names that Dynamo numbers by compile."""
    text = without_comment(code)
    text = _VERSION.sub(r"\g<call> == N", _HOOK_HANDLE.sub("___dict_contains(N, ", text))
    return _ID.sub("N", _COMPILED_NAMES.sub(lambda match: re.sub(r"\d+", "N", match.group()), text))


def without_comment(code: str) -> str:
    """Guard code without the place in the user's code that torch puts behind it."""
    return code.split("  #", 1)[0].rstrip()


def without_addresses(text: str) -> str:
    """The text of a constant: its numbers are its own, but for addresses."""
    return _ADDRESS.sub("0x…", text)


def shortened(text: str, limit: int) -> str:
    """A text that is not too long to keep; two that differ further on still differ."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… ({hashlib.blake2b(text.encode(errors='replace'), digest_size=8).hexdigest()})"
