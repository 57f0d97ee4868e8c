"""Spark sessions of tests, and streams of ticks that run to their end."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

# Executors run the interpreter and the packages of the tests.
os.environ["PYSPARK_PYTHON"] = sys.executable
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")


def session_of(folder: Path, *, master: str = "local[2,4]", **settings: str) -> SparkSession:
    """Return a session that keeps all of its files in a folder; a task is tried four times."""
    builder: Any = SparkSession.builder.master(master)
    fixed = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
        # A worker may start slowly where other tests run.
        "spark.python.authenticate.socketTimeout": "180s",
        "spark.network.timeout": "600s",
        "spark.sql.shuffle.partitions": "2",
        "spark.log.level": "ERROR",
    }
    for name, value in {**fixed, **settings}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def run_ticks(
    session: SparkSession,
    sink: Any,
    folder: Path,
    ticks: int,
    *,
    form: str = "lazysketch",
    **options: str,
) -> None:
    """Run a query for some ticks, each as by a clock; raise what stopped it."""
    stream = session.readStream.format(form).options(**options)
    tries = 5
    while ticks:
        writer = stream.load().writeStream.foreachBatch(sink)
        writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
        query = writer.trigger(availableNow=True).start()
        try:
            query.awaitTermination()
        except StreamingQueryException as error:
            # Spark gives the process that plans ten seconds to start, on a busy machine too few.
            tries -= 1
            if not tries or "failed to connect back" not in str(error):
                raise
            continue
        ticks -= 1
