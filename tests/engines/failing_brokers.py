"""A broker of librdkafka that a test takes down and brings back, with its messages."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any, Final

import confluent_kafka
from confluent_kafka import Producer
from tests.engines.brokers import MockBroker

_PRODUCER: Final = 0


class FailingBroker(MockBroker):
    """A broker whose groups begin without a delay, with the number 1 of its cluster."""

    def __init__(self) -> None:
        library = _library()
        error = ctypes.create_string_buffer(512)
        handle = library.rd_kafka_new(_PRODUCER, library.rd_kafka_conf_new(), error, len(error))
        assert handle, error.value
        self._library = library
        self._cluster = ctypes.c_void_p(
            library.rd_kafka_mock_cluster_new(ctypes.c_void_p(handle), 1)
        )
        library.rd_kafka_mock_group_initial_rebalance_delay_ms(self._cluster, 0)
        self.address = library.rd_kafka_mock_cluster_bootstraps(self._cluster).decode()
        self._producer = Producer({"bootstrap.servers": self.address, "log_level": 2})

    def take_down(self) -> None:
        """Close all connections, and refuse new ones."""
        assert self._library.rd_kafka_mock_broker_set_down(self._cluster, 1) == 0

    def bring_back(self) -> None:
        """Accept connections."""
        assert self._library.rd_kafka_mock_broker_set_up(self._cluster, 1) == 0


def _library() -> Any:
    """Return the library that confluent_kafka has loaded."""
    folder = Path(confluent_kafka.__file__).parent.parent / "confluent_kafka.libs"
    (path,) = folder.glob("librdkafka-*.so*")
    library = ctypes.CDLL(str(path))
    for name in ("rd_kafka_new", "rd_kafka_conf_new", "rd_kafka_mock_cluster_new"):
        getattr(library, name).restype = ctypes.c_void_p
    library.rd_kafka_new.argtypes = [
        ctypes.c_int,
        ctypes.c_void_p,
        ctypes.c_char_p,
        ctypes.c_size_t,
    ]
    library.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
    return library
