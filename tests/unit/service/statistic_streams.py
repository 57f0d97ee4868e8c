"""Streams of one statistic: events of a stream, its publications, and its readers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import pyarrow as pa
from starlette.testclient import TestClient
from tests.unit.service.publications import Service

from lazysketch.service.host import Host
from lazysketch.service.publication import Publication, SignedPublication
from lazysketch.service.publication_files import PublicationFiles
from lazysketch.service.reading.application import reading_application
from lazysketch.service.reading.published_streams import PublishedStreams


def send(host: Host, items: object, number: int = 0, *, name: str = "people") -> bool:
    """Count a batch; one with a number is the batch of that number of a sender."""
    sources = {"sender": number} if number else {}
    return host.store.ingest_several(sources, items, into=host.stream(name).counts, durable=True)


def signed(host: Host, name: str = "people") -> SignedPublication:
    found = host.files.read_signed(name)
    assert found is not None
    return found


def publication(host: Host, name: str = "people") -> Publication:
    return host.files.read(signed(host, name), name)


def client(service: Service) -> TestClient:
    service.clock.now += 3.0  # after the delay
    streams = PublishedStreams(PublicationFiles(service.folder / "public"), clock=service.clock)
    asyncio.run(streams.look())
    return TestClient(reading_application(streams))


def arrow_of(field: str, items: Sequence[object]) -> bytes:
    """Return a batch of one column as an Arrow stream."""
    return arrow_of_columns({field: items})


def arrow_of_columns(columns: Mapping[str, Sequence[object]]) -> bytes:
    """Return a batch of some columns as an Arrow stream."""
    table = pa.table({field: pa.array(items) for field, items in columns.items()})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()
