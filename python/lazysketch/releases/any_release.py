"""A release of any kind from its bytes."""

from __future__ import annotations

from typing import Final, TypeAlias

from lazysketch.releases.distinct_release import DistinctRelease
from lazysketch.releases.distribution_release import DistributionRelease
from lazysketch.releases.release import Release
from lazysketch.releases.saved_release import decoded

__all__ = ["AnyRelease", "any_release"]

AnyRelease: TypeAlias = Release | DistinctRelease | DistributionRelease

_KINDS: Final[dict[str, type[DistinctRelease | DistributionRelease]]] = {
    "distinct": DistinctRelease,
    "values": DistributionRelease,
}


def any_release(data: bytes) -> AnyRelease:
    """Return the release that is encoded in bytes, of items, of distinct items or of values.

    Guarantee: sizes are checked before any allocation; hostile bytes raise an error.

    Args:
        data: the result of ``to_bytes()`` of a release of any kind.

    Returns:
        The release, of the class of its kind.

    Raises:
        ArgumentTypeError: not bytes.
        ReleaseFormatError: not a release of this version, or damaged.
    """
    native, names = decoded(data)
    return _KINDS.get(native.kind, Release)._of_file(native, names)
