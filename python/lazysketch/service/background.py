"""Work of a thread that ends with a ``with`` block."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Background"]


class Background(ABC):
    """Base of what runs in a thread while a ``with`` block does.

    Args:
        name: of the thread.
        longest_end: seconds that the end of the block waits for the thread; None for no limit.
    """

    def __init__(self, name: str, *, longest_end: float | None = None) -> None:
        self._ended = threading.Event()
        self._longest_end = longest_end
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._interrupt()
        self._thread.join(self._longest_end)

    @abstractmethod
    def _run(self) -> None:
        """Work until the block ends, which sets ``_ended``."""

    def _interrupt(self) -> None:  # noqa: B027 -- most wait for nothing else
        """End what the thread waits for, other than ``_ended``."""
