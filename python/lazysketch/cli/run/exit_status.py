"""The exit statuses of the command."""

from __future__ import annotations

from typing import Final

__all__ = ["FAILED", "INTERRUPTED", "READER_GONE"]

FAILED: Final = 2
INTERRUPTED: Final = 130  # 128 + SIGINT, the convention of shells
READER_GONE: Final = 141  # 128 + SIGPIPE
