"""Logs of three days, counted by the executors of Spark: each day is one step of a private table.

Needs `pip install 'lazysketch[spark]'` and Java 17 or newer.

python examples/spark_daily_logs.py [FOLDER]
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import lazysketch as ls
import lazysketch.spark as lazy

PAGES = ["/", "/prices", "/docs", "/jobs", "/press"]
DAYS = 3
VISITS = 20_000  # a day, in four files


def main(folder: Path) -> None:
    """Write the logs of a day, let Spark count them, publish; then the next day."""
    folder = folder.resolve()  # the JVM has a working directory of its own
    logs, state = folder / "logs", folder / "state"
    logs.mkdir(parents=True)
    spark = SparkSession.builder.master("local[2]").getOrCreate()
    lazy.register(spark)
    table = ls.TableSpec(
        kind="count-min",
        depth=4,
        width=1024,
        schedule=ls.Batch(horizon=365),
        epsilon=1.0,
        delta=1e-8,
    )
    published: list[ls.Release] = []
    store = ls.open_store(
        folder / "visits.store", key=ls.Key.generate(), anchor=folder / "visits.anchor"
    )
    with store:
        visits = store.sketch("visits", table)
        sink = lazy.StoreSink(
            spark, store, "visits", into=visits, state=state, publish=published.append
        )
        for day in range(1, DAYS + 1):
            write_logs(logs, day)
            ticks = spark.readStream.format("lazysketch")
            ticks = ticks.options(path=str(logs), format="lines", state=str(state), settled="0")
            query = ticks.load().writeStream.foreachBatch(sink)
            query = query.option("checkpointLocation", str(folder / "checkpoint"))
            query.trigger(availableNow=True).start().awaitTermination()  # one tick
            release = published[-1]
            best = ", ".join(
                f"{hitter.item} {hitter.estimate:,.0f}" for hitter in release.top(PAGES, 3)
            )
            print(f"day {release.step}: {best}")
    spark.stop()
    print(published[-1].privacy)


def write_logs(folder: Path, day: int) -> None:
    """Write four files of one day."""
    chance = random.Random(day)
    for number in range(4):
        pages = chance.choices(PAGES, weights=[8, 4, 3, 2, 1], k=VISITS // 4)
        (folder / f"{day}-{number}.txt").write_text("\n".join(pages) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1] if sys.argv[1:] else "."))
