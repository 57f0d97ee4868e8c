"""The view of a publication, by what its stream counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from lazysketch.service.reading.distinct_view import DistinctView
from lazysketch.service.reading.views import PublicationView

if TYPE_CHECKING:
    from lazysketch.service.publication import Publication

__all__ = ["View", "view_of"]

View: TypeAlias = PublicationView | DistinctView


def view_of(publication: Publication, before: View | None) -> View:
    """Return the view of a publication.

    Args:
        publication: what is published.
        before: the view of the publication before; None for the first.
    """
    if publication.facts.kind == "distinct":
        return DistinctView(publication, before if isinstance(before, DistinctView) else None)
    return PublicationView(publication, before if isinstance(before, PublicationView) else None)
