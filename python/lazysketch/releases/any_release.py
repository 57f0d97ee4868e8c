"""A release of any kind from its bytes, and the sum of several."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Final, TypeAlias

from lazysketch.errors import MergeError
from lazysketch.releases.files import SUMS_MAGIC
from lazysketch.releases.kinds import KINDS
from lazysketch.releases.release_of_kind import ReleaseOfKind
from lazysketch.releases.saved_release import decoded

__all__ = ["AnyRelease", "any_release", "merged"]

AnyRelease: TypeAlias = ReleaseOfKind

# The module of each class: one is loaded with the first release of its kind.
_MODULES: Final = {
    "Release": "release",
    "DistinctRelease": "distinct_release",
    "DistributionRelease": "distribution_release",
    "RangesRelease": "ranges_release",
    "SumsRelease": "sums_release",
}


def any_release(data: bytes) -> AnyRelease:
    """Return the release that is encoded in bytes, of any kind.

    Guarantee: sizes are checked before any allocation; hostile bytes raise an error.

    Args:
        data: the result of ``to_bytes()`` of a release of any kind.

    Returns:
        The release, of the class of its kind.

    Raises:
        ArgumentTypeError: not bytes.
        ReleaseFormatError: not a release of this version, or damaged.
    """
    if isinstance(data, bytes) and data.startswith(SUMS_MAGIC):
        return _class_of("SumsRelease").from_bytes(data)
    native, names = decoded(data)
    return _class_of(KINDS[native.kind].release)._of_file(native, names)


def merged(releases: Sequence[AnyRelease]) -> AnyRelease:
    """Return the sum of releases of one kind that adds up.

    Args:
        releases: at least one.

    Returns:
        The sum, of the class of the kind.

    Raises:
        MergeError: several kinds, a kind that does not add up, or releases that do not fit.
    """
    first, *others = releases
    words = list(dict.fromkeys(one._words for one in releases))
    for kind in words:
        if kind.not_added:
            raise MergeError(
                f"expected counts of events, got counts of {kind.counted}: {kind.not_added}"
            )
    if len(words) > 1:
        counted = " and of ".join(kind.counted for kind in words)
        raise MergeError(f"expected releases of one kind, got counts of {counted}")
    return first._merged(others)


def _class_of(name: str) -> type[ReleaseOfKind]:
    found: type[ReleaseOfKind] = getattr(import_module(f"{__package__}.{_MODULES[name]}"), name)
    return found
