"""What readers ask of a stream: the questions of each kind, and their answers in JSON."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from lazysketch.service.reading.distinct_view import DistinctView
from lazysketch.service.reading.queries import (
    ItemsQuery,
    TopQuery,
    TreeQuery,
    against_of,
    refuse_others,
)
from lazysketch.service.reading.ranges_view import RangesView
from lazysketch.service.reading.reading_state import Reading, computed, error_of
from lazysketch.service.reading.statistic_queries import (
    SumsQuery,
    ranges_of,
    rows_of,
    shares_of,
    values_of,
)
from lazysketch.service.reading.sums_view import SumsView
from lazysketch.service.reading.values_view import ValuesView

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request
    from starlette.responses import Response

    Question = Callable[[Reading, Request], Awaitable[Response]]

__all__ = ["QUESTIONS"]


async def _top(state: Reading, request: Request) -> Response:
    view = state.of_items(request)
    query = TopQuery.of(request.query_params, levels=state.levels(request))
    query = replace(query, last=state.answers(request).within(query.last))
    return await computed(
        state,
        request,
        ("top", query),
        lambda: view.top(
            n=query.n, last=query.last, include_open=query.include_open, level=query.level
        ),
    )


async def _hierarchy(state: Reading, request: Request) -> Response:
    view = state.of_items(request)
    if not state.levels(request):
        raise error_of(404, "stream", "one with levels", "one without")
    query = TreeQuery.of(request.query_params)
    query = replace(query, last=state.answers(request).within(query.last))
    return await computed(
        state,
        request,
        ("hierarchy", query),
        lambda: view.hierarchy(share=query.share, last=query.last, include_open=query.include_open),
    )


async def _estimate(state: Reading, request: Request) -> Response:
    view = state.of_items(request)
    query = ItemsQuery.of(request.query_params)
    query = replace(query, last=state.answers(request).within(query.last))
    return await computed(
        state,
        request,
        ("estimate", query, tuple(map(type, query.items))),
        lambda: view.counts(query.items, last=query.last, include_open=query.include_open),
    )


async def _course(state: Reading, request: Request) -> Response:
    view = state.of_items(request)
    query = ItemsQuery.of(request.query_params, of_windows=False)
    key = ("course", query.items, tuple(map(type, query.items)))
    return await computed(state, request, key, lambda: view.courses(query.items))


async def _changes(state: Reading, request: Request) -> Response:
    view = state.of_items(request)
    against = against_of(request.query_params)
    return await computed(state, request, ("changes", against), lambda: view.changes(against))


async def _alerts(state: Reading, request: Request) -> Response:
    view = state.of_items(request)
    refuse_others(request.query_params, ())
    found = view.publication.alerts
    if found is None:
        raise error_of(404, "stream", "one with alerts", "one without")
    return await computed(state, request, ("alerts",), lambda: view.alerts(found))


async def _distinct(state: Reading, request: Request) -> Response:
    view = state.of_kind(request, DistinctView, "distinct items")
    refuse_others(request.query_params, ())
    return await computed(state, request, ("distinct",), view.number)


async def _quantiles(state: Reading, request: Request) -> Response:
    view = state.of_kind(request, ValuesView, "values")
    shares = shares_of(request.query_params)
    return await computed(state, request, ("quantiles", shares), lambda: view.quantiles(shares))


async def _histogram(state: Reading, request: Request) -> Response:
    view = state.of_kind(request, ValuesView, "values")
    rows = rows_of(request.query_params)
    return await computed(state, request, ("histogram", rows), lambda: view.histogram(rows))


async def _cdf(state: Reading, request: Request) -> Response:
    view = state.of_kind(request, ValuesView, "values")
    values = values_of(request.query_params)
    return await computed(state, request, ("cdf", values), lambda: view.cdf(values))


async def _ranges(state: Reading, request: Request) -> Response:
    view = state.of_kind(request, RangesView, "ranges")
    asked = ranges_of(request.query_params)
    return await computed(state, request, ("ranges", asked), lambda: view.ranges(asked))


async def _sums(state: Reading, request: Request) -> Response:
    view = state.of_kind(request, SumsView, "sums")
    query = SumsQuery.of(request.query_params)
    kinds = None if query.items is None else tuple(map(type, query.items))
    return await computed(
        state, request, ("sums", query, kinds), lambda: view.sums(query.items, n=query.n)
    )


QUESTIONS: Final[tuple[tuple[str, Question], ...]] = (
    ("top", _top),
    ("hierarchy", _hierarchy),
    ("estimate", _estimate),
    ("course", _course),
    ("changes", _changes),
    ("alerts", _alerts),
    ("distinct", _distinct),
    ("quantiles", _quantiles),
    ("histogram", _histogram),
    ("cdf", _cdf),
    ("ranges", _ranges),
    ("sums", _sums),
)
"""The questions by the last part of their address."""
