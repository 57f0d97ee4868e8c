"""One private release of a column of a DataFrame: distinct items, quantiles, ranges of keys, sums.

As of :mod:`~lazysketch.spark.one_release`, each call is a publication of its own, with fresh noise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lazysketch.errors import ArgumentTypeError
from lazysketch.spark.publication import ONE_STEP, ChargedLedger, published
from lazysketch.specification.distinct_spec import distinct_spec
from lazysketch.specification.distribution_spec import distribution_spec
from lazysketch.specification.ranges_spec import ranges_spec
from lazysketch.store.store import Store
from lazysketch.sums.sums_spec import sums_spec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame
    from typing_extensions import Unpack

    from lazysketch.releases.distinct_release import DistinctRelease
    from lazysketch.releases.distribution_release import DistributionRelease
    from lazysketch.releases.ranges_release import RangesRelease
    from lazysketch.releases.sums_release import SumsRelease
    from lazysketch.specification.distinct_spec import DistinctOptions
    from lazysketch.specification.distribution_spec import DistributionOptions
    from lazysketch.specification.ranges_spec import RangesOptions
    from lazysketch.specification.table_spec import TableSpec
    from lazysketch.sums.sums_spec import SumsOptions, SumsSpec

__all__ = ["release_distinct", "release_ranges", "release_sums", "release_values"]


def release_distinct(
    frame: DataFrame,
    column: str,
    *,
    ledger: ChargedLedger | None = None,
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
    found: DistinctRelease = _released(
        frame, column, distinct_spec, Store.distinct, options, ledger=ledger, note=note
    )
    return found


def release_values(
    frame: DataFrame,
    column: str,
    *,
    ledger: ChargedLedger | None = None,
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
    found: DistributionRelease = _released(
        frame, column, distribution_spec, Store.distribution, options, ledger=ledger, note=note
    )
    return found


def release_ranges(
    frame: DataFrame,
    column: str,
    *,
    ledger: ChargedLedger | None = None,
    note: str = "",
    **options: Unpack[RangesOptions],
) -> RangesRelease:
    """Return counts of ranges of a column of keys, such as addresses, privately and once.

    Rows without a key of so many bits are not counted.

    Guarantee: (``epsilon``, ``delta``)-DP for the release, however many ranges are read of it. A
        further call has fresh noise and spends as much again. Executors draw no noise and return
        ciphertext; the key is forgotten with the call.

    Args:
        frame: Any DataFrame; it is run once.
        column: Integers, text of integers, or addresses: IPv4 for 32 bits, IPv6 for 64.
        ledger: A :class:`~lazysketch.Ledger` that is charged before anything is counted.
        note: What the ledger records.
        **options: ``epsilon`` and ``delta``; ``bits``, ``width``, ``relation``, ``mechanism``,
            ``max_events_per_user`` and ``hash_seed`` of :class:`~lazysketch.Ranges`. Each partition
            of the frame returns 4 bytes for each of ``bits * width`` cells, 512 KB by default.

    Returns:
        A release that holds no secret: counts of ranges and prefixes.

    Raises:
        ArgumentTypeError: A wrong type.
        ArgumentValueError: A value outside its range, or a bound per person.
        CapError: The ledger refuses; nothing was counted.

    Source: docs/scale.md, "One list of a DataFrame".

    Example:
        >>> from pyspark.sql import SparkSession
        >>> from lazysketch.spark import release_ranges
        >>> spark = SparkSession.builder.getOrCreate()
        >>> frame = spark.range(10_000).selectExpr("concat('10.0.', id % 200, '.1') as ip")
        >>> release = release_ranges(frame, "ip", epsilon=1.0, delta=1e-8)
        >>> 9_500 < release.prefix("10.0.0.0/16").estimate < 10_500
        True
    """
    found: RangesRelease = _released(
        frame, column, ranges_spec, Store.ranges, options, ledger=ledger, note=note
    )
    return found


def release_sums(
    frame: DataFrame,
    column: str,
    value: str,
    *,
    ledger: ChargedLedger | None = None,
    note: str = "",
    **options: Unpack[SumsOptions],
) -> SumsRelease:
    """Return sums, counts and means of a column of numbers by item, privately and once.

    Rows without an item, without a value, and with NaN, are not counted.

    Guarantee: (``epsilon``, ``delta``)-DP for the release, however many sums are read of it. A
        further call has fresh noise and spends as much again. Executors draw no noise and return
        ciphertext; the key is forgotten with the call.

    Args:
        frame: Any DataFrame; it is run once.
        column: The items: text, binary or integers.
        value: Numbers: integers, floats or decimals; beyond ``low`` and ``high`` they count as
            these.
        ledger: A :class:`~lazysketch.Ledger` that is charged before anything is counted.
        note: What the ledger records.
        **options: ``low``, ``high``, ``epsilon`` and ``delta``; ``step``, ``depth``, ``width``,
            ``relation``, ``mechanism``, ``max_events_per_user``, ``count_share`` and ``hash_seed``
            of :class:`~lazysketch.Sums`. Each partition of the frame returns 16 bytes for each of
            ``depth * width`` cells, 80 KB by default.

    Returns:
        A release that holds no secret: sums, counts and means of any items, with intervals.

    Raises:
        ArgumentTypeError: A wrong type.
        ArgumentValueError: A value outside its range, or a bound per person.
        CapError: The ledger refuses; nothing was counted.

    Source: docs/scale.md, "One list of a DataFrame".

    Example:
        >>> from pyspark.sql import SparkSession
        >>> from lazysketch.spark import release_sums
        >>> spark = SparkSession.builder.getOrCreate()
        >>> frame = spark.range(30_000).selectExpr("concat('shop ', id % 3) as shop", "id % 7 as x")
        >>> release = release_sums(
        ...     frame, "shop", "x", low=0, high=6, step=1, epsilon=1.0, delta=1e-8
        ... )
        >>> 28_000 < release.sum("shop 1").estimate < 32_000
        True
    """
    found: SumsRelease = _released(
        frame, column, sums_spec, Store.sums, options, ledger=ledger, note=note, value=value
    )
    return found


def _released(
    frame: DataFrame,
    column: str,
    make: Callable[..., TableSpec | SumsSpec],
    opened: Callable[[Store, str, Any], Any],
    options: Mapping[str, Any],
    *,
    ledger: ChargedLedger | None,
    note: str,
    value: str | None = None,
) -> Any:
    """Return one release of a column: ``make`` describes it, ``opened`` is a method of a store."""
    for name in ("horizon", "schedule"):
        if name in options:
            raise ArgumentTypeError(f"{name}: expected none for one release, got one")
    spec = make(schedule=ONE_STEP, **options)
    return published(
        frame,
        column,
        spec,
        opened=lambda store: opened(store, "column", spec),
        read=lambda live: live.release(),
        ledger=ledger,
        note=note,
        value=value,
    )
