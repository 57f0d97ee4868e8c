"""What hostile values and inputs are told, as docs/testing.md says it."""

from __future__ import annotations

import gzip
import re
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet
from tests.locations import ROOT

import lazysketch as ls
from lazysketch.cli import main

_CORPUS: Final = ROOT / "tests/fuzzing/corpus/inputs"
_GIVEN: Final[dict[str, Any]] = {"epsilon": 1.0, "delta": 1e-6}
_HEAVY: Final[dict[str, Any]] = {**_GIVEN, "share": 0.2}


class _Producer:
    """Returns something from its PyCapsule method."""

    def __init__(self, produced: Callable[[], object]) -> None:
        self._produced = produced

    def __arrow_c_array__(self, requested_schema: object = None) -> object:
        return self._produced()


class _Resizing:
    """A weight that resizes the items."""

    def __init__(self, items: np.ndarray[Any, Any]) -> None:
        self._items = items

    def __index__(self) -> int:
        self._items.resize(1_000_000, refcheck=False)
        return 1


def _sketch(**options: Any) -> ls.LazyCountSketch:
    return ls.LazyCountSketch(depth=2, width=16, **_GIVEN, **options)


def _refused(call: Callable[[], object]) -> str:
    with pytest.raises((ls.LazySketchError, MemoryError)) as caught:
        call()
    return str(caught.value)


def _nested() -> str:
    items: list[object] = []
    for _ in range(40):
        items = [items, items]
    return _refused(lambda: _sketch().update_many(items))


def _without_bytes() -> str:
    array = pa.Array.from_buffers(pa.binary(0), 2**50, [None, pa.py_buffer(b"")])
    return _refused(lambda: _sketch().update_many(array))


def _malformed() -> str:
    offsets = np.array([0, 5, 1_000_000, 3], np.int32)
    buffers = [None, pa.py_buffer(offsets.tobytes()), pa.py_buffer(b"abcdef")]
    array = pa.Array.from_buffers(pa.string(), 3, buffers)
    live: list[Any] = [
        _sketch(),
        ls.CountMin(depth=2, width=16),
        ls.HeavyHitters(**_HEAVY),
        ls.HierarchicalHeavyHitters(ls.dns_names(2), **_HEAVY),
        ls.Windows(every=100, **_HEAVY),
    ]
    told = {_refused(partial(one.update_many, array)) for one in live}
    assert len(told) == 1
    assert all(one.step == 0 for one in live)
    return told.pop()


def _used() -> str:
    pair = pa.array(["a"]).__arrow_c_array__()
    sketch, producer = _sketch(), _Producer(lambda: pair)
    sketch.update_many(producer)
    told = _refused(lambda: sketch.update_many(producer))
    assert sketch.step == 1
    return told


def _swapped() -> str:
    pair = pa.array(["a"]).__arrow_c_array__()
    return _refused(lambda: _sketch().update_many(_Producer(lambda: pair[::-1])))


def _empty() -> str:
    sketch = _sketch()
    sketch.update_many(pl.Series([]))
    return f"{sketch.step} steps"


def _resized() -> str:
    items = np.arange(1_000)
    weights = [_Resizing(items)] * 1_000
    return _refused(lambda: _sketch(max_weight=5).update_many(items, weights))  # type: ignore[arg-type]


def _headerless() -> str:
    frame = pd.DataFrame({"alice@example.com": ["bob"], "3": [4], "berlin": ["paris"]})
    return _refused(lambda: _sketch().update_many(frame, column="email"))


_IN_PYTHON: Final[dict[str, Callable[[], str]]] = {
    "`update_many(range(10**10))`, an endless iterator": lambda: _refused(
        lambda: _sketch().update_many(range(10**10))
    ),
    "a list in a list, 40 deep": _nested,
    "an Arrow array of 2^50 values without bytes": _without_bytes,
    "malformed Arrow data, in every class": _malformed,
    "an Arrow capsule that was used before": _used,
    "a producer that returns None": lambda: _refused(
        lambda: _sketch().update_many(_Producer(lambda: None))
    ),
    "a producer that returns the two capsules in the wrong order": _swapped,
    "`max_item_bytes=-1`": lambda: _refused(lambda: ls.HeavyHitters(**_HEAVY, max_item_bytes=-1)),
    "`max_item_bytes=2**32`": lambda: _refused(
        lambda: ls.HeavyHitters(**_HEAVY, max_item_bytes=2**32)
    ),
    "an empty polars Series of type Null": _empty,
    "a NumPy array that a weight's `__index__` resizes": _resized,
    "a DataFrame whose header is its first row, and another column": _headerless,
}


def _columns() -> None:
    parquet.write_table(pa.table({"v": ["x"] * 9, "raw": [b"z"] * 9}), "columns.parquet")


def _repeated() -> None:
    indices = pa.array(np.zeros(200_000, np.int8))
    long = pa.DictionaryArray.from_arrays(indices, pa.array(["x" * 1_000_000]))
    parquet.write_table(pa.table({"v": long}), "long.parquet", compression="zstd")


def _stream() -> None:
    """Hashing a text again for each row took a minute."""
    indices = pa.array(np.arange(200_000, dtype=np.int32) % 28)
    texts = pa.array([chr(97 + number) * 64_000 for number in range(28)])
    table = pa.table({"v": pa.DictionaryArray.from_arrays(indices, texts)})
    with pa.ipc.new_stream("long.arrow", table.schema) as out:
        out.write_table(table)


# What is written first, and the arguments of the command.
_IN_COMMAND: Final[dict[str, tuple[Callable[[], object], list[str]]]] = {
    "`--save-release` where an earlier release is": (
        lambda: _sketch().release().save("r.lzs"),
        ["top", "lines", "--save-release", "r.lzs"],
    ),
    "a CSV file whose header is its first row": (
        lambda: Path("h.csv").write_text("alice@example.com,3\nbob@example.com,4\n"),
        ["top", "h.csv", "--by", "email"],
    ),
    "a Zeek header of 1,501 names": (
        lambda: None,
        ["top", str(_CORPUS / "long-header.zeek"), "--by", "x"],
    ),
    "1 KB of Parquet or Arrow: one text of 1 MB in 200,000 rows": (
        _repeated,
        ["top", "long.parquet", "--by", "v"],
    ),
    "8 MB of empty gzip members": (
        lambda: Path("empty.gz").write_bytes(gzip.compress(b"") * 1_000),
        ["top", "empty.gz"],
    ),
    "2 MB of Arrow: 28 texts of 64 KB in 200,000 rows": (
        _stream,
        ["top", "long.arrow", "--by", "v"],
    ),
    "`--to` before `--from`": (
        lambda: Path("t.csv").write_text("ts,v\n2026-01-01,a\n"),
        [
            *("top", "t.csv", "--by", "v", "--time", "ts", "--window", "1h"),
            *("--from", "2026-05-18", "--to", "2026-05-17"),
        ],
    ),
    "`--epsilon 100`": (lambda: None, ["top", "lines", "--epsilon", "100"]),
    "integers in JSON": (
        lambda: Path("n.jsonl").write_text('{"v": 1}\n{"v": 2}\n' * 9),
        ["top", "n.jsonl", "--by", "v"],
    ),
    "a column of bytes": (_columns, ["top", "columns.parquet", "--by", "raw"]),
    "Parquet without `--by`": (_columns, ["top", "columns.parquet"]),
    "a hash seed above 2^53, in JSON": (
        lambda: None,
        ["top", "lines", "--hash-seed", str(2**60 + 1), "--output", "json"],
    ),
    "a W3C log by another name": (
        lambda: None,
        ["top", str(_CORPUS / "iis.w3c"), "--by", "client"],
    ),
    "pairs without `--by`": (
        lambda: Path("app.log").write_text("at=info path=/a\nat=info path=/b\n"),
        ["top", "app.log"],
    ),
    "CSV without `--by`": (
        lambda: Path("v.csv").write_text("when,page\n2026-05-17,/a\n2026-05-18,/b\n"),
        ["top", "v.csv"],
    ),
    "lines of a table without a header": (
        lambda: Path("t.txt").write_text("ann;1\nbob;2\neve;3\n"),
        ["top", "t.txt"],
    ),
    "`--regex` that is none": (lambda: None, ["top", "lines", "--regex", "(?<a>"]),
}

_COUNTED: Final = {
    "a hash seed above 2^53, in JSON",
    "2 MB of Arrow: 28 texts of 64 KB in 200,000 rows",
    *(given for given in _IN_COMMAND if given.startswith("lines of")),
}

# What needs a process, a limit or a clock: the test that makes it.
_ELSEWHERE: Final = {
    "a second Ctrl-C or SIGTERM, 0 to 500 ms after the first": (
        "faults/test_command_signals.py::test_two_signals_at_random_moments"
    ),
    "a closed terminal (SIGHUP)": "faults/test_command_signals.py::test_a_closed_terminal",
    "a disk that is full when the release is saved": (
        "faults/test_command_signals.py::test_a_limit_of_file_size"
    ),
    "`kill -9` with `--save-every`": (
        "faults/test_command_signals.py::test_a_kill_loses_the_last_interval_only"
    ),
    "Ctrl-C before any row": (
        "unit/cli/run/test_processes.py::test_ctrl_c_before_the_first_row_is_clean"
    ),
    "`LazyCountMin(depth=16, width=2**24)` without the memory": (
        "hostile/test_memory.py::test_too_little_memory_raises_and_changes_nothing"
    ),
}


def _documented() -> dict[str, list[str]]:
    """Return the answers of the table, per row."""
    text = (ROOT / "docs/testing.md").read_text(encoding="utf-8")
    begin, end = "<!-- tests/hostile/test_answers.py -->", "<!-- end of the answers -->"
    rows = text.partition(begin)[2].partition(end)[0].strip().splitlines()[2:]
    cells = [row.strip("| ").split(" | ") for row in rows]
    # Answers are code; "0 steps" has none, so a cell without code is one.
    return {given: re.findall("`([^`]+)`", now) or [now] for given, now in cells}


def test_every_answer_has_a_test() -> None:
    made = [*_IN_PYTHON, *_IN_COMMAND, *_ELSEWHERE]
    assert sorted(made) == sorted(_documented())
    for place in _ELSEWHERE.values():
        path, _, name = place.partition("::")
        assert f"def {name}(" in (ROOT / "tests" / path).read_text(encoding="utf-8")


@pytest.mark.parametrize("given", _IN_PYTHON)
def test_an_answer_in_python(given: str) -> None:
    assert [_IN_PYTHON[given]()] == _documented()[given]


@pytest.mark.parametrize("given", _IN_COMMAND)
def test_an_answer_of_the_command(
    given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("lines").write_text("a\nb\n" * 50)
    write, arguments = _IN_COMMAND[given]
    write()
    begun = time.process_time()
    budget = [] if "--epsilon" in arguments else ["--epsilon", "1"]
    status = main([*arguments, *budget, "--delta", "1e-6"])
    shown = "".join(capsys.readouterr())
    for answer in _documented()[given]:
        assert answer in shown
    assert status == (0 if given in _COUNTED else 2)
    assert "alice" not in shown
    assert time.process_time() - begun < 20  # each takes well below two
