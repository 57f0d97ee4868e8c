"""The fewest parts of a session that still show a defect (delta debugging)."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

from tests.fuzzing.verdicts import Finding
from tests.fuzzing.watched import run_session

__all__ = ["minimised"]

_SECONDS: Final = 30.0


def minimised(finding: Finding, *, folder: Path) -> list[int]:
    """Return numbers of parts that suffice for a defect of the same kind.

    Each trial is a process of its own, since a defect may end it; after half a minute the best so
    far is returned.

    Args:
        finding: the defect.
        folder: for the files of the trials.

    Returns:
        The numbers, in order.

    Source: Zeller and Hildebrandt 2002.
    """
    end = time.monotonic() + _SECONDS
    kept = list(range(finding.part + 1))

    def shows(parts: list[int]) -> bool:
        found = run_session(finding.campaign, name=finding.session, kept=parts, folder=folder)
        return any(other.kind == finding.kind for other in found)

    if shows(kept[-1:]):
        return kept[-1:]
    size = max(len(kept) // 2, 1)
    while time.monotonic() < end:
        start, shorter = 0, False
        while start < len(kept) and time.monotonic() < end:
            tried = kept[:start] + kept[start + size :]
            if tried and shows(tried):
                kept, shorter = tried, True
            else:
                start += size
        if size == 1 and not shorter:
            break
        size = max(size // 2, 1)
    return kept
