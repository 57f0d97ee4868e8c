"""The view of a publication, by what its stream counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from lazysketch.service.reading.distinct_view import DistinctView
from lazysketch.service.reading.ranges_view import RangesView
from lazysketch.service.reading.sums_view import SumsView
from lazysketch.service.reading.values_view import ValuesView
from lazysketch.service.reading.views import PublicationView

if TYPE_CHECKING:
    from lazysketch.service.publication import Publication

__all__ = ["View", "view_of"]

View: TypeAlias = PublicationView | DistinctView | ValuesView | RangesView | SumsView
_VIEWS: Final[dict[str, type[View]]] = {
    "items": PublicationView,
    "distinct": DistinctView,
    "values": ValuesView,
    "ranges": RangesView,
    "sums": SumsView,
}


def view_of(publication: Publication, before: View | None) -> View:
    """Return the view of a publication.

    Args:
        publication: what is published.
        before: the view of the publication before; None for the first.
    """
    kind = _VIEWS[publication.facts.kind]
    made: View = kind(publication, before if isinstance(before, kind) else None)  # type: ignore[arg-type]
    return made
