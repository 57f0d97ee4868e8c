"""The end of a run that shall list once: as soon as something is public.

The moment of the end follows from published values alone, like that of a person who watches them
and presses Ctrl-C.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lazysketch.service.background import Background

if TYPE_CHECKING:
    from collections.abc import Callable

    from lazysketch.cli.view.report import Moment

__all__ = ["Once"]

_EVERY: Final = 0.1  # seconds


class Once(Background):
    """Ends a run at its first rows.

    Args:
        moment: Returns the public state, None before the first one; called from another thread.
        end: Ends the reading.
    """

    def __init__(self, moment: Callable[[], Moment | None], *, end: Callable[[], object]) -> None:
        self.ended = False
        self._moment = moment
        self._end = end
        super().__init__("once")

    def _run(self) -> None:
        while not self._ended.wait(_EVERY):
            moment = self._moment()
            if moment is not None and any(row.get("above_noise", True) for row in moment.rows):
                self.ended = True
                self._end()
                return
