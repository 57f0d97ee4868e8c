"""Planted bugs of the service, and the checks that must detect them; no draw decides about them."""

from __future__ import annotations

from collections.abc import Iterator

from lazysketch.audit.control import Control, controls_of_model
from lazysketch.audit.service_suite import missing_packages

__all__ = ["service_controls"]


def service_controls() -> Iterator[Control]:
    """Yield the controls of the service; none where packages of the extra ``serve`` are missing.

    Yields:
        At least one per planted bug.
    """
    if missing_packages():
        return
    from lazysketch.audit import service_checks as checks
    from lazysketch.audit.service_system import ServiceBug, Services

    bugs = ServiceBug
    detected: tuple[tuple[ServiceBug, str, checks.Run], ...] = (
        (bugs.READY, "what readers see", checks.readers_see_no_events),
        (bugs.QUIET, "what readers see", checks.readers_see_no_events),
        (bugs.HEADER, "what readers see", checks.readers_see_no_events),
        (bugs.COMPRESSED, "what readers see", checks.readers_see_no_events),
        (bugs.MISSING, "what readers see", checks.readers_see_no_events),
        (bugs.FEED, "what readers see", checks.readers_see_no_events),
        (bugs.ACKNOWLEDGED, "durable publications", checks.publications_are_durable),
        (bugs.EARLY, "durable publications", checks.publications_are_durable),
        (bugs.FORGOTTEN, "durable publications", checks.publications_are_durable),
        (bugs.PERSONAL, "equal answers", checks.readers_get_equal_bytes),
        (bugs.BACKWARDS, "equal answers", checks.readers_get_equal_bytes),
    )
    yield from controls_of_model(detected, Services)
