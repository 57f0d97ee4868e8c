"""Inputs that have no rows of text: refused with the command that makes rows of them."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from pathlib import Path

import pytest

from lazysketch.errors import SourceError
from lazysketch.sources import open_source

ROWS = "secret\n" * 9


def zipped() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("rows.txt", ROWS)
    return file.getvalue()


def tarred(mode: str) -> bytes:
    file = io.BytesIO()
    member = tarfile.TarInfo("rows.txt")
    member.size = len(ROWS)
    with tarfile.open(fileobj=file, mode=mode) as archive:  # type: ignore[call-overload]
        archive.addfile(member, io.BytesIO(ROWS.encode()))
    return file.getvalue()


@pytest.mark.parametrize(
    ("name", "data", "kind", "advice"),
    [
        ("a.zip", zipped(), "a zip archive", "unzip -p FILE |"),
        ("a.xlsx", zipped(), "a spreadsheet", "save it as CSV"),
        ("a.tar", tarred("w"), "a tar archive", "tar -xOf FILE |"),
        ("a.tgz", tarred("w:gz"), "a tar archive", "tar -xOf FILE |"),
        ("a.txt", ROWS.encode("utf-16"), "text in UTF-16", "iconv -f UTF-16 -t UTF-8 FILE |"),
        ("a.csv", b"\xfe\xff" + ROWS.encode("utf-16-be"), "text in UTF-16", "iconv "),
        ("a.lz4", b"\x04\x22\x4d\x18rest\n", "lz4 data", "lz4 -dc FILE |"),
        ("a", b"LPKSHHRH\0\0\n", "a journal of systemd", "journalctl -o json --file FILE |"),
    ],
    ids=["zip", "spreadsheet", "tar", "tar.gz", "little", "big", "lz4", "journal"],
)
def test_what_has_no_rows_is_refused(
    tmp_path: Path, name: str, data: bytes, kind: str, advice: str
) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(SourceError, match=f"got {kind}; .*{advice}".replace("|", r"\|")) as caught:
        list(open_source(path))
    assert "secret" not in str(caught.value)
    # Where the format is named, nothing is guessed: rows that do not decode are malformed.
    source = open_source(path, format="lines")
    assert sum(batch.rows for batch in source) >= 1


def test_a_row_of_two_odd_bytes_is_no_text_in_utf_16(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xff\xfe\nann\nbob\n")
    assert sum(batch.rows for batch in open_source(path)) == 3


def test_a_json_document_is_no_list_of_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps([{"page": "secret"}, {"page": "/b"}]))
    source = open_source(path)
    assert sum(batch.rows for batch in source) == 1
    (hint,) = source.tally.hints
    assert "jq -c '.[]' FILE | lazysketch top - --format jsonl --by KEY" in hint
    assert "secret" not in hint
    with pytest.raises(SourceError, match="look like a JSON document"):
        list(open_source(path, field="page"))
