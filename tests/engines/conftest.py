"""What tests of engines share: a store, and a session of Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.unit.store.lives import Lives


@pytest.fixture
def lives(tmp_path: Path) -> Lives:
    return Lives(tmp_path)


@pytest.fixture(scope="session")
def real_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A broker of Apache Kafka; skipped where it is not installed."""
    pytest.importorskip("confluent_kafka")
    from tests.engines.real_brokers import RealBroker, missing, skip_or_fail

    if what := missing():
        skip_or_fail(what)
    found = RealBroker(tmp_path_factory.mktemp("kafka"))
    yield found
    found.stop()


@pytest.fixture(scope="session")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One session of two cores: a second costs ten seconds."""
    pytest.importorskip("pyspark")
    from tests.engines.sessions import session_of

    import lazysketch.spark

    found = session_of(tmp_path_factory.mktemp("spark"))
    lazysketch.spark.register(found)
    yield found
    found.stop()
