"""The description of heavy hitters: a table, discovery or a public list, and the wanted share.

Every default depends on public arguments only; nothing here reads a stream.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypedDict

from lazysketch.arguments import checked_integer, checked_real
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.heavy_hitters.default_width import CELL_BYTES, default_width
from lazysketch.heavy_hitters.discovery_spec import LARGEST_EPOCH, DiscoverySpec, discovery_for
from lazysketch.heavy_hitters.joint_privacy import JointPrivacy, Split, split_of
from lazysketch.privacy.accounting import Privacy
from lazysketch.privacy.relations import LARGEST_DEPTH, people_changed
from lazysketch.releases.items import Item, checked_domain
from lazysketch.specification.schedules import Batch, Schedule
from lazysketch.specification.sizing import LARGEST_WIDTH, SketchKind, checked_sketch_kind
from lazysketch.specification.table_spec import NoiseOptions, TableOptions, TableSpec

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = [
    "CELL_BYTES",
    "DEPTH",
    "ITEM_BYTES",
    "LEAST_MEMORY",
    "MEMORY",
    "HeavyHittersSpec",
    "HittersOptions",
    "LevelsOptions",
    "ShareOptions",
    "TableShape",
    "checked_memory",
    "checked_share",
]

DEPTH: Final = 4
ITEM_BYTES: Final = 64
MEMORY: Final = 64 << 20
LEAST_MEMORY: Final = 1 << 16
LARGEST_MEMORY: Final = 1 << 40
_SHARE_OF_DOMAIN: Final = 0.001  # default of above() with a public list


class ShareOptions(TypedDict, total=False):
    """Keyword arguments of every class that finds heavy items, without those of its noise.

    Args:
        share: find items with at least about this share of the stream, above 0 and at most 1; the
            literature calls it phi, the paper 1/k.
        memory: largest number of bytes for all tables together, allocated at construction; when
            None 64 MiB, and 256 MiB for all open windows of :class:`Windows`.
        max_item_bytes: bytes kept of an item, 16 to 65536; longer items are published truncated.
        discovery_epsilon: part of ``epsilon`` for the names; a quarter when None.
        discovery_delta: part of ``delta`` for the names; half when None.
        discovery_weight: largest weight of an event that counts for its name, 1 to ``max_weight``;
            1 when None, and then a name is found by its number of events, whatever their weights.
        depth: rows of each sketch, 1 to 64.
        width: columns of each sketch, 1 to 2^24; chosen from the share, the memory and the
            schedule when None.
        hash_seed: public seed, 0 to 2^64 - 1; derived from key and sketch id when None.
    """

    share: float | None
    memory: int | None
    max_item_bytes: int
    discovery_epsilon: float | None
    discovery_delta: float | None
    discovery_weight: int | None
    depth: int
    width: int | None
    hash_seed: int | None


class HittersOptions(TableOptions, ShareOptions, total=False):
    """All keyword arguments of classes that find heavy items, each with one table at a time."""


class LevelsOptions(NoiseOptions, ShareOptions, total=False):
    """All keyword arguments of classes that find heavy items with one table per level."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeavyHittersSpec:
    """Complete description of a :class:`HeavyHitters`.

    Guarantee: the privacy parameters of ``table`` and ``discovery`` add up.

    Attributes:
        table: description of the sketch that counts.
        share: wanted share of the stream.
        discovery: description of discovery; None for a public list.
        domain: the public list; empty with discovery.
    """

    table: TableSpec
    share: float
    discovery: DiscoverySpec | None = None
    domain: tuple[Item, ...] = ()

    @classmethod
    def of(
        cls,
        *,
        schedule: Schedule,
        kind: SketchKind = "count-min",
        domain: Iterable[Item] | None = None,
        discovery_epoch: int | None = None,
        share: float | None = None,
        memory: int | None = None,
        max_item_bytes: int = ITEM_BYTES,
        discovery_epsilon: float | None = None,
        discovery_delta: float | None = None,
        discovery_weight: int | None = None,
        depth: int = DEPTH,
        width: int | None = None,
        hash_seed: int | None = None,
        **table: Unpack[TableOptions],
    ) -> HeavyHittersSpec:
        """Return the description given by the arguments of :class:`HeavyHitters`.

        Raises:
            ArgumentTypeError: a wrong type; no share and no domain.
            ArgumentValueError: a value outside its range.
            ItemError: an invalid item in the domain.
        """
        wanted = _share(share, listed=domain is not None)
        room = checked_memory(memory)
        shape = TableShape.of(
            wanted, schedule, kind=kind, memory=room // 2, depth=depth, width=width, seed=hash_seed
        )
        if domain is not None:
            of_names = (discovery_epoch, discovery_epsilon, discovery_delta, discovery_weight)
            if any(option is not None for option in of_names):
                raise ArgumentTypeError(
                    "domain: expected no discovery_epoch, discovery_epsilon, discovery_delta or "
                    "discovery_weight together with it, since nothing is discovered"
                )
            listed = tuple(checked_domain(domain))
            return cls(table=shape.described(**table), share=wanted, domain=listed)
        split = split_of(
            table["epsilon"],
            table["delta"],
            discovery_epsilon=discovery_epsilon,
            discovery_delta=discovery_delta,
        )
        counts: TableOptions = {
            **table,
            "epsilon": split.sketch_epsilon,
            "delta": split.sketch_delta,
        }
        return cls.discovering(
            shape.described(**counts),
            split,
            share=wanted,
            memory=room,
            epoch=discovery_epoch,
            max_item_bytes=max_item_bytes,
            counted_weight=discovery_weight,
        )

    @classmethod
    def discovering(
        cls,
        table: TableSpec,
        split: Split,
        *,
        share: float,
        memory: int,
        epoch: int | None,
        max_item_bytes: int,
        counted_weight: int | None = None,
        events_per_person: int | None = None,
    ) -> HeavyHittersSpec:
        """Return the description of a sketch together with discovery.

        Args:
            table: description of the sketch, calibrated for its part of the split.
            split: privacy of the sketch and of discovery.
            share: wanted share of the stream.
            memory: bytes for both tables together.
            epoch: steps after which names are published, or None to choose them.
            max_item_bytes: bytes kept of an item.
            counted_weight: largest weight of an event that counts for its name; 1 when None.
            events_per_person: events of one person that are counted at most, where more than this
                table bounds them; None if this table alone does.

        Returns:
            The description.

        Raises:
            ArgumentTypeError: a wrong type, or no epoch with the batch schedule.
            ArgumentValueError: a value outside its range, or memory for less than one item.
        """
        steps = _checked_epoch(epoch, table.schedule)
        bound = table.person_bound
        events = table.max_events_per_user
        if bound is not None:
            counted = bound.counted_events if events_per_person is None else events_per_person
            events = counted * people_changed(bound, relation=table.relation)
        smallest = DiscoverySpec(
            epsilon=split.discovery_epsilon,
            delta=split.discovery_delta,
            relation="zero-out" if bound else table.relation,
            max_events_per_user=events,
            epoch=1,
            capacity=1,
            max_item_bytes=max_item_bytes,
            max_weight=table.max_weight,
            counted_weight=1 if counted_weight is None else counted_weight,
            batches=isinstance(table.schedule, Batch),
        )
        discovery = discovery_for(
            share,
            smallest=smallest,
            memory=memory - CELL_BYTES * table.depth * table.width,
            schedule=table.schedule,
            epoch=steps,
        )
        return cls(table=table, share=share, discovery=discovery)

    @property
    def privacy(self) -> JointPrivacy:
        """The guarantee of everything published, under a secret key."""
        return self.privacy_of(self.table.privacy)

    def privacy_of(self, counts: Privacy, *, within: str | None = None) -> JointPrivacy:
        """Return the guarantee of everything published.

        Args:
            counts: guarantee of the sketch.
            within: where the events of a person are protected together; None for everywhere.

        Returns:
            The guarantee of the sketch and of discovery together.
        """
        names = self.discovery
        if names is None:
            return JointPrivacy(counts.epsilon, counts.delta, counts, 0.0, 0.0, within)
        return JointPrivacy(
            epsilon=counts.epsilon + names.epsilon,
            delta=counts.delta + names.delta,
            sketch=counts,
            discovery_epsilon=names.epsilon,
            discovery_delta=names.delta,
            within=within,
        )


@dataclass(frozen=True, slots=True)
class TableShape:
    """Description of the table of heavy hitters, except its privacy.

    Attributes:
        kind: kind of the sketch.
        depth: number of rows.
        width: number of columns; None for the default, by its predicted error.
        schedule: when columns are pushed.
        seed: public hash seed, or None.
        share: wanted share of the stream.
        memory: largest number of bytes of a table with the default width.
    """

    kind: SketchKind
    depth: int
    width: int | None
    schedule: Schedule
    seed: int | None
    share: float
    memory: int

    @classmethod
    def of(
        cls,
        share: float,
        schedule: Schedule,
        *,
        kind: SketchKind,
        memory: int,
        depth: int,
        width: int | None,
        seed: int | None,
    ) -> TableShape:
        """Return the checked shape for a share, within ``memory`` bytes.

        Raises:
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range.
        """
        rows = checked_integer("depth", depth, most=LARGEST_DEPTH)
        columns = None if width is None else checked_integer("width", width, most=LARGEST_WIDTH)
        return cls(kind, rows, columns, schedule, seed, share, memory)

    def described(self, **options: Unpack[TableOptions]) -> TableSpec:
        """Return the description of the table with these privacy options.

        Raises:
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range, or a Count Sketch where the number of
                steps is not the size of the stream.
        """
        spec = TableSpec(
            kind=checked_sketch_kind(self.kind),
            depth=self.depth,
            width=1 if self.width is None else self.width,
            schedule=self.schedule,
            hash_seed=self.seed,
            **options,
        )
        if self.width is None:
            columns = default_width(self.share, spec, memory=self.memory)
            spec = replace(spec, width=columns)
        counted = spec.relation == "substitution" and spec.max_weight == 1
        counted = counted and spec.person_bound is None
        if spec.kind == "count-sketch" and (not counted or isinstance(self.schedule, Batch)):
            raise ArgumentValueError(
                "kind: expected 'count-min', whose table gives the total weight, where the number "
                "of steps does not (weights, batches, zero-out, people), got 'count-sketch'"
            )
        return spec


def _share(share: float | None, *, listed: bool) -> float:
    if share is not None:
        return checked_share("share", share)
    if listed:
        return _SHARE_OF_DOMAIN
    raise ArgumentTypeError(
        "share: expected a share of the stream such as 0.01, or domain, got none"
    )


def checked_share(name: str, share: object) -> float:
    """Return a share of a stream.

    Args:
        name: name of the argument.
        share: above 0 and at most 1.

    Returns:
        The share.

    Raises:
        ArgumentTypeError: not a real number.
        ArgumentValueError: outside its range.
    """
    value = checked_real(name, share)
    if value > 1.0:
        raise ArgumentValueError(f"{name}: expected a number above 0, at most 1, got {value:g}")
    return value


def _checked_epoch(epoch: int | None, schedule: Schedule) -> int | None:
    """Return the epoch, which the batch schedule requires."""
    if epoch is None:
        if isinstance(schedule, Batch):
            raise ArgumentTypeError(
                "discovery_epoch: expected a number of batches, since their number of events is "
                "not known in advance, got none"
            )
        return None
    horizon = schedule.horizon
    most = LARGEST_EPOCH if horizon is None else min(horizon, LARGEST_EPOCH)
    return checked_integer("discovery_epoch", epoch, most=most)


def checked_memory(memory: object, *, default: int = MEMORY, tables: int = 1) -> int:
    """Return a number of bytes, or raise.

    Args:
        memory: value of the argument.
        default: bytes if it is None.
        tables: number of tables that share the memory.

    Returns:
        At least 64 KiB for each table.

    Raises:
        ArgumentTypeError: not an integer.
        ArgumentValueError: outside its range.
    """
    if memory is None:
        return default
    return checked_integer("memory", memory, least=LEAST_MEMORY * tables, most=LARGEST_MEMORY)
