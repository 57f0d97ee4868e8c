"""One stream of the service: what is counted of each event, and under which guarantee."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from lazysketch.arguments import shown
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.heavy_hitters import JointPrivacy, LevelsPrivacy
from lazysketch.heavy_hitters.hierarchies import HIERARCHIES
from lazysketch.privacy.accounting import Privacy
from lazysketch.privacy.person_bound import PersonBound
from lazysketch.privacy.sums_privacy import SumsPrivacy
from lazysketch.service.alert_settings import ADDRESS, FALSE_ALARMS, check_alerts
from lazysketch.service.kafka_settings import TOPICS, check_text, check_topics
from lazysketch.service.statistics_of_streams import (
    DEFAULT_BITS,
    STATISTICS,
    check_kind_of_settings,
)
from lazysketch.windows import HierarchicalWindows, Sliding, Windows
from lazysketch.windows.durations import duration_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lazysketch.heavy_hitters import Levels
    from lazysketch.releases.items import Item
    from lazysketch.specification.table_spec import TableSpec
    from lazysketch.store import Store
    from lazysketch.store.stored_hierarchical_windows import StoredHierarchicalWindows
    from lazysketch.store.stored_sliding import StoredSliding
    from lazysketch.store.stored_windows import StoredWindows
    from lazysketch.sums.sums_spec import SumsSpec

__all__ = ["STREAM_NAME", "StreamKind", "StreamPrivacy", "StreamSettings"]

STREAM_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
_LONGEST_TITLE: Final = 200
StreamKind: TypeAlias = Literal["items", "distinct", "values", "ranges", "sums"]
StreamPrivacy: TypeAlias = JointPrivacy | LevelsPrivacy | Privacy | SumsPrivacy
# What does not change the windows, nor what they promise.
_ALERTS: Final = ("alerts", "false_alarms", "alert_webhook")
_FREE: Final = (
    "title", "follow", "format", "item", "weight", "value", "webhook", *TOPICS, *_ALERTS,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSettings:
    """One stream of the service.

    Guarantee: everything that is ever published of the stream satisfies (``epsilon``, ``delta``)-DP
    as :class:`lazysketch.Windows` state it.

    Attributes:
        name: its name in addresses: 1 to 63 lowercase letters, digits and hyphens.
        title: what readers see above its numbers; the name when empty.
        kind: ``"items"`` for the frequent items of windows; ``"distinct"`` for the number of
            different items since the stream began, whose windows are the moments of its course;
            ``"values"`` likewise for the distribution of a number: quantiles, a histogram;
            ``"ranges"`` likewise for counts of ranges of integer keys, such as networks;
            ``"sums"`` likewise for sums and means of a number by item of a public list.
        every: length of a window, such as ``"10min"``; with ``span`` that of a slice.
        span: length of a sliding window, a multiple of ``every``: readers see the last ``span`` at
            the end of every slice. None for windows that follow each other.
        block: slices of a block, which is one sketch, with ``span``; of the least noise when None.
        discovery_epoch: slices after which names are found, with ``span`` and without a list; a
            sixth of a window when None.
        slices: publications of an open window, 1 to 960; 1 with ``span``.
        keep: number of ended windows that readers see; with ``span`` that of slices.
        share: items with at least about this share of a window are found.
        domain: a public list of items, instead of finding them.
        levels: a hierarchy of the items, ``"ipv4"``, ``"ipv6"``, ``"url"`` or ``"dns"``: each event
            counts at every level, and readers see a tree. None for items alone.
        epsilon: privacy parameter.
        delta: privacy parameter.
        relation: what is protected, as for the windows.
        item: the field of the item in events that are objects or columns.
        weight: the field of the weight; None if each event weighs 1.
        max_weight: larger weights are clipped to this; of a new stream with ``weight`` only.
        discovery_weight: largest weight of an event that counts for its name; 1 when None.
        user: the field of the person; None if single events are protected.
        cells: cells of a person in each row, with ``user``.
        per_cell: events of a person in each cell, with ``user``.
        per_person: events of a person, of kind ``"values"`` or ``"ranges"`` with ``user``; 1 when
            None.
        most_people: people of a window, or of a statistic, with ``user``.
        depth: rows of a table.
        width: columns of a table; chosen from the share when None.
        low: the lowest value to tell apart, of kind ``"values"``; never read off the data.
        high: the highest value to tell apart; likewise.
        bins: bins of values, 3 to 16,384, with the one below and the one above; 1,024 when None.
        scale: ``"linear"`` for bins of one width (when None), ``"log"`` for edges of one ratio.
        edges: ends of bins in place of the four before, 1 to 255 numbers that rise.
        value: the field of the value, of kind ``"sums"``, which has ``low`` and ``high`` too.
        step: values are rounded to multiples of it from ``low``; finer than noise when None.
        horizon: slices after which a stream of sums, or of ranges, ends; with 2^16 steps of values
            at most 16,383. Ranges need it with ``weight``: times ``max_weight`` below 2^30.
        bits: bits of a key, of kind ``"ranges"``, 1 to 64; 32, those of addresses, when None.
        follow: a growing file whose rows are events too; None for senders only.
        format: format of that file, recognised when None; of messages ``"jsonl"`` (when None),
            ``"lines"`` or ``"arrow"``.
        kafka: brokers whose messages are events too, HOST:PORT with commas between them.
        topics: their topics, with ``kafka``.
        kafka_group: name of the consumer group; one of the state and the stream when None.
        kafka_settings: a file with further settings of the consumer, NAME=VALUE in each line.
        webhook: an address that is called after each publication; None for none.
        alerts: thresholds of counts in a window: tables with ``above``, and ``item`` unless each
            item that readers see is meant.
        false_alarms: probability of a wrong alert in a day, at most; above 0 and below 1/2.
        alert_webhook: an address that is called for each alert; None for none.

    Raises:
        ArgumentTypeError: a wrong type.
        ArgumentValueError: a value outside its range. The ranges of the windows are checked when
            they are made.
    """

    name: str
    title: str = ""
    kind: StreamKind = "items"
    every: str = "10min"
    span: str | None = None
    block: int | None = None
    discovery_epoch: int | None = None
    slices: int = 10
    keep: int = 144
    share: float | None = 0.01
    domain: tuple[Item, ...] | None = None
    levels: str | None = None
    epsilon: float = 1.0
    delta: float = 1e-8
    relation: Literal["substitution", "zero-out"] = "substitution"
    item: str = "item"
    weight: str | None = None
    max_weight: int = 1
    discovery_weight: int | None = None
    user: str | None = None
    cells: int = 10
    per_cell: int = 1
    per_person: int | None = None
    most_people: int | None = None
    depth: int | None = None
    width: int | None = None
    low: float | None = None
    high: float | None = None
    bins: int | None = None
    scale: str | None = None
    edges: tuple[float, ...] | None = None
    bits: int | None = None
    value: str | None = None
    step: float | None = None
    horizon: int | None = None
    follow: str | None = None
    format: str | None = None
    kafka: str | None = None
    topics: tuple[str, ...] = ()
    kafka_group: str | None = None
    kafka_settings: str | None = None
    webhook: str | None = None
    alerts: tuple[Mapping[str, object], ...] = ()
    false_alarms: float = FALSE_ALARMS
    alert_webhook: str | None = None

    def __post_init__(self) -> None:
        """Check what no window checks."""
        for name in ("name", "title", "every", "item"):
            check_text(name, getattr(self, name))
        if not STREAM_NAME.fullmatch(self.name):
            raise ArgumentValueError(
                "name: expected 1 to 63 lowercase letters, digits and hyphens, got "
                f"{shown(self.name)}"
            )
        if len(self.title) > _LONGEST_TITLE or not self.title.isprintable():
            raise ArgumentValueError(
                f"title: expected at most {_LONGEST_TITLE} printable characters, got "
                f"{shown(self.title)}"
            )
        duration_of("every", self.every)  # before anything is opened
        check_kind_of_settings(self)
        self._check_span()
        for name in ("levels", "value", "webhook", "kafka", "kafka_group", "kafka_settings"):
            if getattr(self, name) is not None:
                check_text(name, getattr(self, name))
        if self.levels is not None and self.levels not in HIERARCHIES:
            raise ArgumentValueError(
                f"levels: expected one of {', '.join(HIERARCHIES)}, got {shown(self.levels)}"
            )
        if self.levels is not None and self.domain is not None:
            raise ArgumentValueError(
                "domain: expected none with levels, whose names are found, got a list"
            )
        if self.webhook is not None and not ADDRESS.fullmatch(self.webhook):
            raise ArgumentValueError(
                "webhook: expected an address that begins with http:// or https://, got another"
            )
        if self.user is not None and self.user == self.item:
            raise ArgumentValueError(
                f"user: expected another field than that of the item, got {shown(self.user)}"
            )
        check_topics(self)
        check_alerts(self)

    def _check_span(self) -> None:
        if self.span is None:
            for name in ("block", "discovery_epoch"):
                if getattr(self, name) is not None:
                    raise ArgumentTypeError(f"{name}: expected span too, got none")
            return
        check_text("span", self.span)
        duration_of("span", self.span)
        if self.levels is not None:
            raise ArgumentTypeError("span: expected none with levels, got both")
        if self.slices != 1:
            raise ArgumentValueError(
                "slices: expected 1 with span, whose slices have the length of every, got another"
            )

    @classmethod
    def from_mapping(cls, name: str, values: Mapping[str, object]) -> StreamSettings:
        """Return the stream that a table of a configuration, or a JSON object, describes.

        Args:
            name: its name.
            values: attributes by their names.

        Raises:
            ArgumentTypeError: an unknown name, or a wrong type.
            ArgumentValueError: a value outside its range.

        Example:
            >>> StreamSettings.from_mapping("pages", {"every": "1h", "share": 0.02}).slices
            10
        """
        known = [field.name for field in fields(cls) if field.name != "name"]
        chosen: dict[str, Any] = {}
        for key, value in values.items():
            if key not in known:
                raise ArgumentTypeError(
                    f"streams.{name}: expected settings among {', '.join(known)}, got {shown(key)}"
                )
            is_sequence = key in ("domain", "topics", "edges", "alerts")
            chosen[key] = tuple(value) if is_sequence and isinstance(value, list) else value
        if chosen.get("domain") is not None:
            chosen.setdefault("share", None)
        if chosen.get("span") is not None:
            chosen.setdefault("slices", 1)
        try:
            return cls(name=name, **chosen)
        except (ArgumentTypeError, ArgumentValueError) as error:
            raise type(error)(f"streams.{name}.{error}") from None

    def changed_since(self, earlier: StreamSettings) -> str | None:
        """Return the first setting that differs and may not, since numbers were published with it.

        Args:
            earlier: the settings that the stream was made with.

        Returns:
            The name; None if only others differ: the title, where events come from.
        """
        for field in fields(self):
            if field.name not in _FREE and getattr(self, field.name) != getattr(
                earlier, field.name
            ):
                return field.name
        return None

    @property
    def window_nanoseconds(self) -> int:
        """Length of a window."""
        return duration_of("every", self.every)

    @property
    def span_nanoseconds(self) -> int | None:
        """Length of a sliding window; None for windows that follow each other."""
        return None if self.span is None else duration_of("span", self.span)

    @property
    def hierarchy(self) -> Levels | None:
        """The hierarchy of the items; None without one."""
        return None if self.levels is None else HIERARCHIES[self.levels]()

    @property
    def statistic(self) -> TableSpec | SumsSpec:
        """The description of what counts, of a stream of one statistic.

        Raises:
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range.
        """
        return STATISTICS[self.kind].spec(self)

    @property
    def item_type(self) -> str | None:
        """Type of the items of its events; None for any."""
        return None if self.kind not in STATISTICS else STATISTICS[self.kind].item_type

    @property
    def key_bits(self) -> int | None:
        """Bits of a key, of a stream of ranges; None for others, whose items are no keys."""
        if self.kind != "ranges":
            return None
        return DEFAULT_BITS if self.bits is None else self.bits

    def windows_of(
        self, store: Store, *, clock: Callable[[], float]
    ) -> StoredWindows | StoredHierarchicalWindows:
        """Return the windows of the stream in a store: new ones, or those that it has.

        Args:
            store: the open store.
            clock: returns seconds since 1970.

        Raises:
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range, or other windows than those of the store.
            StoreError: a store that cannot be read or written.
        """
        options = {**self._options, "slices": self.slices, "clock": clock}
        levels = self.hierarchy
        if levels is None:
            return store.windows(self.name, domain=self.domain, **options)
        return store.hierarchical_windows(self.name, levels, **options)

    def sliding_of(self, store: Store, *, clock: Callable[[], float]) -> StoredSliding:
        """Return the sliding windows of the stream in a store: new ones, or those that it has.

        Args:
            store: the open store.
            clock: returns seconds since 1970.

        Raises:
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range, or other windows than those of the store.
            StoreError: a store that cannot be read or written.
        """
        return store.sliding(
            self.name, domain=self.domain, clock=clock, **self._blocks, **self._options
        )

    @property
    def privacy(self) -> StreamPrivacy:
        """The guarantee of the stream, before it is made.

        Raises:
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range.
        """
        if self.kind in STATISTICS:
            return STATISTICS[self.kind].privacy(self)
        levels = self.hierarchy
        windows: Sliding | Windows | HierarchicalWindows
        if self.span is not None:
            windows = Sliding(domain=self.domain, **self._blocks, **self._options)
        elif levels is None:
            windows = Windows(domain=self.domain, slices=self.slices, **self._options)
        else:
            windows = HierarchicalWindows(levels, slices=self.slices, **self._options)
        with windows:
            return windows.privacy

    @property
    def _blocks(self) -> dict[str, Any]:
        """The keyword arguments that windows have alone if they slide."""
        return {
            "span": self.span,
            "block": self.block,
            "discovery_epoch": self.discovery_epoch,
        }

    @property
    def _options(self) -> dict[str, Any]:
        """The keyword arguments that all windows have."""
        options: dict[str, Any] = {
            "every": self.every,
            "keep": self.keep,
            "share": self.share,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "relation": self.relation,
            "max_weight": self.max_weight,
            "discovery_weight": self.discovery_weight,
            "width": self.width,
        }
        if self.depth is not None:
            options["depth"] = self.depth
        if self.user is not None:
            options["person_bound"] = PersonBound(
                cells=self.cells, events=self.per_cell, most_people=self.most_people
            )
        return options
