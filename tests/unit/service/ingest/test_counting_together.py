"""Batches that are counted as one change, against each counted in turn."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lazysketch._native import json_elements
from lazysketch.errors import ClosedError, StoreError
from lazysketch.service.ingest import counting, envelopes
from lazysketch.service.ingest.counting import Batch, Counted, Counting
from lazysketch.service.ingest.envelopes import Envelope
from lazysketch.service.ingest.refusals import RefusedRequestError
from lazysketch.service.stream_settings import StreamSettings

SETTINGS = [
    StreamSettings(name="plain"),
    StreamSettings(name="full", weight="weight", max_weight=5, user="user"),
]


@dataclass
class Stream:
    """A stream whose counts are its name."""

    settings: StreamSettings

    @property
    def counts(self) -> str:
        return self.settings.name


@dataclass
class Store:
    """What is counted, in order, with the sequences of sources, as a store keeps them."""

    fails: Exception | None = None
    counted: list[tuple[Any, ...]] = field(default_factory=list)
    last: dict[str, int] = field(default_factory=dict)
    changes: int = 0

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(self.last)

    def last_sequence(self, source: str) -> int:
        return self.last.get(source, 0)

    def ingest_several(
        self,
        sources: dict[str, int],
        items: Any,
        *,
        into: str,
        weights: Any,
        user: Any,
        durable: bool,
    ) -> bool:
        assert not durable
        if self.fails is not None:
            raise self.fails
        if any(number <= self.last_sequence(source) for source, number in sources.items()):
            return False
        self.last |= sources
        columns = [items, weights, user]
        rows = zip(
            *([None] * len(items) if one is None else listed(one) for one in columns), strict=True
        )
        self.counted += [(into, *row) for row in rows]
        self.changes += 1
        return True


def listed(values: Any) -> list[Any]:
    # Columns of Arrow and of NumPy, whose integers are those of Python then.
    return values.tolist() if hasattr(values, "tolist") else list(values)


def never(error: BaseException) -> None:
    """Raise: no batch of these tests makes the store fail."""
    raise AssertionError from error


def said(outcome: Counted | Exception) -> Any:
    if isinstance(outcome, Exception):
        return type(outcome), str(outcome)
    judged = outcome.judged
    return judged.rows, judged.refused, judged.first_refused, outcome.repeated


def in_turn(batches: list[Batch], store: Any) -> list[Any]:
    found = Counting(store, failed=never)
    outcomes: list[Counted | Exception] = []
    for batch in batches:
        try:
            outcomes.append(found.count(batch))
        except Exception as error:
            outcomes.append(error)
    return [said(one) for one in outcomes]


def together(batches: list[Batch], store: Any) -> list[Any]:
    return [said(one) for one in Counting(store, failed=never).count_each(batches)]


EVENTS: Final = [
    b'{"item": "a", "weight": 1, "user": "u"}', b'{"item": "b", "weight": 9, "user": 7}',
    b'{"item": 5, "weight": 2, "user": "w"}', b'{"item": "no one", "weight": 1}',
    b'{"item": "%s", "weight": 1, "user": "u"}' % (b"x" * 1025), b"{", b"", b"\xef\xbb\xbf",
    b'{"item": NaN}', b'{"item": "\xff"}', b'{"item": 99999999999999999999}', b"a\r",
]  # fmt: skip
BODIES = st.one_of(
    st.lists(st.sampled_from(EVENTS), max_size=5).map(b"\n".join),
    st.lists(st.sampled_from(EVENTS), max_size=5).map(lambda rows: b"[" + b",".join(rows) + b"]"),
    st.sampled_from([b"", b"\xef\xbb\xbf\xef\xbb\xbfa\n", b"[", b"\n", b'{"item": "a"}\n' * 3]),
)
BATCHES = st.builds(
    lambda settings, owner, envelope, body: Batch(Stream(settings), owner, envelope, body),  # type: ignore[arg-type]
    settings=st.sampled_from(SETTINGS),
    owner=st.sampled_from(["", "web"]),
    envelope=st.builds(
        Envelope,
        media_type=st.sampled_from(
            [envelopes.JSON_LINES] * 3 + [envelopes.JSON_ARRAY, envelopes.LINES, envelopes.ARROW]
        ),
        source=st.sampled_from(["", "a", "b", "c"]),
        sequence=st.integers(1, 3),
    ),
    body=BODIES,
)


@given(st.lists(BATCHES, max_size=6))
def test_each_batch_is_answered_as_if_it_came_alone(batches: list[Batch]) -> None:
    """The same answers, the same events counted, and the same sequences of sources."""
    # Of a source that is twice in a group, the later batch is counted after all others.
    seen: set[tuple[str, str]] = set()
    once = []
    for batch in batches:
        key = (batch.stream.settings.name, batch.source)
        if not batch.source or key not in seen:
            once.append(batch)
        seen.add(key)
    one, other = Store(), Store()
    assert together(once, one) == in_turn(once, other)
    assert sorted(map(repr, one.counted)) == sorted(map(repr, other.counted))
    assert one.last == other.last


def lines(body: bytes, *, source: str = "", sequence: int = 1) -> Batch:
    envelope = Envelope(envelopes.JSON_LINES, source=source, sequence=sequence)
    return Batch(Stream(SETTINGS[0]), "", envelope, body)  # type: ignore[arg-type]


GOOD: Final = b'{"item": "a"}\n'


def test_batches_of_a_stream_are_one_change_in_their_order() -> None:
    store = Store()
    bodies = [GOOD, b'{"item": "b"}', b"{\n", b'{"item": "c"}']
    batches = [lines(body, source=str(place)) for place, body in enumerate(bodies)]
    assert together(batches, store) == [
        (1, {}, [], False),
        (1, {}, [], False),
        (1, {"malformed": 1}, [{"position": 0, "code": "malformed"}], False),
        (1, {}, [], False),
    ]
    assert ([item for _, item, _, _ in store.counted], store.changes) == (["a", "b", "c"], 1)
    assert len(store.last) == 4


def test_a_batch_that_is_sent_twice_at_a_time_is_counted_once() -> None:
    """The other batches of the group are counted whatever is repeated in it."""
    store = Store()
    found = together([lines(GOOD, source="a"), lines(GOOD)], store)
    assert [one[-1] for one in found] == [False, False]
    batches = [lines(GOOD, source=source) for source in ("b", "a", "b", "c", "")]
    assert [one[-1] for one in together(batches, store)] == [False, True, True, False, False]
    assert len(store.counted) == 5


def test_no_change_has_more_events_than_a_batch_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "MOST_EVENTS", 7)
    store = Store()
    assert [one[0] for one in together([lines(GOOD * 3)] * 7, store)] == [3] * 7
    assert (len(store.counted), store.changes) == (21, 4)


def test_new_sources_beyond_the_limit_are_refused_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "_MOST_SOURCES", 2)
    store = Store()
    batches = [lines(GOOD, source=source) for source in ("a", "b", "c")] + [lines(GOOD)]
    found = together(batches, store)
    assert [one[0] is RefusedRequestError for one in found] == [False, False, True, False]
    assert len(store.counted) == 3


@pytest.mark.parametrize("error", [ClosedError("x"), ValueError("canary")])
def test_what_no_batch_is_to_blame_for_refuses_each(error: Exception) -> None:
    store = Store(fails=error)
    failures: list[BaseException] = []
    found = Counting(store, failed=failures.append)  # type: ignore[arg-type]
    if isinstance(error, ClosedError):
        refused = found.count_each([lines(GOOD)] * 3)
        assert [getattr(one, "status", None) for one in refused] == [409] * 3
        assert not failures
    else:  # memory may be ahead of the log
        with pytest.raises(StoreError, match="interrupted"):
            found.count_each([lines(GOOD)] * 3)
        assert failures == [error]


# The elements of a JSON array, as Python's decoder ends them.
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[\]{},]', re.DOTALL)


def elements(text: str) -> list[str] | None:
    """Return what is between the brackets and commas of an array; None if it is none."""
    body = text.strip(" \t\r\n")
    if not body.startswith("["):
        return None
    found, depth, begin = [], 0, 1
    for token in _TOKEN.finditer(body, 1):
        sign = token[0][0]
        if depth == 0 and sign in ",]":
            found.append(body[begin : token.start()].lstrip(" \t\r\n").replace("\n", "\r"))
            begin = token.end()
            if sign == "]":
                whole = begin == len(body)
                return ([] if found == [""] else found) if whole else None
        depth += (sign in "[{") - (sign in "]}")
    return None


@given(st.text(alphabet='[]{}",\\ \n1aé', max_size=12).map(lambda text: f"[{text}]"))
def test_elements_of_arrays_end_at_their_commas(text: str) -> None:
    rows = json_elements(text.encode())
    expected = elements(text)
    assert rows == (None if expected is None else "".join(f"{one}\n" for one in expected).encode())


def test_a_source_is_counted_in_its_order_whatever_its_batches_are_written_in() -> None:
    """A later batch is never counted before an earlier one, which would be lost as a repetition."""
    table = pa.table({"item": ["x"]})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    envelope = Envelope(envelopes.ARROW, source="a", sequence=1)
    arrow = Batch(Stream(SETTINGS[0]), "", envelope, sink.getvalue())  # type: ignore[arg-type]
    batches = [arrow, lines(GOOD, source="a", sequence=2), lines(GOOD), lines(GOOD, source="b")]
    one, turn = Store(), Store()
    assert together(batches, one) == in_turn(batches, turn)
    assert sorted(map(repr, one.counted)) == sorted(map(repr, turn.counted))
    assert one.last == turn.last


def test_what_is_refused_or_repeated_adds_no_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "_MOST_SOURCES", 3)
    store = Store(fails=ClosedError("x"))
    found = Counting(store, failed=never)  # type: ignore[arg-type]
    for place in range(5):
        (refused,) = found.count_each([lines(GOOD, source=str(place))])
        assert getattr(refused, "status", None) == 409
    store.fails = None
    found.count_each([lines(GOOD, source="a")])
    # One of the group is a repetition, so that the others are counted alone.
    batches = [lines(GOOD, source=source) for source in ("a", "b", "c")]
    outcomes = [said(one) for one in found.count_each(batches)]
    assert [one[-1] for one in outcomes] == [True, False, False]
