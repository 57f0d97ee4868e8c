"""One private release of a column of a DataFrame: heavy items, a table, or another statistic.

Functions of this module, and no attribute that is added to ``DataFrame``: a type checker knows
them, and an import changes no class of Spark.

Each call is a publication of its own, with fresh noise, and spends its epsilon and delta; two calls
spend both. Prefer a store (:func:`~lazysketch.spark.add_frame`) where counts are published again
and again: it has one guarantee for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Protocol

from lazysketch.arguments import checked_integer
from lazysketch.errors import ArgumentTypeError
from lazysketch.heavy_hitters import HeavyHittersSpec, HeavyItems
from lazysketch.privacy.composable import Composable
from lazysketch.releases.release import Release
from lazysketch.sketches.keys import Key
from lazysketch.spark.columns import count_column
from lazysketch.spark.sink import add_frame
from lazysketch.specification.distinct_spec import distinct_spec
from lazysketch.specification.distribution_spec import distribution_spec
from lazysketch.specification.schedules import Batch
from lazysketch.specification.table_spec import TableSpec
from lazysketch.store import NO_ANCHOR, open_store

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import DataFrame
    from typing_extensions import Unpack

    from lazysketch.heavy_hitters.hitters_spec import LevelsOptions
    from lazysketch.releases.distinct_release import DistinctRelease
    from lazysketch.releases.distribution_release import DistributionRelease
    from lazysketch.releases.items import Item
    from lazysketch.specification.distinct_spec import DistinctOptions
    from lazysketch.specification.distribution_spec import DistributionOptions
    from lazysketch.specification.sizing import SketchKind
    from lazysketch.specification.table_spec import NoiseOptions

__all__ = ["release_column", "release_distinct", "release_values", "top_items"]

_DEPTH = 4
_WIDTH = 4096
_ONE: Batch = Batch(horizon=1)


class _Charged(Protocol):
    def close(self) -> None: ...


class _Ledger(Protocol):
    """A :class:`~lazysketch.Ledger`, which is a floor above."""

    def charge(self, *parts: Composable, note: str = "") -> _Charged: ...


def top_items(
    frame: DataFrame,
    column: str,
    n: int = 10,
    *,
    domain: Iterable[Item] | None = None,
    weight: str | None = None,
    confidence: float = 0.95,
    most_names: int | None = None,
    ledger: _Ledger | None = None,
    note: str = "",
    **options: Unpack[LevelsOptions],
) -> HeavyItems:
    """Return the heaviest items of a column, privately and once.

    Rows without an item, and with a weight that is no integer of at least 0, are not counted.

    Guarantee: (``epsilon``, ``delta``)-DP for the list, with names discovered privately unless
        ``domain`` lists them. A further call has fresh noise and spends as much again. Executors
        draw no noise and return ciphertext; the key is forgotten with the call.

    Args:
        frame: Any DataFrame; it is run once.
        column: Text, binary or integers.
        n: Number of items, 1 or more.
        domain: The public list of items; None to discover them, for which ``share`` is required.
        weight: A column of integers, or None for weight 1.
        confidence: For all intervals together, above 0 and below 1.
        most_names: Distinct items of one partition of the frame, at most; 2^20 by default.
        ledger: A :class:`~lazysketch.Ledger` that is charged before anything is counted.
        note: What the ledger records.
        **options: ``epsilon`` and ``delta``; ``share``, ``relation``, ``max_events_per_user``,
            ``max_weight`` (larger weights are clipped to it) and the others of
            :class:`~lazysketch.HeavyHitters`.

    Returns:
        At most n items with estimate, interval and share; fewer if fewer names are published.

    Raises:
        ArgumentTypeError: A wrong type; no share and no domain.
        ArgumentValueError: A value outside its range.
        CapError: The ledger refuses; nothing was counted.

    Source: docs/scale.md, "One list of a DataFrame".

    Example:
        >>> from pyspark.sql import SparkSession
        >>> from lazysketch.spark import top_items
        >>> spark = SparkSession.builder.getOrCreate()
        >>> frame = spark.range(30_000).selectExpr("concat('user ', id % 3) as user")
        >>> found = top_items(frame, "user", 2, share=0.1, epsilon=1.0, delta=1e-8)
        >>> len(found), 9_000 < found[0].estimate < 11_000
        (2, True)
    """
    most = checked_integer("n", n)
    spec = HeavyHittersSpec.of(
        schedule=_ONE, domain=domain, discovery_epoch=None if domain is not None else 1, **options
    )
    found: HeavyItems = _published(
        frame,
        column,
        spec,
        opened=lambda store: store.heavy_hitters("column", spec),
        read=lambda live: live.top(most, confidence=confidence),
        weight=weight,
        max_weight=spec.table.max_weight,
        ledger=ledger,
        note=note,
        most_names=most_names,
    )
    return found


def release_column(
    frame: DataFrame,
    column: str,
    *,
    kind: SketchKind = "count-min",
    depth: int = _DEPTH,
    width: int = _WIDTH,
    hash_seed: int | None = None,
    weight: str | None = None,
    ledger: _Ledger | None = None,
    note: str = "",
    **options: Unpack[NoiseOptions],
) -> Release:
    """Return a private table of a column, once: for estimates of any items, at any time.

    Rows without an item, and with a weight that is no integer of at least 0, are not counted.

    Guarantee: (``epsilon``, ``delta``)-DP for the release, however often it is queried. A further
        call has fresh noise and spends as much again. Executors draw no noise and return
        ciphertext; the key is forgotten with the call.

    Args:
        frame: Any DataFrame; it is run once.
        column: Text, binary or integers.
        kind: ``"count-min"`` or ``"count-sketch"``.
        depth: Rows of the table, 1 to 64.
        width: Columns of the table, 1 to 2^24. Each partition of the frame returns 4 or 8 bytes
            for each cell.
        hash_seed: Public seed, 0 to 2^64 - 1; a fresh one when None.
        weight: A column of integers, or None for weight 1.
        ledger: A :class:`~lazysketch.Ledger` that is charged before anything is counted.
        note: What the ledger records.
        **options: ``epsilon`` and ``delta``; ``relation``, ``mechanism``, ``max_weight`` (larger
            weights are clipped to it) and ``max_events_per_user``.

    Returns:
        A release that holds no secret: query, save and merge it anywhere.

    Raises:
        ArgumentTypeError: A wrong type.
        ArgumentValueError: A value outside its range.
        CapError: The ledger refuses; nothing was counted.

    Source: docs/scale.md, "One list of a DataFrame".

    Example:
        >>> from pyspark.sql import SparkSession
        >>> from lazysketch.spark import release_column
        >>> spark = SparkSession.builder.getOrCreate()
        >>> frame = spark.range(30_000).selectExpr("concat('user ', id % 3) as user")
        >>> release = release_column(frame, "user", epsilon=1.0, delta=1e-8)
        >>> 9_000 < release.estimate("user 1") < 11_000
        True
    """
    spec = TableSpec(
        kind=kind, depth=depth, width=width, schedule=_ONE, hash_seed=hash_seed, **options
    )
    found: Release = _published(
        frame,
        column,
        spec,
        opened=lambda store: store.sketch("column", spec),
        read=lambda live: live.release(),
        weight=weight,
        max_weight=spec.max_weight,
        ledger=ledger,
        note=note,
    )
    return found


def release_distinct(
    frame: DataFrame,
    column: str,
    *,
    ledger: _Ledger | None = None,
    note: str = "",
    **options: Unpack[DistinctOptions],
) -> DistinctRelease:
    """Return how many different items a column has, privately and once.

    Rows without an item are not counted.

    Guarantee: (``epsilon``, ``delta``)-DP for the release, for all rows of one item together: of a
        person, where items are people. A further call has fresh noise and spends as much again.
        Executors draw no noise and return ciphertext; the key is forgotten with the call.

    Args:
        frame: Any DataFrame; it is run once.
        column: Text, binary or integers.
        ledger: A :class:`~lazysketch.Ledger` that is charged before anything is counted.
        note: What the ledger records.
        **options: ``epsilon`` and ``delta``; ``relation``, ``bits``, ``levels``, ``mechanism`` and
            ``hash_seed`` of :class:`~lazysketch.DistinctCount`. Each partition of the frame
            returns ``bits * levels / 8`` bytes, 64 KB by default.

    Returns:
        A release that holds no secret: an estimate, and intervals.

    Raises:
        ArgumentTypeError: A wrong type.
        ArgumentValueError: A value outside its range.
        CapError: The ledger refuses; nothing was counted.

    Source: docs/scale.md, "One list of a DataFrame".

    Example:
        >>> from pyspark.sql import SparkSession
        >>> from lazysketch.spark import release_distinct
        >>> spark = SparkSession.builder.getOrCreate()
        >>> frame = spark.range(60_000).selectExpr("concat('user ', id % 20000) as user")
        >>> release = release_distinct(frame, "user", epsilon=1.0, delta=1e-8)
        >>> 18_000 < release.estimate() < 22_000
        True
    """
    spec = _for_one_step(distinct_spec, options)
    found: DistinctRelease = _published(
        frame,
        column,
        spec,
        opened=lambda store: store.distinct("column", spec),
        read=lambda live: live.release(),
        ledger=ledger,
        note=note,
    )
    return found


def release_values(
    frame: DataFrame,
    column: str,
    *,
    ledger: _Ledger | None = None,
    note: str = "",
    **options: Unpack[DistributionOptions],
) -> DistributionRelease:
    """Return the distribution of a column of numbers, privately and once.

    Rows without a number, and with NaN, are not counted.

    Guarantee: (``epsilon``, ``delta``)-DP for the release, however many quantiles are read of it.
        A further call has fresh noise and spends as much again. Executors draw no noise and return
        ciphertext; the key is forgotten with the call.

    Args:
        frame: Any DataFrame; it is run once.
        column: Numbers: integers, floats or decimals.
        ledger: A :class:`~lazysketch.Ledger` that is charged before anything is counted.
        note: What the ledger records.
        **options: ``bins``, ``epsilon`` and ``delta``; ``relation``, ``mechanism``, ``value_rows``
            and ``max_events_per_user`` of :class:`~lazysketch.Distribution`.

    Returns:
        A release that holds no secret: quantiles, a histogram and counts of ranges.

    Raises:
        ArgumentTypeError: A wrong type.
        ArgumentValueError: A value outside its range.
        CapError: The ledger refuses; nothing was counted.

    Source: docs/scale.md, "One list of a DataFrame".

    Example:
        >>> from pyspark.sql import SparkSession
        >>> import lazysketch as ls
        >>> from lazysketch.spark import release_values
        >>> spark = SparkSession.builder.getOrCreate()
        >>> frame = spark.range(10_000).selectExpr("id / 100 as ms")
        >>> release = release_values(
        ...     frame, "ms", bins=ls.Bins.linear(0, 100), epsilon=1.0, delta=1e-8
        ... )
        >>> 48 < release.quantile(0.5).estimate < 52
        True
    """
    spec = _for_one_step(distribution_spec, options)
    found: DistributionRelease = _published(
        frame,
        column,
        spec,
        opened=lambda store: store.distribution("column", spec),
        read=lambda live: live.release(),
        ledger=ledger,
        note=note,
    )
    return found


def _for_one_step(make: Callable[..., TableSpec], options: Mapping[str, Any]) -> TableSpec:
    for name in ("horizon", "schedule"):
        if name in options:
            raise ArgumentTypeError(f"{name}: expected none for one release, got one")
    return make(schedule=_ONE, **options)


def _published(
    frame: DataFrame,
    column: str,
    spec: HeavyHittersSpec | TableSpec,
    *,
    opened: Callable[[Any], Any],
    read: Callable[[Any], Any],
    ledger: _Ledger | None,
    note: str,
    weight: str | None = None,
    max_weight: int = 1,
    most_names: int | None = None,
) -> Any:
    """Charge the ledger, count in a store of this call, and return what is read of it."""
    if weight is None and max_weight != 1:
        raise ArgumentTypeError(f"weight: expected a column with max_weight {max_weight}, got none")
    with TemporaryDirectory() as folder:
        store = open_store(Path(folder, "store"), key=Key.generate(), anchor=NO_ANCHOR)
        with store:
            live = opened(store)
            described = {} if most_names is None else {"most_names": most_names}
            counted = count_column(
                frame,
                column,
                spec=live.partial_spec(**described),
                input="one release",
                weight=weight,
                max_weight=None if weight is None else max_weight,
            )
            with _charged(spec, ledger, note):
                add_frame(store, "frame", 1, counted, into=live)
                return read(live)


@contextmanager
def _charged(
    spec: HeavyHittersSpec | TableSpec, ledger: _Ledger | None, note: str
) -> Iterator[None]:
    if ledger is None:
        yield
        return
    run = ledger.charge(spec, note=note)
    try:
        yield
    finally:
        run.close()  # nothing is counted any more: the store is gone
