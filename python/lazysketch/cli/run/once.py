"""The end of a run that shall list once: as soon as something is public.

The moment of the end follows from published values alone, like that of a person who watches them
and presses Ctrl-C.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from typing_extensions import Self

    from lazysketch.cli.view.report import Moment

__all__ = ["Once"]

_EVERY: Final = 0.1  # seconds


class Once:
    """Ends a run at its first rows.

    Args:
        moment: Returns the public state, None before the first one; called from another thread.
        end: Ends the reading.
    """

    def __init__(self, moment: Callable[[], Moment | None], *, end: Callable[[], object]) -> None:
        self.ended = False
        self._moment = moment
        self._end = end
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="once", daemon=True)

    def __enter__(self) -> Self:
        """Begin to look."""
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End looking; what is public is not read after this."""
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(_EVERY):
            moment = self._moment()
            if moment is not None and any(row["above_noise"] for row in moment.rows):
                self.ended = True
                self._end()
                return
