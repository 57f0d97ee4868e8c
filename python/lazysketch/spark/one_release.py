"""One private release of a column of a DataFrame: its heaviest items, or a table.

Functions of this module, and no attribute that is added to ``DataFrame``: a type checker knows
them, and an import changes no class of Spark.

Each call is a publication of its own, with fresh noise, and spends its epsilon and delta; two calls
spend both. Prefer a store (:func:`~lazysketch.spark.add_frame`) where counts are published again
and again: it has one guarantee for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from lazysketch.arguments import checked_integer
from lazysketch.heavy_hitters import HeavyHittersSpec, HeavyItems
from lazysketch.releases.release import Release
from lazysketch.spark.publication import ONE_STEP, ChargedLedger, published
from lazysketch.specification.table_spec import TableSpec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from typing_extensions import Unpack

    from lazysketch.heavy_hitters.hitters_spec import LevelsOptions
    from lazysketch.releases.items import Item
    from lazysketch.specification.sizing import SketchKind
    from lazysketch.specification.table_spec import NoiseOptions

__all__ = ["release_column", "top_items"]

_DEPTH = 4
_WIDTH = 4096


def top_items(
    frame: DataFrame,
    column: str,
    n: int = 10,
    *,
    domain: Iterable[Item] | None = None,
    weight: str | None = None,
    confidence: float = 0.95,
    most_names: int | None = None,
    ledger: ChargedLedger | None = None,
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
        schedule=ONE_STEP,
        domain=domain,
        discovery_epoch=None if domain is not None else 1,
        **options,
    )
    found: HeavyItems = published(
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
    ledger: ChargedLedger | None = None,
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
        kind=kind, depth=depth, width=width, schedule=ONE_STEP, hash_seed=hash_seed, **options
    )
    found: Release = published(
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
