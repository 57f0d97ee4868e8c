"""A stream of the service: its windows in the store, and their publications."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from lazysketch.errors import LiveStateError
from lazysketch.privacy.wording import unit
from lazysketch.service.publication import Facts, Publication, PublishedWindow
from lazysketch.service.tick import Tick
from lazysketch.windows.window import Window, instant

if TYPE_CHECKING:
    from lazysketch.service.stream_settings import StreamSettings
    from lazysketch.store import Store

__all__ = ["Stream"]

_SECOND: Final = 1_000_000_000
_ATTEMPTS: Final = 100


class Stream:
    """A stream of the service.

    Guarantee: a publication contains released values only, as of a tick of the public clock, and
    what it is computed from is durable.

    Args:
        settings: its description.
        store: the open store; the stream has windows of its name there.
        clock: returns seconds since 1970.
    """

    def __init__(
        self, settings: StreamSettings, store: Store, *, clock: Callable[[], float]
    ) -> None:
        self.settings = settings
        self.tick = Tick(settings.window_nanoseconds, settings.slices)
        self.windows = settings.windows_of(store, clock=clock)
        self._contents: dict[int, PublishedWindow] = {}
        self._publishing = threading.Lock()

    @property
    def facts(self) -> Facts:
        """What is said of the stream in every publication."""
        settings, privacy = self.settings, self.windows.privacy
        levels = settings.hierarchy
        return Facts(
            stream=settings.name,
            title=settings.title or settings.name,
            counts=settings.item,
            every=self.tick.every / _SECOND,
            slices=settings.slices,
            keep=settings.keep,
            delay=self.tick.delay / _SECOND,
            guarantee=privacy.sentence,
            epsilon=privacy.epsilon,
            delta=privacy.delta,
            relation=settings.relation,
            share=settings.share,
            hierarchy=settings.levels,
            levels=() if levels is None else levels.names,
            unit=unit(person_bound=privacy.person_bound, within=privacy.within),
            private=self.windows.private,
            not_private_because=self.windows.not_private_because,
        )

    def publication(self, *, ready: Callable[[], int]) -> Publication:
        """Return what everyone may see at the last tick.

        Guarantee: a function of what is durable and of the clock that the log has.

        Args:
            ready: returns the instant at which it will be complete, nanoseconds since 1970; asked
                after everything that may wait for the store, which senders keep busy.

        Raises:
            LiveStateError: the clock went on at every attempt.
            StoreError: the store cannot be written.
        """
        with self._publishing:
            ended, opened = self._seen()
            tick = self.tick
            if opened is None:
                number = self._last_tick()
            else:
                number = opened.number * tick.slices + opened.release.step
            kept = [self._published(window) for window in ended]
            if opened is not None and opened.release.step:
                kept.append(PublishedWindow.of(opened))
            shown, following = tick.shown_at(number, ready=ready()), tick.begin(number + 1)
            return Publication(
                facts=self.facts,
                number=number,
                at=instant(tick.begin(number)),
                publish_at=instant(shown),
                next_at=instant(following + tick.delay),
                windows=tuple(kept),
                listed=self.settings.domain or (),
                finished=opened is None,
            )

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
