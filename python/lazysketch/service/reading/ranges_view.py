"""What the answers of a publication of ranges contain: counts of parts of all keys, and of others.

Everything here is post-processing of released values. Only the number of all keys has a course: the
table of a window may have some megabytes.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from lazysketch.errors import ArgumentValueError
from lazysketch.releases.key_questions import range_of_question
from lazysketch.releases.ranges_release import RangesRelease
from lazysketch.service.reading.statistic_view import StatisticView, count_of
from lazysketch.service.windows_view import CONFIDENCE

if TYPE_CHECKING:
    from lazysketch.estimation.intervals import Interval
    from lazysketch.service.windows_view import Plain

__all__ = ["RangesView"]

_IPV4_BITS: Final = 32
_SHOWN_BITS: Final = 4  # the parts of all keys that are shown: by their first bits


class RangesView(StatisticView[RangesRelease]):
    """The answers of one publication of a stream of ranges.

    Guarantee: post-processing of released values; the same for every reader.

    Args:
        publication: what is published.
        before: the view of the publication before, whose totals of ended windows are kept.
    """

    def _read(self, release: RangesRelease) -> Plain:
        return count_of(release.total(confidence=CONFIDENCE))

    def _statistic(self, course: list[Plain]) -> Plain:
        last = self._last()
        return {
            "total": course[-1] if course else None,
            "course": course,
            "bits": None if last is None else last.bits,
            "max_weight": None if last is None else last.parts[0].privacy.max_weight,
            "parts": [] if last is None else _counts(last, _parts(last.bits)),
        }

    def ranges(self, asked: Sequence[str]) -> Plain:
        """Return the numbers of keys so far in some ranges.

        Args:
            asked: networks such as ``"10.0.0.0/8"``, or two keys or addresses with a hyphen
                between them, of which the second is not in the range; equal parts of all keys when
                empty.

        Raises:
            ArgumentValueError: a range that these keys do not have.
        """
        last = self._last()
        if last is None:
            return self._answer(total=None, ranges=[])
        return self._answer(
            total=count_of(last.total(confidence=CONFIDENCE)),
            ranges=_counts(last, asked or _parts(last.bits)),
        )


def _counts(release: RangesRelease, ranges: Sequence[str]) -> list[Plain]:
    def counted(text: str) -> Interval:
        ends = range_of_question(text, release.bits)
        return release.count_between(*ends, confidence=CONFIDENCE)

    try:
        return [{"range": text, **count_of(counted(text))} for text in ranges]
    except ArgumentValueError:
        raise ArgumentValueError(
            f"range: expected networks of keys of {release.bits} bits such as 10.0.0.0/8, without "
            f"bits of a host, or two keys that do not fall, at most 2^{release.bits}, got others"
        ) from None


def _parts(bits: int) -> list[str]:
    """Return equal parts of all keys: as networks where keys may be addresses."""
    shown = min(bits, _SHOWN_BITS)
    size = 1 << (bits - shown)
    begins = [place * size for place in range(1 << shown)]
    if bits == _IPV4_BITS:
        return [f"{ipaddress.IPv4Address(begin)}/{shown}" for begin in begins]
    return [f"{begin}-{begin + size}" for begin in begins]
