"""Every answer of the read face is one that its document describes, whatever is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis.checks import negative_data_rejection, positive_data_acceptance
from schemathesis.generation import GenerationMode
from tests.unit.service.publications import START, Service
from tests.unit.service.publications import settings as stream_of
from tests.unit.service.reading.test_application import shown

from lazysketch.service.reading.application import reading_application

LISTED, FOUND, LEVELS, DISTINCT, VALUES = "pages", "found", "networks", "visitors", "seconds"
RANGES, SUMS = "clients", "spent"
STREAMS = LISTED, FOUND, LEVELS, DISTINCT, VALUES, RANGES, SUMS
# Which stream has an answer, where most have none.
ANSWERS = {
    "hierarchy": LEVELS,
    "distinct": DISTINCT,
    "ranges": RANGES,
    "sums": SUMS,
    **dict.fromkeys(("quantiles", "histogram", "cdf"), VALUES),
}
NEWEST = int(START) // 60 + 1  # number of the last window that ended


@pytest.fixture(scope="module")
def application(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Readers of streams with a public list, with names that are found, and with levels."""
    service = Service(tmp_path_factory.mktemp("service"))
    events = {
        LISTED: ["/", "/", "/docs", 7] * 100,
        FOUND: ["/", "/docs", 7, b"\xff"] * 100,
        LEVELS: ["10.0.0.1", "10.0.1.9"] * 200,
        DISTINCT: list(range(100)),
        VALUES: list(range(100)),
        RANGES: list(range(100)),
    }
    host = service.host(
        stream_of(domain=("/", "/docs", 7), alerts=({"above": 100}, {"above": 9e9, "item": 7})),
        stream_of(name=FOUND),
        stream_of(name=LEVELS, levels="ipv4", epsilon=8.0, delta=1e-3),
        stream_of(name=DISTINCT, kind="distinct", share=0.01, width=None),
        stream_of(name=VALUES, kind="values", low=0, high=90, bins=32, width=None),
        stream_of(name=RANGES, kind="ranges"),
        stream_of(
            name=SUMS,
            kind="sums",
            domain=("a", 7),
            value="v",
            low=0,
            high=9,
            horizon=99,
            share=None,
        ),
    )
    spent: Any = host.stream(SUMS).counts
    for _ in range(15):
        spent.update_many(["a", 7], [1.0, 2.0])
        for name, items in events.items():
            host.stream(name).counts.update_many(items)
        service.clock.now += 10.0
        for name in STREAMS:
            host.publish(name)
    service.clock.now += 3.0
    yield reading_application(shown(service))
    host.close()


def asked(operation: Any, mode: GenerationMode, examples: int) -> set[int]:
    """Ask for cases of an address, check each answer, and return their statuses.

    Which levels there are, and that an item of a type is written as one, is not in the document.
    """
    known: set[int] = set()
    fits = ANSWERS.get(operation.path.rpartition("/")[2], LISTED)

    @seed(1)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(
        case=operation.as_strategy(mode),
        name=st.one_of(st.just(fits), st.sampled_from([*STREAMS, None])),
        number=st.sampled_from([NEWEST, None]),
    )
    def ask(case: Any, name: str | None, number: int | None) -> None:
        for parameter, value in (("name", name), ("number", number)):
            if value is not None and parameter in case.path_parameters:
                case.path_parameters[parameter] = value
        answer = case.call()
        excluded: list[Any] = [positive_data_acceptance]
        sent = parse_qs(urlsplit(answer.request.url).query, keep_blank_values=True)
        # No items are written like one empty item, which is one, and a value like a list of one.
        if "" in sent.get("item", ()) or not isinstance((case.query or {}).get("item", []), list):
            excluded.append(negative_data_rejection)
        case.validate_response(answer, excluded_checks=excluded)
        known.add(answer.status_code)

    ask()
    return known


def statuses(application: Any, mode: GenerationMode, examples: int) -> dict[str, set[int]]:
    """Return the statuses of all addresses."""
    document = schemathesis.openapi.from_asgi("/openapi.json", application)
    found: list[Any] = list(document.get_all_operations())
    operations = [one.ok() for one in found]
    if mode is GenerationMode.NEGATIVE:  # nothing is wrong where nothing is asked for
        operations = [one for one in operations if one.query]
    return {one.path: asked(one, mode, examples) for one in operations}


@pytest.mark.parametrize("examples", [25, pytest.param(400, marks=pytest.mark.long)])
def test_what_the_document_allows_is_answered(application: Any, examples: int) -> None:
    seen = statuses(application, GenerationMode.POSITIVE, examples)
    assert len(seen) >= 10
    for path, known in seen.items():
        assert 200 in known, path
        assert known <= {200, 400, 404}, path


@pytest.mark.parametrize("examples", [25, pytest.param(400, marks=pytest.mark.long)])
def test_what_the_document_does_not_allow_is_refused(application: Any, examples: int) -> None:
    seen = statuses(application, GenerationMode.NEGATIVE, examples)
    assert set().union(*seen.values()) <= {200, 400, 404, 405}
    assert any(400 in known for known in seen.values())
