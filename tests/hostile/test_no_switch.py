"""No build that users get has the allocator that fails on request."""

from __future__ import annotations

from pathlib import Path

import lazysketch._native


def test_the_installed_core_has_no_failing_allocator() -> None:
    native = Path(lazysketch._native.__file__).read_bytes()
    assert b"lazysketch" in native  # strings are found at all
    assert b"fail_allocation" not in native
    assert not hasattr(lazysketch._native, "fail_allocation")
