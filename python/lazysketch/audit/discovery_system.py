"""Discovery under test: the installed library, or a plain Python model with a planted bug.

A check feeds events epoch by epoch and reads published names. The model counts, draws, adds and
compares as in :mod:`lazysketch.audit.discovery_oracle`; only its raw draws and the secret order of
items come from the library, under a seed. Without a bug it publishes the names that the library
publishes, which is itself a check. Cost of the model: a microsecond per event. NOT PRIVATE.
"""

from __future__ import annotations

import secrets
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cache
from typing import Protocol

import numpy as np

from lazysketch.audit.discovery_oracle import Row, counted, summary
from lazysketch.audit.fingerprints import HASH_SEED, fingerprint
from lazysketch.audit.model_maker import ModelMaker
from lazysketch.audit.schedule_model import Integers
from lazysketch.heavy_hitters import DiscoverySpec, HeavyHitters, HeavyHittersSpec
from lazysketch.heavy_hitters.tables import DiscoveringTable
from lazysketch.releases.items import Item
from lazysketch.sketches.keys import Key
from lazysketch.specification.schedules import Batch, Geometric
from lazysketch.specification.table_spec import TableSpec
from lazysketch.testing import seeded_key

__all__ = [
    "DiscoveryBug",
    "DiscoveryLibrary",
    "DiscoveryModel",
    "DiscoverySystem",
    "LiveDiscovery",
    "described",
]


class LiveDiscovery(Protocol):
    """Discovery of one stream."""

    @property
    def threshold(self) -> int:
        """The stated threshold."""

    @property
    def rates(self) -> tuple[float, float]:
        """The stated epsilons: of a name published more often, and missing more often."""

    @property
    def exact(self) -> bool:
        """True for exact counting, False for Misra-Gries."""

    def feed(self, items: Sequence[Item] | Integers, weights: Integers | None = None) -> None:
        """Count events, one step each; an epoch ends after its last step."""

    def published(self) -> list[Item]:
        """Return all names published so far."""

    def draws(self, epoch: int, slots: list[int]) -> Integers:
        """Return the noise of slots of an epoch, 0 for the shared one; under a seed only."""


class DiscoverySystem(Protocol):
    """A maker of discovery."""

    @property
    def name(self) -> str:
        """The name in findings."""

    def open(
        self, spec: DiscoverySpec, *, seed: int | None = None, sketch_id: bytes | None = None
    ) -> LiveDiscovery:
        """Return discovery under a fresh secret key, or under the key of a seed and an id."""


@cache
def described(spec: DiscoverySpec, *, hash_seed: int = HASH_SEED) -> HeavyHittersSpec:
    """Return discovery together with a small sketch, which these checks do not read.

    Args:
        spec: description of discovery.
        hash_seed: public seed of the hash.

    Returns:
        The description of heavy hitters.
    """
    table = TableSpec(
        kind="count-min",
        depth=1,
        width=16,
        schedule=Batch(horizon=2**12) if spec.batches else Geometric(),
        epsilon=1.0,
        delta=1e-6,
        relation=spec.relation,
        mechanism="haar",
        max_weight=spec.max_weight,
        max_events_per_user=spec.max_events_per_user,
        hash_seed=hash_seed,
    )
    return HeavyHittersSpec(table=table, share=0.5, discovery=spec)


@dataclass(frozen=True)
class LibraryDiscovery:
    """Discovery of the library."""

    heavy: HeavyHitters
    spec: DiscoverySpec

    @property
    def threshold(self) -> int:
        """The stated threshold."""
        return self.heavy.threshold or 0

    @property
    def rates(self) -> tuple[float, float]:
        """The stated epsilons."""
        return self.spec.facts["rates"]

    @property
    def exact(self) -> bool:
        """True for exact counting."""
        return self.spec.variant == "dictionary"

    def feed(self, items: Sequence[Item] | Integers, weights: Integers | None = None) -> None:
        """Count events."""
        self.heavy.update_many(items, weights)

    def published(self) -> list[Item]:
        """Return all names published so far."""
        return self.heavy.candidates

    def draws(self, epoch: int, slots: list[int]) -> Integers:
        """Return the noise of slots of an epoch."""
        return _native_table(self.heavy)._discovery_draws(epoch, slots)


def _native_table(heavy: HeavyHitters) -> DiscoveringTable:
    table = heavy._table
    if not isinstance(table, DiscoveringTable):
        raise AssertionError("heavy hitters: expected discovery, got a public list")
    return table


class DiscoveryLibrary:
    """The installed library."""

    name = "lazysketch"

    def open(
        self, spec: DiscoverySpec, *, seed: int | None = None, sketch_id: bytes | None = None
    ) -> LibraryDiscovery:
        """Return discovery of the public class."""
        key = Key.generate() if seed is None else seeded_key(seed, sketch_id=sketch_id or bytes(16))
        return LibraryDiscovery(HeavyHitters.from_spec(described(spec), key=key), spec)


class DiscoveryBug(Enum):
    """A planted bug of discovery; the value is its description."""

    LOW_THRESHOLD = "threshold too low by one"
    SMALL_NOISE = "noise of names too small by 10 %"
    LARGE_NOISE = "noise of names too large by 10 %"
    NO_NOISE = "no noise on the third slot"
    NO_SHARED = "Misra-Gries without shared noise"
    FORGOTTEN_ZEROS = "Misra-Gries that forgets keys at zero"
    REPEATED = "noise of names repeated after 64 slots"
    SHARED_EPOCHS = "noise of names shared by two epochs"
    NO_ID = "noise of names without the sketch id"
    ARRIVAL = "noise of names by the order of their first events"
    FINGERPRINT = "identity by the public fingerprint"
    ASKED_SKETCH = "names published if the sketch counts many"
    WHOLE_WEIGHT = "weights of names counted whole, beyond the largest that may count"
    WEIGHT_AS_EVENT = "each weight of 1 counted as an event of exact counts"


class DiscoveryModel(ModelMaker[DiscoveryBug]):
    """A maker of model discovery.

    Args:
        bug: the bug, or None.
    """

    def open(
        self, spec: DiscoverySpec, *, seed: int | None = None, sketch_id: bytes | None = None
    ) -> ModelDiscovery:
        """Return a model: under a random seed, or under the key of a seed and an id."""
        chosen = secrets.token_bytes(16) if sketch_id is None else sketch_id
        return ModelDiscovery(
            spec, secrets.randbits(64) if seed is None else seed, chosen, self.bug
        )


@dataclass
class ModelDiscovery:
    """Model discovery of one stream."""

    spec: DiscoverySpec
    seed: int
    sketch_id: bytes
    bug: DiscoveryBug | None
    epoch: int = 0
    pending: list[tuple[Item, int]] = field(default_factory=list)
    names: dict[Item, int] = field(default_factory=dict)  # name to first epoch

    def __post_init__(self) -> None:
        """Set the threshold, and open the discovery that the draws come from."""
        facts = self.spec.facts
        self.exact = self.spec.variant == "dictionary"
        self.rates = facts["rates"]
        self.threshold = facts["threshold"] - (self.bug is DiscoveryBug.LOW_THRESHOLD)
        factor = {DiscoveryBug.SMALL_NOISE: 1 / 0.9, DiscoveryBug.LARGE_NOISE: 1 / 1.1}
        epsilon = self.spec.epsilon * (factor.get(self.bug, 1.0) if self.bug else 1.0)
        sketch_id = bytes(16) if self.bug is DiscoveryBug.NO_ID else self.sketch_id
        self._source = DiscoveringTable.of(
            described(replace(self.spec, epsilon=epsilon)),
            key=seeded_key(self.seed, sketch_id=sketch_id),
        )

    def feed(self, items: Sequence[Item] | Integers, weights: Integers | None = None) -> None:
        """Count events; every complete epoch is published."""
        plain = items.tolist() if isinstance(items, np.ndarray) else items
        each = [1] * len(plain) if weights is None else weights.tolist()
        self.pending += zip(plain, each, strict=True)
        length = self.spec.epoch
        for start in range(0, len(self.pending) - length + 1, length):
            self._publish(self._times(self.pending[start : start + length]))
            self.epoch += 1
        del self.pending[: len(self.pending) // length * length]

    def published(self) -> list[Item]:
        """Return all names published so far."""
        return list(self.names)

    def _times(self, events: Sequence[tuple[Item, int]]) -> list[Item]:
        """Return each item as often as the weight of its event counts."""
        most = self.spec.counted_weight
        if self.bug is DiscoveryBug.WHOLE_WEIGHT and most > 1:
            most = self.spec.max_weight
        return [item for item, weight in events for _ in range(min(weight, most))]

    def _publish(self, events: Sequence[Item]) -> None:
        shown: dict[Hashable, Item] = {}
        for item in events:
            shown.setdefault(self._identity(item), item)
        rows = self._rows([self._identity(item) for item in events], shown)
        shared, *own = self.draws(self.epoch, list(range(len(rows) + 1))).tolist()
        if self.exact or self.bug is DiscoveryBug.NO_SHARED:
            shared = 0
        for (key, count), noise in zip(rows, own, strict=True):
            asked = len(events) if self.bug is DiscoveryBug.ASKED_SKETCH else count
            if self.bug is DiscoveryBug.WEIGHT_AS_EVENT and self.exact:
                asked *= self.spec.counted_weight
            if key in shown and asked + shared + noise >= self.threshold:
                self.names.setdefault(shown[key], self.epoch)

    def _identity(self, item: Item) -> Hashable:
        return fingerprint(item) if self.bug is DiscoveryBug.FINGERPRINT else item

    def _rows(self, keys: list[Hashable], shown: dict[Hashable, Item]) -> list[Row]:
        """Return the table after an epoch, in the order of secret identities."""
        found = self._source._identities(list(shown.values()))
        slots = self.spec.facts["slots"]
        dummies: list[Hashable] = [("dummy", slot) for slot in range(slots)]
        ranks = dict(zip([*dummies, *shown], found, strict=True))
        rows = (
            counted(keys)
            if self.exact
            else summary(
                keys,
                dummies=dummies,
                order=ranks.__getitem__,
                forget_zeros=self.bug is DiscoveryBug.FORGOTTEN_ZEROS,
            )
        )
        return (
            rows
            if self.bug is DiscoveryBug.ARRIVAL
            else sorted(rows, key=lambda row: ranks[row[0]])
        )

    def draws(self, epoch: int, slots: list[int]) -> Integers:
        """Return the noise of slots of an epoch, wrong if that is the bug."""
        if self.bug is DiscoveryBug.SHARED_EPOCHS:
            epoch //= 2
        asked = [slot % 64 for slot in slots] if self.bug is DiscoveryBug.REPEATED else slots
        found = self._source._discovery_draws(epoch, asked)
        if self.bug is DiscoveryBug.NO_NOISE:
            found = np.where(np.array(slots) == 3, 0, found)
        return found
