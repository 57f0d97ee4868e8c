"""A stream of the service whose windows are counted: frequent items, with levels or without."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from lazysketch.errors import LiveStateError
from lazysketch.service.publication import PublishedWindow
from lazysketch.service.stream import Stream

if TYPE_CHECKING:
    from lazysketch.service.stream_settings import StreamSettings
    from lazysketch.store import Store
    from lazysketch.store.stored_hierarchical_windows import StoredHierarchicalWindows
    from lazysketch.store.stored_windows import StoredWindows
    from lazysketch.windows.window import Window

__all__ = ["WindowsStream"]

_ATTEMPTS: Final = 100


class WindowsStream(Stream):
    """A stream of the windows of a clock.

    Args:
        settings: its description, of kind ``"items"``.
        store: the open store; the stream has windows of its name there.
        clock: returns seconds since 1970.
    """

    def __init__(
        self, settings: StreamSettings, store: Store, *, clock: Callable[[], float]
    ) -> None:
        super().__init__(settings)
        self.windows = settings.windows_of(store, clock=clock)
        self._contents: dict[int, PublishedWindow] = {}

    @property
    def counts(self) -> StoredWindows | StoredHierarchicalWindows:
        """The windows of the store."""
        return self.windows

    def _state(self) -> tuple[int, tuple[PublishedWindow, ...]]:
        ended, opened = self._seen()
        if opened is None:
            number = self._last_tick()
        else:
            number = opened.number * self.tick.slices + opened.release.step
        kept = [self._published(window) for window in ended]
        if opened is not None and opened.release.step:
            kept.append(PublishedWindow.of(opened))
        return number, tuple(kept)

    def _seen(self) -> tuple[tuple[Window, ...], Window | None]:
        """Return the ended windows and the open one, as they stand at the same instant."""
        for _ in range(_ATTEMPTS):
            before = self.windows.open
            ended = self.windows.windows
            after = self.windows.open
            if before is None or after is None:
                return self.windows.windows, None
            if (before.number, before.release.step) == (after.number, after.release.step):
                return ended, after
        raise LiveStateError(
            f"{self.settings.name}: expected a clock that stands still for the time of a read"
        )

    def _last_tick(self) -> int:
        """Return the number of the tick at which readers see that the stream has ended.

        It is the first after the call that ended it, which is an act of the operator and in the
        log: a function of the clock at that call, the same for all events and in every life. The
        last window has all its steps then, so its release does not show in which slice it ended.
        """
        progress = self.windows._progress()
        assert progress.last is not None, "windows that are over have their last step"  # noqa: S101
        return progress.number * self.tick.slices + progress.last + 1

    def _published(self, window: Window) -> PublishedWindow:
        """Return an ended window with its bytes, which are made once."""
        found = self._contents.get(window.number)
        if found is None:
            found = PublishedWindow.of(window)
            self._contents[window.number] = found
            for number in sorted(self._contents)[: -self.settings.keep]:
                del self._contents[number]
        return found
