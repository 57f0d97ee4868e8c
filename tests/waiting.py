"""Waiting for what another thread or process does."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 60.0
"""Seconds within which everything happens, also on a busy machine."""


def wait_until(holds: Callable[[], object]) -> None:
    """Wait for a condition, which has to hold in time."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.002)
