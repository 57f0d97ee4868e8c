"""A child process that does not outlive a test that fails."""

from __future__ import annotations

import subprocess
from types import TracebackType

__all__ = ["ChildProcess"]


class ChildProcess(subprocess.Popen[str]):
    """A child that is killed where its block raises; the block of a plain one waits for its end."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is not None:
            self.kill()
        super().__exit__(kind, value, traceback)
