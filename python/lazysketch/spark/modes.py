"""Sessions and queries in which a step could be counted twice or published before its commit.

Spark keeps what a tick is before it runs the tick, and that it is done after the store has it. Two
modes break this order. Real-Time Mode runs one long batch, whose offsets are kept at its end; with
asynchronous progress tracking they are kept at any time later. After a crash either could count a
second input under the number of the first. Both are refused in the first batch, before the commit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lazysketch.errors import ArgumentTypeError, ArgumentValueError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["check_query", "check_session"]


def check_session(session: SparkSession) -> None:
    """Raise unless a session runs in this process.

    Args:
        session: That of a driver.

    Raises:
        ArgumentTypeError: A session of Spark Connect, whose sinks run in another process than this
            one, which has the store; or no session.
    """
    if not hasattr(session, "_jsparkSession"):
        raise ArgumentTypeError(
            "session: expected a classic SparkSession, in the process that has the store, got "
            f"{type(session).__module__}.{type(session).__name__}"
        )


def check_query(session: SparkSession) -> None:
    """Raise unless the query of this batch keeps its offsets in order.

    Args:
        session: The one that the query was started in.

    Raises:
        ArgumentValueError: Real-Time Mode, asynchronous progress tracking, a continuous query, or a
            batch outside of a query of this session.
    """
    classic: Any = session
    number = classic.sparkContext.getLocalProperty("sql.streaming.queryId")
    query = None if number is None else classic._jsparkSession.streams().get(number)
    if query is None:
        raise ArgumentValueError(
            "query: expected a batch of a streaming query of the session that the sink was made "
            "with, got another"
        )
    execution = query.streamingQuery() if hasattr(query, "streamingQuery") else query
    kind = execution.getClass().getSimpleName()
    trigger = execution.trigger().getClass().getSimpleName()
    if "RealTime" in trigger:
        raise ArgumentValueError(
            "trigger: expected processingTime or availableNow, got Real-Time Mode, which keeps its "
            "offsets after the batch"
        )
    if kind != "MicroBatchExecution":
        got = "asyncProgressTrackingEnabled" if kind.startswith("Async") else kind
        raise ArgumentValueError(
            f"query: expected one that keeps its offsets before each batch, got {got}"
        )
