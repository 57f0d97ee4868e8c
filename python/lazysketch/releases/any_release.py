"""A release of any kind from its bytes."""

from __future__ import annotations

from typing import TypeAlias

from lazysketch.releases.distinct_release import DistinctRelease
from lazysketch.releases.release import Release
from lazysketch.releases.saved_release import decoded

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
    native, names = decoded(data)
    kind = DistinctRelease if native.kind == "distinct" else Release
    return kind._of_file(native, names)
