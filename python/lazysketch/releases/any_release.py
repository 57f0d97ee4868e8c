"""A release of any kind from its bytes."""

from __future__ import annotations

from typing import TypeAlias

from lazysketch import _native
from lazysketch.releases.distinct_release import DistinctRelease
from lazysketch.releases.release import Release

__all__ = ["AnyRelease", "any_release"]

AnyRelease: TypeAlias = Release | DistinctRelease


def any_release(data: bytes) -> AnyRelease:
    """Return the release that is encoded in bytes, of counts or of distinct items.

    Guarantee: sizes are checked before any allocation; hostile bytes raise an error.

    Args:
        data: the result of ``to_bytes()`` of either.

    Returns:
        The release, of the class of its kind.

    Raises:
        ArgumentTypeError: not bytes.
        ReleaseFormatError: not a release of this version, or damaged.
    """
    if not isinstance(data, bytes):
        return Release.from_bytes(data)
    native, _ = _native.Release.from_bytes(data)
    kind = DistinctRelease if native.kind == "distinct" else Release
    return kind.from_bytes(data)
