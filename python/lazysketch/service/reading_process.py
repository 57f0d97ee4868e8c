"""The process of readers as the other one sees it: started, and started again should it end."""

from __future__ import annotations

import dataclasses
import json
import logging
import subprocess
import sys
from typing import TYPE_CHECKING, Final

from lazysketch.service.background import Background
from lazysketch.service.reading.process import ReadingTask

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["ReadingProcess"]

_LOG: Final = logging.getLogger("lazysketch.service")
_MODULE: Final = "lazysketch.service.reading.process"
_PAUSE: Final = 1.0  # seconds before it is started again
_GRACE: Final = 15.0


class ReadingProcess(Background):
    """The process of readers; it ends with the ``with`` block, or with this process.

    Args:
        task: what it serves.
    """

    def __init__(self, task: ReadingTask) -> None:
        self._task = task
        self._process: subprocess.Popen[bytes] | None = None
        super().__init__("readers")

    def __enter__(self) -> Self:
        self._process = self._started()  # here, so that the caller gets its failure
        return super().__enter__()

    def _interrupt(self) -> None:
        _end(self._process)

    def _started(self) -> subprocess.Popen[bytes]:
        task = json.dumps(dataclasses.asdict(self._task))
        return subprocess.Popen(  # noqa: S603 -- our own module
            [sys.executable, "-m", _MODULE, task],
            stdin=subprocess.PIPE,
            pass_fds=[self._task.descriptor],
            start_new_session=True,  # Ctrl-C reaches the process that counts, which ends this one
        )

    def _run(self) -> None:
        while self._process is not None:
            status = self._process.wait()
            if self._ended.is_set():
                return
            _LOG.error("readers: the process ended with status %d and is started again", status)
            if self._ended.wait(_PAUSE):
                return
            self._process = self._started()
            if self._ended.is_set():  # the block ended meanwhile, and may not have seen it
                self._interrupt()


def _end(process: subprocess.Popen[bytes] | None) -> None:
    if process is None:
        return
    if process.stdin is not None and not process.stdin.closed:
        process.stdin.close()
    try:
        process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
