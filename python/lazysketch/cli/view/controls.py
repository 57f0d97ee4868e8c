"""What the keys of the live table change: the order, a filter, a pause, the help.

Nothing here changes what is counted or published; ``q`` ends the run as Ctrl-C does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lazysketch.cli.view.output import item_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lazysketch.releases.rows import ItemRow

__all__ = ["HELP", "Controls"]

ORDERS: Final = ("estimate", "item", "change")
HELP: Final = (
    ("q", "end the run with the result so far, as Ctrl-C does"),
    ("space", "hold the table; counting goes on"),
    ("s", "sort by estimate, by item, by change"),
    ("/", "show items that contain a text only; Enter keeps it, Escape drops it"),
    ("?", "this help"),
)
_ENTER: Final = ("\r", "\n")
_ERASE: Final = ("\x7f", "\x08")
_ESCAPE: Final = "\x1b"


@dataclass(slots=True)
class Controls:
    """The state of the keys.

    Args:
        end: Ends the run.
        paused: Whether the table is held.
        order: By what rows are sorted.
        filter: The text that shown items contain, "" for all.
        is_typing: Whether keys go into the filter.
        shows_help: Whether the help is shown.
        has_items: Whether there are items to sort and to filter.
    """

    end: Callable[[], object]
    paused: bool = False
    order: str = ORDERS[0]
    filter: str = ""
    is_typing: bool = False
    shows_help: bool = False
    has_items: bool = True

    def press(self, key: str) -> None:
        """Take a key."""
        if self.is_typing:
            self._type(key)
        elif key in ("?", "h"):
            self.shows_help = not self.shows_help
        elif key == "q":
            self.end()
        elif key == " ":
            self.paused = not self.paused
        elif key == "s" and self.has_items:
            self.order = ORDERS[(ORDERS.index(self.order) + 1) % len(ORDERS)]
        elif key == "/" and self.has_items:
            self.is_typing, self.shows_help = True, False
        elif key == _ESCAPE:
            self.filter, self.shows_help = "", False

    def _type(self, key: str) -> None:
        if key in _ENTER:
            self.is_typing = False
        elif key == _ESCAPE:
            self.is_typing, self.filter = False, ""
        elif key in _ERASE:
            self.filter = self.filter[:-1]
        elif key.isprintable():
            self.filter += key

    def chosen(
        self, rows: Sequence[ItemRow], trends: Sequence[float | None]
    ) -> tuple[list[ItemRow], list[float | None]]:
        """Return the rows that are shown, with their trends, in their order."""
        wanted = self.filter.casefold()
        pairs = [
            (row, trend)
            for row, trend in zip(rows, trends, strict=True)
            if wanted in item_text(row).casefold()
        ]
        if self.order == "item":
            pairs.sort(key=lambda pair: item_text(pair[0]))
        elif self.order == "change":
            pairs.sort(key=lambda pair: -1.0 if pair[1] is None else pair[1], reverse=True)
        return [row for row, _ in pairs], [trend for _, trend in pairs]

    @property
    def line(self) -> str:
        """The last line of the screen: the keys, and what they are set to."""
        if self.is_typing:
            return f"filter: {self.filter}_   (Enter keeps it, Escape drops it)"
        held = "space goes on" if self.paused else "space holds"
        if not self.has_items:
            return f"q ends  {held}  ? help"
        kept = f"/ filter: {self.filter}" if self.filter else "/ filters"
        return f"q ends  {held}  s sorts by {self._next}  {kept}  ? help"

    @property
    def _next(self) -> str:
        return ORDERS[(ORDERS.index(self.order) + 1) % len(ORDERS)]
