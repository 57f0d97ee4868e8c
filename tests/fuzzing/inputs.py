"""Damaged inputs of every format, read by the package and counted by the command line.

Of every case: no panic, no crash, no hang; the exit status is 0 or 2; rows counted are rows read;
and standard error is short, and has nothing of the content of the input.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
from collections.abc import Callable, Collection
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final

from tests.fuzzing.mutations import DAMAGE
from tests.fuzzing.verdicts import CANARY, Finding, Kind, attempt, fault_of
from tests.fuzzing.whole_inputs import EXPRESSION, FIELDS, compressions, whole

from lazysketch.cli import main
from lazysketch.errors import LazySketchError
from lazysketch.sources import FORMATS, open_source

__all__ = ["FORMS", "counted_fault", "damaged_input", "read", "read_fault", "session"]

FORMS: Final = tuple(FORMATS)
_LONGEST: Final = 3000  # characters on standard error
_MOST: Final = 1 << 16  # bytes of an input


@cache
def _folder() -> Path:
    """Return a folder in memory if there is one; it is removed with the process's parent."""
    shared = Path("/dev/shm")
    made = tempfile.mkdtemp(prefix="fuzzing-", dir=shared if shared.is_dir() else None)
    Path(made, "items.txt").write_text("a\nb\n")
    return Path(made)


def damaged_input(form: str, name: str, kept: Collection[int] | None = None) -> tuple[bytes, int]:
    """Return an input with some damage, and the number of damages."""
    chance = Random(name)
    data = bytearray(chance.choice(whole()[form]))
    packed = chance.choice(compressions()) if chance.random() < 0.35 else bytes
    edits = chance.choice([0, 1, 1, 2, 3, 6])
    before = edits if chance.random() < 0.5 else edits // 2  # the rest damages the packed bytes
    for number in range(edits):
        if number == before:
            data = bytearray(packed(bytes(data)))
        if data and (kept is None or number in kept):
            own = Random(f"{name}.{number}")
            _spliced(data, own) if own.random() < 0.1 else own.choice(DAMAGE)(data, own)
    return bytes((data if before < edits else packed(bytes(data)))[:_MOST]), edits


def _spliced(data: bytearray, chance: Random) -> None:
    """Put a part of an input of any format into the data, or multiply a block of it."""
    other = chance.choice(chance.choice(list(whole().values())))
    start, end = sorted(chance.randrange(len(other) + 1) for _ in range(2))
    at = chance.randrange(len(data) + 1)
    if chance.random() < 0.5:
        data[at:at] = other[start:end]
    else:
        block = data[at : at + chance.choice([1, 16, 200])]
        data[at:at] = block * chance.choice([2, 30, 300])


def read(path: Path, **settings: Any) -> int:
    """Return the number of rows, read as the command line reads; batches must fit together."""
    rows = 0
    source = open_source([str(path)], **settings)
    for batch in source:
        rows += batch.rows
        assert len(batch.items) + len(batch.empty_rows) == batch.rows, "items and empty rows"
        if batch.times is not None:
            assert len(batch.times) == batch.rows, "times and rows"
            assert len(batch.item_times) == len(batch.items), "times and items"
        if batch.weights is not None:
            assert len(batch.weights) == len(batch.items), "weights and items"
    assert rows == source.tally.rows, "the tally of rows"
    return rows


def session(
    form: str, name: str, *, beat: Callable[[int], None], kept: Collection[int] | None = None
) -> tuple[int, list[Finding]]:
    """Read one damaged input; return the number of cases and the defects."""
    data, edits = damaged_input(form, name, kept)
    path = _folder() / f"input-{os.getpid()}"
    path.write_bytes(data)
    beat(edits)
    fault = read_fault(form, path, Random(f"{name} settings"))
    beat(edits)
    fault = fault or counted_fault(form, path, Random(f"{name} command"))
    if fault is None:
        return 2, []
    return 2, [Finding(f"inputs: {form}", name, edits, *fault)]


def read_fault(form: str, path: Path, chance: Random) -> tuple[Kind, str] | None:
    """Read the file with some settings; return what is wrong with the error, if one is raised."""
    field = FIELDS[form]
    weight = chance.choice([None, None, "b", "size"])
    settings = {
        "format": chance.choice([form, form, "auto"]),
        "field": chance.choice([field, field, "b", None]),
        "item_type": chance.choice(["str", "str", "int", None]),
        "strict": chance.random() < 0.3,
        "times": chance.random() < 0.3,
        "time": chance.choice([None, None, "a", "b", "t", "u"]),
        "encoding": chance.choice(["utf-8", "utf-8", "latin-1"]),
        "weight": weight,
        "max_weight": None if weight is None else chance.choice([1, 5, 2**63 - 1]),
        "ahead": chance.random() < 0.2,
    }
    settings.update(_of_format(str(settings["format"])))
    _, error = attempt(lambda: read(path, **settings))
    fault = None if error is None else fault_of(error)
    return None if fault is None else (fault[0], f"open_source: {fault[1]} with {settings}")


def _of_format(name: str) -> dict[str, str]:
    """Return the settings that a format needs."""
    return {"regex": EXPRESSION} if name == "regex" else {}


def _rows_of(path: Path, **settings: Any) -> int:
    """Return the rows up to the first failure."""
    source = open_source([str(path)], **settings)
    with contextlib.suppress(LazySketchError):
        for _ in source:
            pass
    return source.tally.rows


def counted_fault(form: str, path: Path, chance: Random) -> tuple[Kind, str] | None:
    """Count the file with the command; return what is wrong with what it did."""
    field, strict = FIELDS[form], chance.random() < 0.2
    named = form if chance.random() < 0.8 else "auto"
    listed = ["--domain", str(_folder() / "items.txt"), "--width", "64", "--depth", "2"]
    command = ["top", str(path), "--format", named, "--json", "--every", "1h", *listed]
    if chance.random() < 0.3:
        command = [*command[:7], "--share", "10%", "--memory", "1MB"]
    if field is not None:
        command += ["--by", field]
    if named == "regex":
        command += ["--regex", EXPRESSION]
    command += ["--strict"] if strict else []
    status, out, err, error = run(command)
    shown = f"{' '.join(command[2:])}: status {status}, {err[:600]}"
    if error is not None:
        fault = fault_of(error)
        return (
            (fault[0], f"{fault[1]}; {shown}") if fault else ("wrong class", f"{error!r}; {shown}")
        )
    if status not in (0, 2):
        return "wrong class", shown
    if "Traceback" in err or (status == 2 and not err.strip()):
        return "wrong class", shown
    if CANARY in err or len(err) > _LONGEST:
        return "message", shown
    if out:
        counted = json.loads(out.splitlines()[-1])["steps"]
        rows = _rows_of(path, format=named, field=field, strict=strict, **_of_format(named))
        if counted != rows:
            return "half applied", f"{counted} rows counted, {rows} read; {shown}"
        if form == named == "lines" and status == 0 and counted != _lines(path, counted):
            return "half applied", f"{counted} rows counted; {shown}"
    return None


def _lines(path: Path, unknown: int) -> int:
    """Return the lines of a file; ``unknown`` if it is compressed."""
    data = path.read_bytes()
    packed = data.startswith((b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd"))
    return unknown if packed else len(data.removesuffix(b"\n").split(b"\n"))


def run(command: list[str]) -> tuple[int | None, str, str, BaseException | None]:
    """Run the command in this process; return status, standard output, standard error, error."""
    out, err = io.StringIO(), io.StringIO()
    before = sys.stdin
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status, error = attempt(lambda: main(command))
    sys.stdin = before
    return status, out.getvalue(), err.getvalue(), error  # type: ignore[return-value]
