"""Batches of partial counts that a store has committed: what tells a repetition from a change."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from lazysketch.errors import ArgumentValueError, StoreError
from lazysketch.store.calls import Call

__all__ = [
    "ADDED",
    "LIFETIME",
    "MOST_SOURCES",
    "AddedPartial",
    "CommittedBatch",
    "PartialBatches",
    "lost_publication",
    "positions_digest",
]

ADDED: Final = "add_partials"
"""The change that adds partial counts."""

LIFETIME: Final = 1024
"""Steps for which a description can be used: so long are the ids of partial counts kept."""


MOST_SOURCES: Final = 1024
"""Sources of partial counts: the last publication of each is kept, so that it can be repeated."""


class AddedPartial(NamedTuple):
    """Partial counts that were added.

    Attributes:
        issued: the step at which their description was handed out.
        id: their random id, in hexadecimal digits.
    """

    issued: int
    id: str


@dataclass(frozen=True)
class CommittedBatch:
    """The last batch of a source.

    Attributes:
        object: name of the object that counts it.
        sequence: its place in the source.
        positions: digest of what the source notes with it.
        content: keyed digest of the counts.
        table: id of the table that counts it: of the object in its era, or of a window.
        step: of the table, after the batch.
        publication: bytes of the releases after it, one per level; none until they are made.
    """

    object: str
    sequence: int
    positions: str
    content: str
    table: str
    step: int
    publication: tuple[bytes, ...] = ()

    @classmethod
    def of(cls, call: Call) -> CommittedBatch:
        """Return the batch of a call that was carried out.

        Args:
            call: one that adds partial counts.
        """
        return cls(
            object=call.object,
            sequence=call.sequence,
            positions=positions_digest(call),
            content=call.facts["content"],
            table=call.facts["table"],
            step=call.facts["step"],
        )


@dataclass
class PartialBatches:
    """What a store keeps of partial counts: the last batch by source, ids by object.

    Attributes:
        last: the last batch of each source.
        added: ids of counts that were added to the table of an object, with the step at which their
            description was handed out.
        tables: id of that table. Counts of an earlier one, of another era or of a window that is
            over, are refused by the id of their table.
    """

    last: dict[str, CommittedBatch] = field(default_factory=dict)
    added: dict[str, dict[str, int]] = field(default_factory=dict)
    tables: dict[str, str] = field(default_factory=dict)

    def repeated(self, call: Call, *, last_sequence: int) -> CommittedBatch | None:
        """Return the committed batch that a call repeats; None for a new batch.

        Args:
            call: one that would add partial counts.
            last_sequence: of its source.

        Raises:
            ArgumentValueError: a batch before the last one, or the last one with other positions,
                another object or other counts.
        """
        if call.sequence > last_sequence:
            return None
        known = self.last.get(call.source or "")
        if known is None or call.sequence != known.sequence:
            raise ArgumentValueError(
                f"sequence: expected one above {last_sequence:,}, or the last batch of partial "
                f"counts again, got {call.sequence:,}"
            )
        for argument, new, old in (
            ("into", call.object, known.object),
            ("positions", positions_digest(call), known.positions),
            ("sealed", call.facts["content"], known.content),
        ):
            if new != old:
                raise ArgumentValueError(
                    f"{argument}: expected those of batch {call.sequence:,}, which is committed, "
                    "got others; nothing was counted"
                )
        return known

    def check_new(self, call: Call, partials: Iterable[AddedPartial], *, step: int) -> None:
        """Raise unless partial counts were never added, and their ids are kept still.

        Args:
            call: one that would add them.
            partials: those of a new batch.
            step: of the table.

        Raises:
            ArgumentValueError: partial counts that were added before, or under a description that
                is too old, or one source too many.
        """
        if call.source not in self.last and len(self.last) >= MOST_SOURCES:
            raise ArgumentValueError(
                f"source: expected one of the {MOST_SOURCES:,} sources of partial counts that the "
                "store has, as it keeps the last publication of each, got another; nothing was "
                "counted"
            )
        seen = set(self._ids_of(call))
        for partial in partials:
            if not step - LIFETIME < partial.issued <= step:
                raise ArgumentValueError(
                    f"sealed: expected a description of the last {LIFETIME:,} steps, got an older "
                    "one; ask for partial_spec() again"
                )
            if partial.id in seen:
                raise ArgumentValueError(
                    "sealed: expected partial counts that were not added before, got some that "
                    "were; nothing was counted"
                )
            seen.add(partial.id)

    def add(self, call: Call) -> None:
        """Keep what a call added.

        Args:
            call: one that was logged.
        """
        batch = CommittedBatch.of(call)
        self.last[call.source or ""] = batch
        kept = self._ids_of(call) | {name: issued for issued, name in call.facts["partials"]}
        self.tables[call.object] = batch.table
        oldest = batch.step - LIFETIME
        self.added[call.object] = {name: at for name, at in kept.items() if at > oldest}

    def is_last(self, call: Call) -> bool:
        """Return whether a call is the last batch of its source.

        Args:
            call: one that added partial counts.
        """
        known = self.last.get(call.source or "")
        return known is not None and (known.object, known.sequence) == (call.object, call.sequence)

    def published(self, source: str, publication: Iterable[bytes]) -> None:
        """Keep what was published after the last batch of a source.

        Args:
            source: its name.
            publication: bytes of the releases, one per level.
        """
        self.last[source] = replace(self.last[source], publication=tuple(publication))

    def _ids_of(self, call: Call) -> dict[str, int]:
        """Return the ids that were added to the table of a call."""
        is_same = self.tables.get(call.object) == call.facts["table"]
        return self.added.get(call.object, {}) if is_same else {}

    def described(self) -> tuple[dict[str, Any], list[bytes]]:
        """Return a description for a checkpoint, and the publications that it has."""
        batches = {
            source: [
                it.object,
                it.sequence,
                it.positions,
                it.content,
                it.table,
                it.step,
            ]
            for source, it in self.last.items()
        }
        kept = {source: it.publication for source, it in self.last.items() if it.publication}
        described = {
            "batches": batches,
            "added": self.added,
            "tables": self.tables,
            "publications": {source: _sizes(releases) for source, releases in kept.items()},
        }
        return described, [release for releases in kept.values() for release in releases]

    def restore(self, described: Mapping[str, Any], contents: Iterator[bytes]) -> None:
        """Go on from a checkpoint.

        Args:
            described: the first result of :meth:`described`.
            contents: the second one.
        """
        self.last = {source: CommittedBatch(*it) for source, it in described["batches"].items()}
        self.added = {name: dict(ids) for name, ids in described["added"].items()}
        self.tables = dict(described["tables"])
        for source, sizes in described["publications"].items():
            number = len(sizes) if isinstance(sizes, list) else 1
            self.published(source, [next(contents) for _ in range(number)])


def _sizes(releases: tuple[bytes, ...]) -> int | list[int]:
    """Return the size of a release, or those of the releases of several levels."""
    sizes = [len(release) for release in releases]
    return sizes[0] if len(sizes) == 1 else sizes


def positions_digest(call: Call) -> str:
    """Return a digest of the batch id and what the source notes with it.

    Args:
        call: one that adds partial counts.
    """
    digest = hashlib.blake2b(digest_size=32)
    for part in (call.source or "", str(call.sequence), call.note):
        plain = part.encode("utf-8", "surrogatepass")
        digest.update(len(plain).to_bytes(8, "little"))
        digest.update(plain)
    return digest.hexdigest()


def lost_publication() -> StoreError:
    """Return the error for a publication that was never made, and can no longer be."""
    return StoreError(
        "store: expected the publication of the last batch, got none: the process ended before it "
        "was made, and the object has taken further steps; read the object"
    )
