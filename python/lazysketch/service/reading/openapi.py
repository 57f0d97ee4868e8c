"""The description of the addresses for programs: OpenAPI 3.1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from lazysketch import __version__
from lazysketch.service.published_window import KINDS
from lazysketch.service.reading.statistic_queries import (
    FEWEST_ROWS,
    MOST_ASKED,
    MOST_ROWS,
    MOST_SUMS,
    RANGE,
    SHARE,
    VALUE,
)

__all__ = ["description"]

Schema = dict[str, Any]

_NAME: Final = r"^[a-z0-9][a-z0-9-]{0,62}$"
_NUMBER_OR_NULL: Final[Schema] = {"type": ["number", "null"]}
_INSTANT: Final[Schema] = {"type": "string", "format": "date-time"}
_ITEM: Final[Schema] = {
    "description": "A text, an integer, or an object that names another type",
    "anyOf": [
        {"type": "string"},
        {"type": "integer"},
        {"type": "object", "minProperties": 1, "maxProperties": 1},
    ],
}


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": sorted(properties)}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


_COUNT: Final = _object(estimate=_NUMBER_OR_NULL, low=_NUMBER_OR_NULL, high=_NUMBER_OR_NULL)
_COUNT_OR_NULL: Final[Schema] = {"anyOf": [_COUNT, {"type": "null"}]}
_WINDOW: Final = _object(
    number={"type": "integer"},
    begin=_INSTANT,
    end=_INSTANT,
    ended={"type": "boolean"},
    whole={"type": "boolean"},
)
_FACTS: Final = _object(
    stream={"type": "string"},
    title={"type": "string"},
    counts={"type": "string"},
    kind={"enum": [*KINDS]},
    every={"type": "number"},
    slices={"type": "integer"},
    span=_NUMBER_OR_NULL,
    keep={"type": "integer"},
    delay={"type": "number"},
    guarantee={"type": "string"},
    epsilon={"type": "number"},
    delta={"type": "number"},
    relation={"type": "string"},
    share=_NUMBER_OR_NULL,
    hierarchy={"type": ["string", "null"]},
    levels=_list({"type": "string"}),
    unit={"type": "string"},
    private={"type": "boolean"},
    not_private_because=_list({"type": "string"}),
    number={"type": "integer"},
    at=_INSTANT,
    publish_at=_INSTANT,
    next_at=_INSTANT,
    finished={"type": "boolean"},
    listed={"type": "boolean"},
    names={"type": "integer"},
    windows=_list(_WINDOW),
)
_ROW: Final = _object(item=_ITEM, share=_NUMBER_OR_NULL, **_COUNT["properties"])
_COURSE: Final = _list(_COUNT)
_CHANGE: Final = _object(
    item=_ITEM,
    before=_NUMBER_OR_NULL,
    after=_NUMBER_OR_NULL,
    low=_NUMBER_OR_NULL,
    high=_NUMBER_OR_NULL,
)
_PLACE: Final[Schema] = {
    "number": {"type": "integer"},
    "at": _INSTANT,
    "confidence": {"type": "number"},
}
_ALERTS: Final = _object(
    rules=_list(
        _object(above={"type": "number"}, item={"anyOf": [*_ITEM["anyOf"], {"type": "null"}]})
    ),
    false_alarm_rate={"type": "number"},
    readings={"type": "integer"},
    lasting={"type": "integer"},
    raised=_list(
        _object(
            id={"type": "string"},
            item=_ITEM,
            above={"type": "number"},
            begin=_INSTANT,
            end=_INSTANT,
            until={"anyOf": [_INSTANT, {"type": "null"}]},
            **_COUNT["properties"],
        )
    ),
)
_OVERVIEW_OF_ITEMS: Final = _object(
    facts=_FACTS,
    confidence={"type": "number"},
    total=_COUNT_OR_NULL,
    items=_list(_object(course=_COURSE, **_ROW["properties"])),
    last=_object(
        window={"anyOf": [_WINDOW, {"type": "null"}]}, total=_COUNT_OR_NULL, items=_list(_ROW)
    ),
    changes=_list(_CHANGE),
)
_OVERVIEW_OF_ITEMS["properties"]["alerts"] = _ALERTS  # of streams that have thresholds
_OVERVIEW_OF_DISTINCT: Final = _object(
    facts=_FACTS, confidence={"type": "number"}, total=_COUNT_OR_NULL, course=_COURSE
)
_QUANTILES: Final = _list(_object(share={"type": "number"}, course=_COURSE))
_HISTOGRAM: Final = _list(
    _object(
        **{"from": _NUMBER_OR_NULL, "to": _NUMBER_OR_NULL, "bins": {"type": "integer"}},
        **_COUNT["properties"],
    )
)
_PARTS: Final = _list(_object(range={"type": "string"}, **_COUNT["properties"]))
_OVERVIEW_OF_RANGES: Final = _object(
    facts=_FACTS,
    confidence={"type": "number"},
    total=_COUNT_OR_NULL,
    course=_COURSE,
    bits={"type": ["integer", "null"]},
    max_weight={"type": ["integer", "null"]},
    parts=_PARTS,
)
_SUMS: Final = _list(_object(item=_ITEM, sum=_COUNT, count=_COUNT, mean=_COUNT))
_OVERVIEW_OF_SUMS: Final = _object(
    facts=_FACTS,
    confidence={"type": "number"},
    total={"type": "null"},
    sums=_SUMS,
    courses=_list(_COURSE),
)
_OVERVIEW_OF_VALUES: Final = _object(
    facts=_FACTS,
    confidence={"type": "number"},
    total=_COUNT_OR_NULL,
    quantiles=_QUANTILES,
    histogram=_HISTOGRAM,
)
_OVERVIEW: Final[Schema] = {
    "anyOf": [
        _OVERVIEW_OF_ITEMS,
        _OVERVIEW_OF_DISTINCT,
        _OVERVIEW_OF_VALUES,
        _OVERVIEW_OF_RANGES,
        _OVERVIEW_OF_SUMS,
    ]
}
_DISTINCT: Final = _object(**_PLACE, windows=_list(_WINDOW), total=_COUNT_OR_NULL, course=_COURSE)
_OF_VALUES: Final[Schema] = {**_PLACE, "windows": _list(_WINDOW)}
_TOP: Final = _object(**_PLACE, windows=_list(_WINDOW), total=_COUNT_OR_NULL, items=_list(_ROW))
_NODE: Final[Schema] = {"$ref": "#/components/schemas/Node"}
_NODES: Final = _object(
    level={"type": "integer"},
    label={"type": "string"},
    own=_NUMBER_OR_NULL,
    own_share=_NUMBER_OR_NULL,
    published={"type": "boolean"},
    children=_list(_NODE),
    **_ROW["properties"],
)
_HIERARCHY: Final = _object(
    **_PLACE,
    windows=_list(_WINDOW),
    levels=_list({"type": "string"}),
    share={"type": "number"},
    totals=_list(_COUNT_OR_NULL),
    nodes=_list(_NODE),
)
_COUNTS: Final = _object(
    **_PLACE,
    windows=_list(_WINDOW),
    items=_list(_object(item=_ITEM, **_COUNT["properties"])),
)
_COURSES: Final = _object(
    **_PLACE, windows=_list(_WINDOW), items=_list(_object(item=_ITEM, course=_COURSE))
)
_CHANGES: Final = _object(**_PLACE, changes=_list(_CHANGE))
_STREAMS: Final = _object(
    public_key={"type": ["string", "null"]},
    streams=_list(
        _object(
            name={"type": "string"},
            title={"type": "string"},
            counts={"type": ["string", "null"]},
            published={"type": "boolean"},
            next_at={"anyOf": [_INSTANT, {"type": "null"}]},
        )
    ),
)
_ERROR: Final = _object(
    error=_object(argument={"type": "string"}, expected={"type": "string"}, got={"type": "string"})
)


def _parameter(name: str, schema: Schema, text: str, *, place: str = "query") -> Schema:
    return {
        "name": name,
        "in": place,
        "required": place == "path",
        "schema": schema,
        "description": text,
    }


_STREAM: Final = _parameter(
    "name", {"type": "string", "pattern": _NAME}, "Name of the stream", place="path"
)
_LAST: Final = _parameter(
    "last",
    {"type": "integer", "minimum": 1, "maximum": 65536},
    "Number of ended windows; all that are kept by default",
)
_OPEN: Final = _parameter(
    "open", {"type": "boolean"}, "Whether the published part of the open window is included"
)
_LEVEL: Final = _parameter(
    "level",
    {"type": "integer", "minimum": 0, "maximum": 63},
    "Number of a level of the hierarchy, 0 for the coarsest; the finest by default",
)
_SHARE: Final = _parameter(
    "share",
    {"type": "number", "minimum": 0.0001, "maximum": 1, "multipleOf": 0.0001},
    "Names with at least this share, with 4 decimals at most; that of the stream by default",
)
_ITEMS: Final = (
    {
        **_parameter(
            "item",
            {
                "type": "array",
                "minItems": 1,
                "maxItems": 100,
                "items": {"type": "string", "maxLength": 1024},
            },
            "The item, once or more",
        ),
        "required": True,
        "explode": True,
    },
    _parameter("type", {"enum": ["str", "int", "bytes"]}, "The type of the items"),
    _LAST,
    _OPEN,
)


def _several(name: str, one: str, text: str, *, required: bool = False) -> Schema:
    """Return a parameter that is a list between commas."""
    pattern = f"^{one}(,{one}){{0,{MOST_ASKED - 1}}}$"
    return {**_parameter(name, {"type": "string", "pattern": pattern}, text), "required": required}


def _statistics(stream: Schema) -> dict[str, Schema]:
    """Return the addresses of streams of values, of ranges and of sums."""
    n = _parameter(
        "n",
        {"type": "integer", "minimum": 1, "maximum": MOST_SUMS},
        "Number of items, without item",
    )
    ranges = _several("range", RANGE, "Networks, or two keys with a hyphen, between commas")
    shares = _several("q", SHARE, "Shares between commas, each above 0; 0.5 is the median")
    below = _several("below", VALUE, "Numbers between commas", required=True)
    rows = _parameter(
        "rows",
        {"type": "integer", "minimum": FEWEST_ROWS, "maximum": MOST_ROWS},
        "Most rows, each over several bins",
    )
    share = _object(value={"type": "number"}, **_COUNT["properties"])
    return {
        "quantiles": _get(
            "quantiles",
            "Quantiles of all values so far, and at the end of each window; null is an open end",
            _object(**_OF_VALUES, quantiles=_QUANTILES),
            [stream, shares],
        ),
        "histogram": _get(
            "histogram",
            "Numbers of values so far by range; null is an open end",
            _object(**_OF_VALUES, total=_COUNT_OR_NULL, rows=_HISTOGRAM),
            [stream, rows],
        ),
        "sums": _get(
            "sums",
            "Sums, counts and means so far of items: by default those with the largest sums",
            _object(**_OF_VALUES, sums=_SUMS),
            [stream, n, {**_ITEMS[0], "required": False}, _ITEMS[1]],
        ),
        "ranges": _get(
            "ranges",
            "Numbers of keys so far by range; by default in sixteen equal parts of all keys",
            _object(**_OF_VALUES, total=_COUNT_OR_NULL, ranges=_PARTS),
            [stream, ranges],
        ),
        "cdf": _get(
            "cdf",
            "Shares of all values so far that are below some values",
            _object(**_OF_VALUES, below=_list(share)),
            [stream, below],
        ),
    }


def _get(
    name: str,
    summary: str,
    schema: Schema | None,
    parameters: Sequence[Schema] = (),
    *,
    kind: str = "application/json",
) -> Schema:
    content: Schema = {kind: {"schema": schema or {"type": "string"}}}
    error = {"description": "Refused", "content": {"application/json": {"schema": _ERROR}}}
    return {
        "get": {
            "operationId": name,
            "summary": summary,
            "parameters": list(parameters),
            "responses": {
                "200": {"description": "Values of the last publication", "content": content},
                "304": {"description": "The reader has it"},
                "400": error,
                "404": error,
                "503": error,
            },
        }
    }


def description() -> Schema:
    """Return the OpenAPI document of the read face.

    Returns:
        A value that JSON has.
    """
    stream = [_STREAM]
    top = [
        *stream,
        _parameter("n", {"type": "integer", "minimum": 1, "maximum": 10000}, "Number of names"),
        _LAST,
        _OPEN,
        _LEVEL,
    ]
    against = _parameter("against", {"enum": ["previous", "earlier"]}, "Compared with what")
    number = _parameter("number", {"type": "integer", "minimum": 0}, "Its number", place="path")
    binary = "application/octet-stream"
    root = "/v1/streams/{name}"
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Published statistics",
            "version": __version__,
            "description": "Differentially private counts as of the last publication.",
        },
        "paths": {
            "/v1/streams": _get("streams", "All streams", _STREAMS),
            root: _get("facts", "What is said of a stream", _FACTS, stream),
            f"{root}/overview": _get("overview", "What the page shows", _OVERVIEW, stream),
            f"{root}/top": _get("top", "The heaviest names", _TOP, top),
            f"{root}/hierarchy": _get(
                "hierarchy", "Heavy names as a tree", _HIERARCHY, [*stream, _SHARE, _LAST, _OPEN]
            ),
            f"{root}/estimate": _get("estimate", "Counts of items", _COUNTS, [*stream, *_ITEMS]),
            f"{root}/course": _get(
                "course", "Counts of items in each window", _COURSES, [*stream, *_ITEMS[:2]]
            ),
            f"{root}/changes": _get("changes", "Shares that changed", _CHANGES, [*stream, against]),
            f"{root}/alerts": _get(
                "alerts",
                "Counts that are, or were, above their thresholds in a window",
                _object(number={"type": "integer"}, at=_INSTANT, **_ALERTS["properties"]),
                stream,
            ),
            f"{root}/distinct": _get(
                "distinct",
                "The number of distinct items so far, and at the end of each window",
                _DISTINCT,
                stream,
            ),
            **{f"{root}/{name}": one for name, one in _statistics(_STREAM).items()},
            f"{root}/release": _get(
                "release",
                "One table of the last windows",
                None,
                [*stream, _LAST, _LEVEL],
                kind=binary,
            ),
            f"{root}/windows/{{number}}": _get(
                "window", "The table of a window", None, [*stream, number, _LEVEL], kind=binary
            ),
            f"{root}/publication": _get(
                "publication", "Signed manifest", None, stream, kind="text/plain"
            ),
        },
        "components": {"schemas": {"Node": _NODES}},
    }
