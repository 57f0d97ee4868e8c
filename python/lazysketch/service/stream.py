"""A stream of the service: what it counts in the store, and its publications."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final, cast

from lazysketch.privacy.wording import unit
from lazysketch.service.alert_settings import thresholds_of
from lazysketch.service.publication import Facts, Publication, PublishedWindow
from lazysketch.service.published_alerts import PublishedAlerts
from lazysketch.service.tick import Tick
from lazysketch.windows.window import instant

if TYPE_CHECKING:
    from datetime import datetime

    from lazysketch.heavy_hitters import JointPrivacy, LevelsPrivacy
    from lazysketch.privacy.accounting import Privacy
    from lazysketch.privacy.sums_privacy import SumsPrivacy
    from lazysketch.service.publication import SignedPublication
    from lazysketch.service.statistics_of_streams import StoredStatistic
    from lazysketch.service.stream_settings import StreamSettings
    from lazysketch.store.stored_hierarchical_windows import StoredHierarchicalWindows
    from lazysketch.store.stored_sliding import StoredSliding
    from lazysketch.store.stored_windows import StoredWindows

__all__ = ["Stream"]

_SECOND: Final = 1_000_000_000


class Stream(ABC):
    """A stream of the service.

    Guarantee: a publication contains released values only, as of a tick of the public clock, and
    what it is computed from is durable.

    Args:
        settings: its description.
    """

    def __init__(self, settings: StreamSettings) -> None:
        self.settings = settings
        self.tick = Tick(settings.window_nanoseconds, settings.slices)
        self._thresholds = thresholds_of(settings)
        self._publishing = threading.Lock()

    @property
    @abstractmethod
    def counts(
        self,
    ) -> StoredWindows | StoredSliding | StoredHierarchicalWindows | StoredStatistic:
        """What counts its events in the store."""

    def _privacy(self) -> JointPrivacy | LevelsPrivacy | Privacy | SumsPrivacy:
        """Return the guarantee."""
        return self.counts.privacy

    def _unit(self) -> str:
        """Return who or what is protected."""
        privacy = self._privacy()
        # Sums have no bounds of people, and a statistic has no windows.
        bound = getattr(privacy, "person_bound", None)
        return unit(person_bound=bound, within=getattr(privacy, "within", None))

    @abstractmethod
    def _state(self) -> tuple[int, tuple[PublishedWindow, ...]]:
        """Return the number of the last tick, and what is public of the windows at it."""

    @property
    def facts(self) -> Facts:
        """What is said of the stream in every publication."""
        settings, privacy = self.settings, self._privacy()
        levels = settings.hierarchy
        of_items = settings.kind == "items"
        return Facts(
            stream=settings.name,
            title=settings.title or settings.name,
            counts=settings.item,
            kind=settings.kind,
            every=self.tick.every / _SECOND,
            slices=settings.slices,
            span=None if settings.span_nanoseconds is None else settings.span_nanoseconds / _SECOND,
            keep=settings.keep,
            delay=self.tick.delay / _SECOND,
            guarantee=privacy.sentence,
            epsilon=privacy.epsilon,
            delta=privacy.delta,
            relation=settings.relation,
            share=settings.share if of_items else None,
            hierarchy=settings.levels,
            levels=() if levels is None else levels.names,
            unit=self._unit(),
            private=self.counts.private,
            not_private_because=self.counts.not_private_because,
        )

    def publication(
        self, *, ready: Callable[[], int], before: SignedPublication | None = None
    ) -> Publication:
        """Return what everyone may see at the last tick.

        Guarantee: a function of what is durable, of what was published before and of the clock that
        the log has.

        Args:
            ready: returns the instant at which it will be complete, nanoseconds since 1970; asked
                after everything that may wait for the store, which senders keep busy.
            before: the publication before, whose alerts go on; None for none.

        Raises:
            LiveStateError: the clock went on at every attempt.
            StoreError: the store cannot be written.
        """
        with self._publishing:
            number, windows = self._state()
            tick = self.tick
            following = instant(tick.begin(number + 1) + tick.delay)
            found = Publication(
                facts=self.facts,
                number=number,
                at=instant(tick.begin(number)),
                publish_at=following,
                next_at=following,
                windows=windows,
                listed=self.settings.domain or (),
                finished=self.counts.finished,
            )
            found = self._with_alerts(found, before)
            return replace(found, publish_at=instant(tick.shown_at(number, ready=ready())))

    def _with_alerts(self, found: Publication, before: SignedPublication | None) -> Publication:
        """Return a publication with its alerts: those of the one before, and of new windows.

        Each window is tested once: by the publication after the last one that did not have it.
        """
        if self._thresholds is None:
            return found
        known, at = (None, None) if before is None else before.alerts()
        alerts = PublishedAlerts.tested(
            self._thresholds,
            known,
            found.ended_after(at),
            listed=found.listed,
            since=cast("datetime", found.windows[0].window.end) if found.windows else None,
        )
        return replace(found, alerts=alerts)
