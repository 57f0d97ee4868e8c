"""What is public of windows before any query: their guarantee, their list, what is kept."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, TypeVar, cast

from lazysketch.arguments import checked_integer
from lazysketch.errors import ArgumentValueError
from lazysketch.heavy_hitters import JointPrivacy, LevelsPrivacy
from lazysketch.privacy.sums_privacy import SumsPrivacy
from lazysketch.releases.items import Item
from lazysketch.sketches.live_state import LiveState
from lazysketch.windows.window import AnyWindow, Window

__all__ = ["Held", "KeptWindows", "PublicFacts", "names_of"]


Held = TypeVar("Held", bound=AnyWindow)


class PublicFacts(LiveState, Generic[Held]):
    """Base of windows and their queries."""

    def __init__(
        self,
        *,
        privacy: JointPrivacy | LevelsPrivacy | SumsPrivacy,
        not_private_because: tuple[str, ...],
        listed: tuple[Item, ...],
    ) -> None:
        """Take what is known before any window has ended."""
        self._listed = listed
        self._privacy, self._reasons = privacy, not_private_because

    @property
    def privacy(self) -> JointPrivacy:
        """The guarantee of all windows together: that of one, as an event lies in one window."""
        return cast("JointPrivacy", self._privacy)  # windows of a hierarchy have their own

    @property
    def private(self) -> bool:
        """True unless the guarantee does not hold; see :attr:`not_private_because`."""
        return not self._reasons

    @property
    def not_private_because(self) -> tuple[str, ...]:
        """The reasons why they are not private; empty for private windows."""
        return self._reasons

    def _kept(self) -> tuple[Held, ...]:
        """Return the ended windows that are kept."""
        return ()

    def _catch_up(self) -> None:
        """End the windows that are over by the clock; a query suffices to end them."""

    def _open_window(self) -> Held | None:
        """Return the published part of the open window, if there is one."""
        return None


class KeptWindows(PublicFacts[Held]):
    """Base of windows that are queried one by one, or the last few together."""

    @property
    def windows(self) -> tuple[Held, ...]:
        """The ended windows that are kept, oldest first."""
        self._catch_up()
        return self._kept()

    @property
    def open(self) -> Held | None:
        """Published part of the open window; None if all end together or none is open."""
        self._catch_up()
        return self._open_window()

    def _last(self, last: int) -> list[Held]:
        kept = list(self.windows)
        asked = checked_integer("last", last)
        if not kept:
            raise ArgumentValueError("last: expected windows that have ended, got none so far")
        return kept[-asked:]


def names_of(windows: Iterable[Window]) -> list[Item]:
    """Return every published name once.

    Args:
        windows: with their names, the oldest first.

    Returns:
        The names in the order of their publication. Equal keys are equal names, because no name is
        a bool.
    """
    return list(dict.fromkeys(name for window in windows for name in window.names))
