"""The native core; public classes subclass what is here."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TypeAlias, TypedDict, TypeVar, final, overload, type_check_only

import numpy as np
import numpy.typing as npt
from typing_extensions import Self, disjoint_base

from lazysketch.estimation.estimators import Estimator
from lazysketch.estimation.intervals import At
from lazysketch.heavy_hitters.discovery_spec import DiscoverySpec
from lazysketch.heavy_hitters.hitters_spec import HeavyHittersSpec
from lazysketch.privacy.relations import Calibration, CountKind, Relation
from lazysketch.releases.items import Item
from lazysketch.releases.run_promise import RunFacts
from lazysketch.specification.mechanisms import MechanismName
from lazysketch.specification.table_spec import TableSpec
from lazysketch.specification.value_tree import ValueRows

__all__ = [
    "CaptureReader",
    "DelimitedReader",
    "ErrorModel",
    "EventsOfLevels",
    "EventsOfTable",
    "EventsOfWindows",
    "ExactSketch",
    "FieldReader",
    "GatheredCounts",
    "HeavySketch",
    "Hierarchy",
    "Key",
    "LevelNames",
    "LoggedEvents",
    "LoggedPeople",
    "NestingLock",
    "PartialCounts",
    "PeeledTable",
    "People",
    "PrivateSketch",
    "Release",
    "SavedState",
    "Store",
    "TextColumn",
    "__version__",
    "_after_fork_in_child",
    "access_log_items",
    "access_log_people",
    "access_log_times",
    "add_bounded_to_batch_of_all",
    "add_to_batch_of_all",
    "arrow_values",
    "bins_of_values",
    "call_locked",
    "close_all",
    "discovery_facts",
    "end_epoch_of_all",
    "events_within_bound",
    "finish_all",
    "json_elements",
    "json_rows",
    "line_items",
    "log_fields",
    "logged_events",
    "logged_fingerprints",
    "mechanism_difference_variances",
    "mechanism_facts",
    "mechanism_final_pushes",
    "mechanism_fits",
    "mechanism_largest_leaves",
    "mechanism_rows",
    "mechanism_variances",
    "numbers_of_texts",
    "pattern_groups",
    "people_of_batch",
    "plain_item",
    "plain_weights",
    "repeated_names",
    "schedule_leaves",
    "schedule_published_steps",
    "schedule_pushes",
    "table_not_private_because",
    "tick_all",
    "update_all",
    "update_batch_of_all",
    "update_bounded",
    "update_levels",
    "update_rows_of_all",
    "update_rows_of_each",
    "update_streams",
    "update_sums",
    "value_prefixes",
    "value_tree_facts",
    "value_tree_rows",
    "value_variances",
]

__version__: str

_Result = TypeVar("_Result")

# Name and parameters of a schedule: ("round robin", horizon, period), ("geometric", (numerator,
# denominator), rounds), ("punctual" | "batch" | "single", horizon), or ("single",).
_Specification: TypeAlias = (
    tuple[str, int, int] | tuple[str, tuple[int, int], int] | tuple[str, int] | tuple[str]
)

# The public parameters of the noise of one sketch.
@type_check_only
class NoiseFacts(TypedDict):
    schedule: _Specification
    leaves: int
    mechanism: MechanismName
    sigma: float
    relation: Relation
    calibration: Calibration
    epsilon: float
    delta: float
    max_weight: int
    max_events_per_user: int
    person_bound: tuple[int, int, int | None] | None
    max_changes: int

# The part of one sketch in a release; an exact sketch has no noise.
@type_check_only
class PartFacts(TypedDict):
    sketch_id: bytes
    step: int
    since: int
    finished: tuple[int, int] | None
    run: RunFacts | None
    not_private_because: tuple[str, ...]
    noise: NoiseFacts | None

# What discovery with some parameters amounts to.
@type_check_only
class DiscoveryFacts(TypedDict):
    variant: str
    slots: int
    threshold: int
    sure_count: int
    rates: tuple[float, float]
    threshold_delta: float
    digits: list[int]
    probabilities: list[int]
    bytes: int

# Items, people, sizes, times, absent, malformed.
_Numbers: TypeAlias = npt.NDArray[np.int64]
_Values: TypeAlias = _Numbers | TextColumn
_Rows: TypeAlias = tuple[_Values, _Values | None, _Numbers, _Numbers, _Numbers, _Numbers]

@final
class CaptureReader:
    def __new__(cls, *, field: str, user: str | None = None) -> Self: ...
    def feed(self, data: bytes) -> _Rows: ...
    def finish(self) -> None: ...
    @property
    def damage(self) -> str | None: ...
    @property
    def position(self) -> int: ...
    @property
    def packets(self) -> int: ...

@final
class TextColumn:
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, index: int, /) -> str: ...
    @overload
    def __getitem__(self, index: slice, /) -> TextColumn: ...
    @property
    def longest(self) -> int: ...
    def tolist(self) -> list[str]: ...
    # The ends of the texts, after a 0, and the UTF-8 in which they end.
    def parts(self) -> tuple[_Numbers, npt.NDArray[np.uint8]]: ...
    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]: ...

# The items of rows, and the positions of the rows without one.
def line_items(block: bytes) -> tuple[TextColumn, _Numbers]: ...
def access_log_items(block: bytes, *, field: str) -> tuple[TextColumn, _Numbers]: ...

# Items, people, malformed rows, and those of them that lack only a person.
def access_log_people(
    block: bytes, *, field: str, user: str
) -> tuple[TextColumn, TextColumn, _Numbers, _Numbers]: ...
def access_log_times(block: bytes) -> TextColumn: ...

# Items, malformed rows, weights, clipped weights, times, people, rows that lack only a person.
_FieldRows: TypeAlias = tuple[
    TextColumn,
    _Numbers,
    _Numbers,
    _Numbers,
    TextColumn | None,
    TextColumn | None,
    TextColumn | None,
    _Numbers,
]

@final
class FieldReader:
    def __new__(
        cls,
        layout: str,
        *,
        field: bytes,
        weight: bytes | None,
        max_weight: int,
        time: bytes | None,
        value: bytes | None,
        user: bytes | None,
        trusted_hops: int | None,
    ) -> FieldReader: ...
    @staticmethod
    def with_pattern(
        pattern: str,
        *,
        field: bytes,
        weight: bytes | None,
        max_weight: int,
        time: bytes | None,
        value: bytes | None,
        user: bytes | None,
    ) -> FieldReader: ...
    def read(self, block: bytes) -> _FieldRows | None: ...
    @property
    def lacks(self) -> str | None: ...
    @property
    def columns(self) -> list[str] | None: ...

@final
class DelimitedReader:
    def __new__(
        cls,
        *,
        columns: int,
        field: int,
        weight: int | None,
        max_weight: int,
        time: int | None,
        value: int | None,
        user: int | None,
        delimiter: int,
        quoted: bool,
    ) -> DelimitedReader: ...
    # The rows, and the size in bytes of a row that is open at the end.
    def read(self, block: bytes, *, missing: list[bytes]) -> tuple[_FieldRows, int]: ...

def log_fields(log: str) -> list[str]: ...
def pattern_groups(pattern: str) -> list[str]: ...

# What of JSON lines: lazysketch.sources.formats.json_lines.Columns.
_Fields: TypeAlias = tuple[
    npt.NDArray[np.uint8],
    TextColumn,
    npt.NDArray[np.uint64],
    _Numbers,
    _Numbers,
    TextColumn | None,
    TextColumn | None,
    TextColumn | None,
    TextColumn,
]

# The numbers of texts, and the positions of the texts that are none.
def numbers_of_texts(
    texts: TextColumn | list[str], /
) -> tuple[npt.NDArray[np.float64], _Numbers]: ...
def json_elements(body: bytes) -> bytes | None: ...
def json_rows(
    block: bytes,
    *,
    field: bytes,
    item_type: str | None,
    weight: bytes | None,
    max_weight: int,
    time: bytes | None,
    value: bytes | None = None,
    user: bytes | None = None,
) -> _Fields: ...

@disjoint_base
class Key:
    def __new__(
        cls,
        secret: object = None,
        *,
        seed: int | None = None,
        sketch_id: bytes | None = None,
        like: Key | None = None,
    ) -> Self: ...
    def _expose(self) -> bytes: ...

@final
class Hierarchy:
    def __new__(cls, kind: str, numbers: Sequence[int]) -> Hierarchy: ...
    def split(self, item: Item) -> list[str]: ...
    def parent(self, name: Item, level: int) -> str: ...
    def columns(self, items: object) -> list[LevelNames]: ...

@final
class LevelNames:
    def tolist(self) -> list[str]: ...
    def __len__(self) -> int: ...

@final
class LoggedEvents:
    @staticmethod
    def from_bytes(data: bytes) -> LoggedEvents: ...
    @property
    def size(self) -> int: ...
    def tolist(self) -> list[Item]: ...
    def take(self, positions: npt.NDArray[np.int64]) -> LoggedEvents: ...
    def __getitem__(self, key: slice, /) -> LoggedEvents: ...
    def __len__(self) -> int: ...

@final
class LoggedPeople:
    @staticmethod
    def from_bytes(data: bytes) -> LoggedPeople: ...
    @staticmethod
    def joined(batches: Sequence[LoggedPeople]) -> LoggedPeople: ...
    @property
    def size(self) -> int: ...
    def __getitem__(self, key: slice, /) -> LoggedPeople: ...
    def take(self, positions: npt.NDArray[np.int64]) -> LoggedPeople: ...
    def __len__(self) -> int: ...

@final
class NestingLock:
    def __new__(cls) -> Self: ...
    def acquire(self) -> None: ...
    def release(self) -> None: ...
    @property
    def nested(self) -> bool: ...
    def open_for(self, table: HeavySketch, steps: int) -> None: ...

@disjoint_base
class EventsOfTable:
    def __new__(cls, *_args: object, **_kwargs: object) -> Self: ...
    def _count_in(self, table: PrivateSketch) -> None: ...
    def update(self, item: Item, weight: int = 1, *, user: Item | None = None) -> None: ...

@disjoint_base
class EventsOfWindows:
    def __new__(cls, *_args: object, **_kwargs: object) -> Self: ...
    def _count_by(self, lock: NestingLock) -> None: ...
    def update(
        self,
        item: Item,
        weight: int = 1,
        *,
        time: datetime | None = None,
        user: Item | None = None,
    ) -> None: ...

@disjoint_base
class EventsOfLevels:
    def __new__(cls, *_args: object, **_kwargs: object) -> Self: ...
    def _count_at(
        self, lock: NestingLock, tables: Sequence[HeavySketch], hierarchy: Hierarchy | None
    ) -> None: ...
    def update(self, item: Item, weight: int = 1, *, user: Item | None = None) -> None: ...

@final
class ErrorModel:
    def __new__(
        cls,
        table: npt.NDArray[np.int64],
        *,
        kind: CountKind,
        published: Callable[[], npt.NDArray[np.float64]],
        variance: Callable[[], npt.NDArray[np.float64]],
        step: float,
        max_weight: float,
        burstiness: float,
    ) -> Self: ...
    def values(self, columns: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]: ...
    def intervals(
        self,
        values: npt.NDArray[np.float64],
        columns: npt.NDArray[np.int64],
        *,
        level: float,
        deviations: float,
        now: bool,
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]: ...

@disjoint_base
class ExactSketch:
    def __new__(
        cls,
        *,
        kind: str,
        depth: int = 1,
        width: int = 1,
        hash_seed: int | None = None,
        state: Release | None = None,
    ) -> Self: ...
    def update(self, item: object, weight: int = 1) -> None: ...
    def update_many(
        self, items: object, weights: object = None, *, column: str | None = None, threads: int = 1
    ) -> None: ...
    def estimate(self, item: object) -> float: ...
    def estimate_many(
        self, items: object, *, column: str | None = None
    ) -> npt.NDArray[np.float64]: ...
    def _release(self) -> Release: ...
    def _merged(self, other: ExactSketch) -> Release: ...
    def finish(self) -> None: ...
    @property
    def finished(self) -> bool: ...
    @property
    def table(self) -> npt.NDArray[np.int64]: ...
    @property
    def kind(self) -> CountKind: ...
    @property
    def depth(self) -> int: ...
    @property
    def width(self) -> int: ...
    @property
    def hash_seed(self) -> int: ...
    @property
    def step(self) -> int: ...

@disjoint_base
class PrivateSketch:
    def __new__(
        cls,
        spec: TableSpec,
        *,
        key: Key,
        state: SavedState | None = None,
        signed_weights: bool = False,
    ) -> Self: ...
    @property
    def _parameters_digest(self) -> bytes: ...
    def update(self, item: object, weight: int = 1, *, user: object = None) -> None: ...
    def update_many(
        self,
        items: object,
        weights: object = None,
        *,
        column: str | None = None,
        threads: int = 1,
        user: object = None,
    ) -> None: ...
    def update_rows(
        self,
        items: object,
        weights: object = None,
        *,
        empty_rows: object,
        column: str | None = None,
        user: object = None,
    ) -> None: ...
    def _update_batch(
        self,
        items: object,
        weights: object = None,
        *,
        column: str | None = None,
        user: object = None,
    ) -> None: ...
    def _add_to_batch(
        self,
        items: object,
        weights: object = None,
        *,
        column: str | None = None,
        user: object = None,
    ) -> None: ...
    def _update_vector(self, vector: object) -> None: ...
    def tick(self, steps: int = 1) -> None: ...
    def estimate(
        self, item: object, *, estimator: Estimator | None = None, at: At | None = None
    ) -> float: ...
    def estimate_many(
        self,
        items: object,
        *,
        column: str | None = None,
        estimator: Estimator | None = None,
        at: At | None = None,
    ) -> npt.NDArray[np.float64]: ...
    def _release(self, run: RunFacts | None = None) -> Release: ...
    def _draws(self, cells: list[int], nodes: list[int]) -> npt.NDArray[np.int64]: ...
    def finish(self) -> None: ...
    @property
    def finished(self) -> bool: ...
    def close(self) -> None: ...
    @property
    def closed(self) -> bool: ...
    @property
    def kind(self) -> CountKind: ...
    @property
    def depth(self) -> int: ...
    @property
    def width(self) -> int: ...
    @property
    def hash_seed(self) -> int: ...
    @property
    def sketch_id(self) -> bytes: ...
    @property
    def not_private_because(self) -> tuple[str, ...]: ...
    @property
    def _step(self) -> int: ...

# Methods that count events are overridden with the same signatures.
class HeavySketch(PrivateSketch):
    def __new__(
        cls, spec: HeavyHittersSpec, *, key: Key, state: SavedState | None = None
    ) -> Self: ...
    def end_discovery_epoch(self) -> None: ...
    def _candidates(self) -> list[tuple[Item, bool, int, float]]: ...
    def _discovery_draws(self, epoch: int, slots: list[int]) -> npt.NDArray[np.int64]: ...
    def _identities(self, items: object) -> list[int]: ...
    @property
    def _epoch(self) -> int: ...
    @property
    def _discovery_facts(self) -> DiscoveryFacts: ...

@final
class SavedState: ...

@disjoint_base
class PartialCounts:
    def __new__(cls, spec: bytes) -> Self: ...
    def _update_many(
        self,
        items: object,
        weights: object = None,
        *,
        column: str | None = None,
        only_fitting: bool = False,
    ) -> None: ...
    def _merge(self, other: PartialCounts) -> None: ...
    def _seal(self) -> bytes: ...
    @property
    def _shape(self) -> tuple[str, int, int, bool]: ...
    @property
    def _value_grid(self) -> tuple[float, float, int, bool] | None: ...

@final
class GatheredCounts:
    def add(self, sealed: bytes) -> tuple[int, bytes]: ...
    def add_to(self, table: PrivateSketch, *, in_open_step: bool = False) -> None: ...
    def add_to_both(
        self, events: PrivateSketch, values: PrivateSketch, *, in_open_step: bool = False
    ) -> None: ...
    def add_to_levels(
        self, tables: Sequence[PrivateSketch], *, in_open_step: bool = False
    ) -> None: ...
    def digest(self) -> bytes: ...
    def sealed(self) -> bytes: ...

@final
class Store:
    def __new__(cls, folder: str, *, key: Key, anchor: str | None, renew: bool = False) -> Self: ...
    @property
    def store_id(self) -> bytes: ...
    @property
    def anchored(self) -> bool: ...
    @property
    def is_new(self) -> bool: ...
    @property
    def last(self) -> int: ...
    @property
    def largest_record(self) -> int: ...
    def key_of(self, era: int, name: str, number: int) -> Key: ...
    def partial_spec(
        self,
        table: PrivateSketch,
        issued: int,
        most_events: int | None = None,
        most_names: int | None = None,
        levels: Hierarchy | None = None,
        values: tuple[PrivateSketch, float, float, bool] | None = None,
    ) -> bytes: ...
    def gathered(
        self,
        table: PrivateSketch,
        levels: Hierarchy | None = None,
        values: tuple[PrivateSketch, float, float, bool] | None = None,
    ) -> GatheredCounts: ...
    def checkpoint_header(self) -> bytes | None: ...
    def checkpoint_state(self, at: int) -> SavedState: ...
    def records(self) -> list[bytes]: ...
    def forget_recovered(self) -> None: ...
    def append(self, parts: list[bytes | LoggedEvents | LoggedPeople]) -> int: ...
    def commit(self) -> int: ...
    def checkpoint(
        self, through: int, header: bytes, states: Sequence[PrivateSketch | People]
    ) -> None: ...
    def rotate(self, key: Key) -> None: ...
    def close(self) -> None: ...

@final
class Release:
    @staticmethod
    def from_bytes(data: bytes) -> tuple[Release, list[Item]]: ...
    def to_bytes(self, names: list[Item] | None = None) -> bytes: ...
    def since(self, earlier: Release) -> Release: ...
    @staticmethod
    def merge(releases: list[Release]) -> Release: ...
    def error_model(
        self,
        *,
        published: Callable[[], npt.NDArray[np.float64]],
        variance: Callable[[], npt.NDArray[np.float64]],
        step: float,
        max_weight: float,
        burstiness: float,
    ) -> ErrorModel: ...
    def estimate(self, item: object) -> float: ...
    def estimate_many(
        self, items: object, column: str | None = None
    ) -> npt.NDArray[np.float64]: ...
    def estimate_by(
        self,
        model: ErrorModel,
        item: object,
        *,
        estimator: Estimator | None = None,
        at: At | None = None,
    ) -> float: ...
    def estimate_many_by(
        self,
        model: ErrorModel,
        items: object,
        column: str | None = None,
        *,
        estimator: Estimator | None = None,
        at: At | None = None,
    ) -> npt.NDArray[np.float64]: ...
    def interval(
        self, model: ErrorModel, item: object, *, level: float, deviations: float, now: bool
    ) -> tuple[float, float, float]: ...
    def cells(self, item: object) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.bool_]]: ...
    def cells_many(
        self, items: object, column: str | None = None
    ) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.bool_]]: ...
    @property
    def table(self) -> npt.NDArray[np.int64]: ...
    @property
    def row_sums(self) -> list[int]: ...
    @property
    def kind(self) -> CountKind: ...
    @property
    def depth(self) -> int: ...
    @property
    def width(self) -> int: ...
    @property
    def hash_seed(self) -> int: ...
    @property
    def bits(self) -> int: ...
    @property
    def edges(self) -> list[float]: ...
    @property
    def value_rows(self) -> ValueRows | None: ...
    @property
    def parts(self) -> tuple[PartFacts, ...]: ...

# What each person has contributed to some tables, which count one stream.
@final
class People:
    def __new__(cls, tables: Sequence[PrivateSketch], *, key: Key) -> Self: ...
    @staticmethod
    def of_table(table: PrivateSketch) -> People | None: ...
    @property
    def known(self) -> int: ...
    @property
    def refused(self) -> int: ...
    @property
    def bytes_per_person(self) -> int: ...
    def identified(self, user: object) -> LoggedPeople: ...
    def _restore(self, state: SavedState) -> None: ...
    def forget(self) -> None: ...

# A public table from which the heavy names of a list are taken out.
@final
class PeeledTable:
    def __new__(
        cls,
        model: ErrorModel,
        columns: npt.NDArray[np.uint32],
        flipped: npt.NDArray[np.bool_],
    ) -> PeeledTable: ...
    def ends(
        self,
        columns: npt.NDArray[np.uint32],
        flipped: npt.NDArray[np.bool_],
        *,
        level: float,
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]] | None: ...
    def estimates(
        self, columns: npt.NDArray[np.uint32], flipped: npt.NDArray[np.bool_]
    ) -> npt.NDArray[np.float64]: ...
    def heaviest(
        self, columns: npt.NDArray[np.uint32], flipped: npt.NDArray[np.bool_], number: int
    ) -> tuple[npt.NDArray[np.uintp], npt.NDArray[np.float64]]: ...

# The people of a batch, as a value that no other code can change.
def people_of_batch(user: object) -> LoggedEvents: ...

# Which events of a public sample a bounded table would count.
def events_within_bound(
    items: LoggedEvents,
    user: LoggedEvents,
    *,
    depth: int,
    width: int,
    hash_seed: int,
    cells: int,
    events: int,
) -> npt.NDArray[np.bool_]: ...

# One change at several tables: at all of them, or at none.
def update_levels(
    lock: object, tables: Sequence[PrivateSketch], hierarchy: Hierarchy, item: Item, weight: int
) -> None: ...
def update_all(tables: Sequence[HeavySketch], names: Sequence[Item], weight: int) -> None: ...
def update_bounded(
    people: People,
    tables: Sequence[PrivateSketch],
    items: Sequence[LoggedEvents],
    user: object,
    weights: object = None,
    *,
    empty_rows: object = None,
    in_one_step: bool = False,
    in_open_step: bool = False,
) -> None: ...
def update_rows_of_all(
    tables: Sequence[HeavySketch],
    items: Sequence[object],
    weights: object = None,
    *,
    empty_rows: object = None,
) -> None: ...
def update_streams(
    streams: Sequence[
        tuple[
            People | None,
            Sequence[PrivateSketch],
            Sequence[object],
            Sequence[object],
            object,
            object,
        ]
    ],
    *,
    in_one_step: bool = False,
) -> None: ...
def update_rows_of_each(
    tables: Sequence[PrivateSketch],
    items: Sequence[object],
    weights: Sequence[object],
    empty_rows: Sequence[object],
) -> None: ...
def update_batch_of_all(
    tables: Sequence[PrivateSketch], items: Sequence[object], weights: Sequence[object]
) -> None: ...
def add_to_batch_of_all(
    tables: Sequence[PrivateSketch],
    items: Sequence[object],
    weights: Sequence[object],
    *,
    steps: Sequence[Sequence[tuple[int, int]]] | None = None,
) -> None: ...
def add_bounded_to_batch_of_all(
    streams: Sequence[Sequence[tuple[PrivateSketch, object, object]]],
    user: Sequence[LoggedEvents | LoggedPeople],
    *,
    steps: Sequence[Sequence[tuple[int, int]]] | None = None,
) -> None: ...
def tick_all(tables: Sequence[PrivateSketch], steps: int) -> None: ...
def end_epoch_of_all(tables: Sequence[HeavySketch]) -> None: ...
def finish_all(tables: Sequence[PrivateSketch]) -> None: ...
def close_all(tables: Sequence[PrivateSketch]) -> None: ...
def update_sums(
    counts: PrivateSketch,
    values: PrivateSketch,
    items: object,
    weights: npt.NDArray[np.uint64],
    *,
    user: object = None,
    empty_rows: object = None,
    in_one_step: bool = False,
    in_open_step: bool = False,
) -> None: ...
def call_locked(
    lock: object,
    function: Callable[..., _Result],
    args: tuple[object, ...],
    kwargs: Mapping[str, object],
) -> _Result: ...
def discovery_facts(spec: DiscoverySpec) -> DiscoveryFacts: ...
def table_not_private_because(spec: TableSpec) -> tuple[str, ...]: ...
def logged_events(items: object, *, column: str | None = None) -> LoggedEvents: ...
def logged_fingerprints(
    items: object, sketch: PrivateSketch, *, column: str | None = None
) -> LoggedEvents: ...
def repeated_names(names: list[Item], rows: npt.NDArray[np.int32]) -> LevelNames | None: ...
def mechanism_difference_variances(
    *, mechanism: str, leaves: int, late: Sequence[int], early: Sequence[int]
) -> npt.NDArray[np.float64]: ...
def mechanism_facts(*, mechanism: str, leaves: int) -> tuple[float, int, int, int]: ...
def mechanism_final_pushes(
    *, mechanism: str, leaves: int, pushes: list[int], nothing_pending: bool
) -> list[int]: ...
def mechanism_fits(*, mechanism: str, leaves: int, sigma: float) -> bool: ...
def mechanism_largest_leaves(*, mechanism: str) -> int: ...
def mechanism_rows(*, mechanism: str, leaves: int) -> npt.NDArray[np.int16]: ...
def mechanism_variances(
    *, mechanism: str, leaves: int, pushes: list[int]
) -> npt.NDArray[np.float64]: ...
def arrow_values(values: object, *, name: str) -> list[object] | None: ...
def bins_of_values(values: object, edges: npt.NDArray[np.float64]) -> npt.NDArray[np.uint64]: ...
def value_prefixes(sums: npt.NDArray[np.int64], *, rows: ValueRows) -> npt.NDArray[np.float64]: ...
def value_tree_facts(*, rows: ValueRows, bins: int, replaced: bool) -> tuple[int, int]: ...
def value_tree_rows(*, rows: ValueRows, bins: int) -> npt.NDArray[np.int16]: ...
def value_variances(
    *,
    rows: ValueRows,
    bins: int,
    lows: npt.NDArray[np.int64],
    highs: npt.NDArray[np.int64],
) -> npt.NDArray[np.float64]: ...
def plain_weights(weights: object) -> npt.NDArray[np.uint64]: ...
def plain_item(value: object, *, name: str, place: str) -> Item: ...
def schedule_leaves(*, schedule: _Specification, width: int) -> int: ...
def schedule_pushes(
    *, schedule: _Specification, width: int, step: int
) -> npt.NDArray[np.int64]: ...
def schedule_published_steps(
    *, schedule: _Specification, width: int, step: int
) -> npt.NDArray[np.int64]: ...
def _after_fork_in_child() -> None: ...
