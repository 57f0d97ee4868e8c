"""Bodies against Python's own decoders."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lazysketch.service.ingest import bodies, envelopes
from lazysketch.service.ingest.events import Events
from lazysketch.service.ingest.refusals import RefusedRequestError
from lazysketch.service.stream_settings import StreamSettings

PLAIN = StreamSettings(name="s")
FULL = StreamSettings(name="s", weight="weight", max_weight=5, user="user")
LINES, ARRAY = envelopes.JSON_LINES, envelopes.JSON_ARRAY
TYPES = [LINES, ARRAY]


def events_of(body: bytes, media_type: str, settings: StreamSettings = PLAIN) -> Events:
    selection = bodies.selection_of(settings)
    return bodies.events_of(body, media_type=media_type, selection=selection)


def listed(values: Any) -> list[Any]:
    return values.to_pylist() if hasattr(values, "to_pylist") else list(values)


def judged(event: Any, settings: StreamSettings) -> Any:
    """Return the item, weight and person of an event as JSON gives it, or the code."""
    if not isinstance(event, dict):
        return "malformed"
    item, user = event.get("item"), None
    weight: Any = 1
    if type(item) not in (str, int) or (type(item) is int and not -(2**63) <= item < 2**64):
        return "malformed"
    if settings.weight:
        weight = event.get("weight")
        if type(weight) is not int or weight < 0:
            return "malformed"
    if settings.user:
        user = event.get("user")
        if type(user) not in (str, int) or user == "":
            return "no-user"
    if type(item) is str and len(item.encode()) > 1024:
        return "too-long"
    return item, min(weight, settings.max_weight), None if user is None else str(user)


def check(events: Events, expected: list[Any]) -> None:
    assert events.judged.rows == len(expected)
    counted = [one for one in expected if isinstance(one, tuple)]
    assert listed(events.items) == [item for item, _, _ in counted]
    if events.weights is not None:
        assert listed(events.weights) == [weight for _, weight, _ in counted]
    if events.users is not None:
        assert listed(events.users) == [user for _, _, user in counted]
    found = [(one["position"], one["code"]) for one in events.judged.first_refused]
    refused = [(place, code) for place, code in enumerate(expected) if isinstance(code, str)]
    assert found == refused[:100]
    assert sum(events.judged.refused.values()) == len(refused)


VALUES = st.one_of(
    st.text(max_size=4), st.integers(-9, 9), st.booleans(), st.none(), st.just(1.5),
    st.sampled_from(["x" * 1024, "x" * 1025, "é" * 512, "é" * 513, 'a"],[{\n', 2**64 - 1]),
    st.lists(st.integers(), max_size=2),
)  # fmt: skip
EVENTS = st.one_of(
    st.fixed_dictionaries({"item": VALUES}, optional={"weight": VALUES, "user": VALUES}), VALUES
)


@pytest.mark.parametrize("settings", [PLAIN, FULL], ids=["plain", "full"])
@given(events=st.lists(EVENTS, max_size=9), indent=st.sampled_from([None, 1]), plain=st.booleans())
def test_json_is_read_as_the_json_module_reads_it(
    settings: StreamSettings, events: list[Any], indent: int | None, plain: bool
) -> None:
    expected = [judged(event, settings) for event in events]
    array = json.dumps(events, indent=indent, ensure_ascii=plain).encode()
    check(events_of(array, ARRAY, settings), expected)
    lines = "".join(json.dumps(event, ensure_ascii=plain) + "\n" for event in events)
    check(events_of(lines.encode(), LINES, settings), expected)


MALFORMED = [b"{", b'{"item": tru}', b"x", b'{"item": "a" "b"}', b'{"item": "\xff"}', b"1 2", b""]


@pytest.mark.parametrize("bad", MALFORMED)
def test_a_malformed_event_is_an_empty_step_and_changes_no_other(bad: bytes) -> None:
    good = b'{"item": "a"}'
    expected = [("a", 1, None), "malformed", ("a", 1, None)]
    check(events_of(b"\n".join([good, bad, good]), LINES), expected)
    if bad != b"{":  # which takes the rest of an array with it
        check(events_of(b"[" + b",".join([good, bad, good]) + b"]", ARRAY), expected)


@pytest.mark.parametrize(
    "body", [b"", b"{}", b"[", b"[1", b'["a]', b"[1] 2", b"[[1]", b"[}]", b"[" * 99_999, b"x[]"]
)
def test_what_is_no_array_is_refused_whole(body: bytes) -> None:
    with pytest.raises(RefusedRequestError, match="one JSON array") as refused:
        events_of(body, ARRAY)
    assert refused.value.status == 400


@given(st.lists(st.binary(max_size=5).map(lambda one: one.replace(b"\n", b"").strip(b"\r"))))
def test_lines_are_items(rows: list[bytes]) -> None:
    def judged_line(row: bytes) -> Any:
        try:
            return (row.decode(), 1, None) if row else "malformed"
        except ValueError:
            return "malformed"

    body = b"".join(row + b"\n" for row in rows)
    expected = [judged_line(row.removeprefix(b"\xef\xbb\xbf")) for row in rows]
    check(events_of(body.replace(b"\xef\xbb\xbf", b""), envelopes.LINES), expected)


def test_lines_have_no_weight_and_no_person() -> None:
    with pytest.raises(RefusedRequestError, match="weight, user") as refused:
        events_of(b"a\n", envelopes.LINES, FULL)
    assert refused.value.status == 415


def arrow(*tables: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, tables[0].schema) as writer:
        for table in tables:
            writer.write_batch(table)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize("kind", ["plain", "dictionary", "view", "integers", "bytes"])
def test_arrow_is_read_as_its_rows(kind: str) -> None:
    items: list[Any] = ["a", None, "x" * 1024, "x" * 1025, "b", "b"]
    column = pa.array(items)
    if kind == "dictionary":
        column = column.dictionary_encode()
    elif kind == "view":
        column = column.cast(pa.string_view())
    elif kind == "integers":
        items = [1, None, 3, 4, 5, -5]
        column = pa.array(items)
    elif kind == "bytes":
        items = [None if one is None else one.encode() for one in items]
        column = pa.array(items)
    weights, users = [1, 1, 9, 1, -1, 2], ["u", "v", "7", "w", "x", None]
    batch = pa.record_batch({"item": column, "weight": weights, "user": users})
    codes = {1: "malformed", 3: "too-long", 4: "malformed", 5: "no-user"}
    if kind == "integers":
        del codes[3]
    expected = [
        codes.get(place) or (items[place], min(weights[place], 5), users[place])
        for place in range(6)
    ]
    check(events_of(arrow(batch, batch), envelopes.ARROW, FULL), expected * 2)


def test_arrow_of_other_columns_or_damaged_is_refused_without_its_values() -> None:
    whole = arrow(pa.record_batch({"canary": ["canary"]}))
    for body in (whole, whole[:100], b"", b"canary", arrow(pa.record_batch({"item": [1.5]}))):
        with pytest.raises(RefusedRequestError) as refused:
            events_of(body, envelopes.ARROW)
        assert refused.value.status == 400
        assert b"canary" not in refused.value.body


@pytest.mark.parametrize("media_type", [LINES, ARRAY, envelopes.LINES, envelopes.ARROW])
def test_the_number_of_events_is_limited(media_type: str) -> None:
    def body(events: int) -> bytes:
        if media_type == envelopes.ARROW:
            return arrow(pa.record_batch({"item": np.arange(events)}))
        if media_type == ARRAY:
            return b"[" + b",".join([b"0"] * events) + b"]"
        return b"a\n" * events

    assert events_of(body(bodies.MOST_EVENTS), media_type).judged.rows == 100_000
    with pytest.raises(RefusedRequestError, match="at most 100,000 events") as refused:
        events_of(body(bodies.MOST_EVENTS + 1), media_type)
    assert refused.value.status == 413
