"""Small valid inputs of every format and compression, whose items contain the canary."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Callable
from functools import cache
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet
from tests.fuzzing.verdicts import CANARY
from tests.oracle import captures

__all__ = ["EXPRESSION", "FIELDS", "ROWS", "compressions", "whole"]

ROWS: Final = 30
_WORDS: Final = [f"{CANARY} {n}" for n in range(ROWS)]
_LOG: Final = f'{CANARY}.{{}} - - [17/May/2015:10:05:03 +0000] "GET /p HTTP/1.1" 200 512'
_AGENT: Final = ' "-" "agent"'
_ZEEK: Final = (
    "#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n#path\tdns\n"
    "#fields\ta\tb\n#types\tstring\tcount\n"
)
# The field to count, if it is not "a".
FIELDS: Final[dict[str, str | None]] = {
    **dict.fromkeys(("csv", "tsv", "jsonl", "zeek", "parquet", "arrow"), "a"),
    "lines": None,
    "combined": "host",
    "common": "host",
    "pcap": "src",
    "w3c": "c-ip",
    "logfmt": "a",
    "regex": "a",
    "cri": "message",
    "docker": "message",
    "nginx": "client",
    **dict.fromkeys(("vhost_combined", "traefik", "traefik-json", "caddy", "cloudflare"), "host"),
    **dict.fromkeys(("alb", "elb", "haproxy", "syslog", "journald", "gelf"), "host"),
}
# The expression of the format "regex".
EXPRESSION: Final = r"(?<a>\w+ [0-9]+)=(?<b>[0-9]*)"
# A row of each log, with @ for the item and % for the number of the row.
_LOGS: Final = {
    "w3c": "#Version: 1.0\n#Fields: date time c-ip b\n2026-05-17 10:05:% @ %\n",
    "logfmt": 'at=info a="@ \\"x\\"" b=% t=2026-05-17T10:05:% idle\n',
    "regex": f"x {CANARY} %=% y\n",
    "cri": "2026-05-17T10:05:%Z stdout F @\n",
    "docker": '{"log":"@\\n","stream":"stdout","time":"2026-05-17T10:05:%Z"}\n',
    "nginx": (
        '10.0.0.1 - - [17/May/2026:10:05:% +0000] "GET /p HTTP/1.1" 200 % "-" "x" "@, 10.0.0.2"\n'
    ),
    "vhost_combined": 'www:80 @ - - [17/May/2026:10:05:% +0000] "GET /p HTTP/1.1" 200 % "-" "x"\n',
    "traefik": (
        '@ - - [17/May/2026:10:05:% +0000] "GET /p HTTP/1.1" 200 % "-" "x" 1 "r@docker" '
        '"http://10.0.0.3" 2ms\n'
    ),
    "traefik-json": '{"ClientHost":"@","DownstreamStatus":200,"DownstreamContentSize":%}\n',
    "caddy": (
        '{"ts":1.5e9,"msg":"handled request","request":{"client_ip":"@","uri":"/"},"size":%}\n'
    ),
    "cloudflare": '{"ClientIP":"@","RayID":"1","EdgeStartTimestamp":15e17,"EdgeResponseBytes":%}\n',
    "alb": (
        "h2 2026-05-17T10:05:%Z app/a @:80 10.0.0.1:80 0.1 0.1 0.1 200 200 0 % "
        '"GET http://a/ HTTP/1.1" "x" - - - "t" "a" "c"\n'
    ),
    "elb": ('2026-05-17T10:05:%Z a @:80 - -1 -1 -1 200 200 0 % "GET http://a/ HTTP/1.1" "x" - -\n'),
    "haproxy": (
        "<134>May 17 10:05:03 h haproxy[1]: @:80 [17/May/2026:10:05:%.5] a b/c 1/1/1/1/1 200 % - - "
        '---- 1/1/1/1/1 0/0 {x} "GET / HTTP/1.1"\n'
    ),
    "syslog": (
        '<34>1 2026-05-17T10:05:%Z @ su 1 - [a b="]\\""] text\n'
        "<34>May 17 10:05:% @ su[1]: text\n2026-05-17T10:05:%Z @ su: text\n"
    ),
    "journald": '{"__REALTIME_TIMESTAMP":"1","_BOOT_ID":"1","_HOSTNAME":"@","MESSAGE":[1]}\n',
    "gelf": '{"version":"1.1","host":"@","short_message":"x","level":%,"timestamp":1.5}\n',
}


def _table() -> pa.Table:
    stamps = [f"2015-05-17 10:05:{n:02}" for n in range(ROWS)]
    return pa.table(
        {
            "a": _WORDS,
            "b": list(range(ROWS)),
            "t": pa.array(range(ROWS)).cast(pa.timestamp("ms", "Europe/Berlin")),
            "u": pa.array(stamps).dictionary_encode(),
        }
    )


def _arrow(new: Callable[..., Any], table: pa.Table, **options: Any) -> bytes:
    sink = io.BytesIO()
    with new(sink, table.schema, **options) as writer:
        writer.write_table(table, max_chunksize=7)
    return sink.getvalue()


def _parquet(table: pa.Table, **options: Any) -> bytes:
    sink = io.BytesIO()
    pyarrow.parquet.write_table(table, sink, row_group_size=7, **options)
    return sink.getvalue()


def _text(row: str) -> bytes:
    return "".join(row.format(n, n) for n in range(ROWS)).encode()


def _log(rows: str) -> bytes:
    """Return the rows a number of times, with the items and numbers in place."""
    made = (rows.replace("@", f"{CANARY}.{n}").replace("%", f"{n:02}") for n in range(ROWS))
    return "".join(made).encode()


def _packets() -> list[captures.Packet]:
    return [
        captures.framed(captures.ip(f"198.51.100.{n}", "203.0.113.9"), captures.ETHERNET)
        for n in range(ROWS)
    ]


@cache
def whole() -> dict[str, list[bytes]]:
    """Return some valid inputs of each format, the simplest first."""
    table, views = _table(), pa.table({"a": pa.array(_WORDS, pa.string_view()), "b": [1] * ROWS})
    packed = pa.ipc.IpcWriteOptions(compression="zstd")
    return {
        "lines": [_text(f"{CANARY} {{}}\n"), _text(f"{CANARY} {{}}\r\n") + CANARY.encode()],
        "csv": [
            b"a,b\n" + _text(f'"{CANARY} ""{{}}""",{{}}\n'),
            b"\xef\xbb\xbfa;b;t\r\n" + _text(f"{CANARY};{{}};2015-05-17T10:05:03Z\r\n"),
        ],
        "tsv": [b"a\tb\n" + _text(f"{CANARY} {{}}\t{{}}\n")],
        "jsonl": [
            _text(f'{{{{"a": "{CANARY} {{}}", "b": {{}}, "c": {{{{"d": [1, null]}}}}}}}}\n'),
            _text('{{"a": {}, "t": "2015-05-17T10:05:03Z"}}\n'),
        ],
        "combined": [_text(_LOG + _AGENT + "\n")],
        "common": [_text(_LOG + "\n")],
        "zeek": [_ZEEK.encode() + _text(f"{CANARY} {{}}\t{{}}\n") + b"#close\tx\n"],
        "parquet": [
            _parquet(table),
            _parquet(table, compression="zstd", use_dictionary=False),
            _parquet(table, data_page_version="2.0", data_page_size=64),
        ],
        "arrow": [
            _arrow(pa.ipc.new_stream, table),
            _arrow(pa.ipc.new_file, table),
            _arrow(pa.ipc.new_stream, table, options=packed),
            _arrow(pa.ipc.new_stream, views),
        ],
        "pcap": [captures.pcap(_packets())],
        **{name: [_log(rows)] for name, rows in _LOGS.items()},
    }


def compressions() -> list[Callable[[bytes], bytes]]:
    """Return functions that compress, also into several members."""
    return [
        gzip.compress,
        lambda data: gzip.compress(data[: len(data) // 2]) + gzip.compress(data[len(data) // 2 :]),
        lambda data: gzip.compress(b"") * 20 + gzip.compress(data),
        bz2.compress,
        lambda data: bz2.compress(data[:50]) + bz2.compress(data[50:]),
        lzma.compress,
        lambda data: lzma.compress(data, check=lzma.CHECK_NONE),
        lambda data: pa.compress(data, codec="zstd", asbytes=True),
    ]
