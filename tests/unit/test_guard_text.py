"""Guard code as it is recorded: nothing in it differs by process or by how many compiles came before."""

from __future__ import annotations

import pytest

from testmatrix.torch_adapter.guard_text import plain


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("G['_139714016116016_c3'].Tensor", "G['_N_cN'].Tensor"),
        ("list(dict.keys(D))[1] is G['module_139714016116016_c12'].Tensor", "list(dict.keys(D))[1] is G['module_N_cN'].Tensor"),
        ("G['__optimizer_140205809721808_140205813164048_c40']()", "G['__optimizer_N_N_cN']()"),
        ("G['__builtins_dict___7']['len']", "G['__builtins_dict___N']['len']"),
        ("___check_obj_id(L['f'], 94224684730672)  # user.py:3 in f", "___check_obj_id(L['f'], N)"),
        ("L['x'] is L['y_1']", "L['x'] is L['y_1']"),
    ],
)
def test_names_and_ids_of_one_process_are_taken_out(code: str, expected: str) -> None:
    assert plain(code) == expected
