"""Pipelines of a store: their parts are objects of the store, and a change of all is one record."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from lazysketch import _native
from lazysketch.arguments import checked_integer, shown
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.pipelines import Pipeline
from lazysketch.pipelines.columns import PartRows, people_of, tables_of, whole_numbers
from lazysketch.pipelines.part import in_part
from lazysketch.pipelines.shares import PrivacyShare, Split
from lazysketch.store.calls import Call, Counts, Share, plain_counts
from lazysketch.store.journal import Journal
from lazysketch.store.stored_changes import unknown_change
from lazysketch.sums.sums import Sums

if TYPE_CHECKING:
    from lazysketch.pipelines.columns import RowsOfStream
    from lazysketch.pipelines.part import Live

__all__ = ["StoredPipeline", "noted_split", "people_protected_in", "split_of_note"]


class StoredPipeline(Pipeline):
    """A pipeline of a store; its part ``x`` is the object ``NAME/x`` of the store.

    A change is one record of the log: all parts of it survive a crash, or none.
    """

    _journal: Journal
    _name: str

    def _join(self, journal: Journal, name: str) -> None:
        """Log all changes from here on, under a name."""
        self._journal, self._name = journal, name
        self._lock = journal.lock

    def update_many(self, rows: object) -> None:
        """Count many rows, one step each, as the method without a store."""
        self._change_all("update_rows", rows)

    def update_batch(self, rows: object) -> None:
        """Count any number of rows in one step, as the method without a store."""
        self._change_all("update_batch", rows)

    def tick(self, steps: int = 1) -> None:
        """Take steps without an event, as the method without a store."""
        self._change_all("tick", steps=checked_integer("steps", steps, least=0))

    def finish(self) -> None:
        """Publish everything pending, as the method without a store."""
        self._change_all("finish")

    def close(self) -> None:
        """Refuse: ``store.close()`` closes all objects, and keeps them."""
        raise ArgumentValueError(
            "store: expected store.close(), which keeps every object, got close() of one of them"
        )

    @property
    def steps(self) -> int:
        """Steps taken: rows, or batches, and ticks."""
        self._journal.commit()
        return super().steps

    def _change_all(self, method: str, rows: object = None, *, steps: int = 0) -> None:
        self._journal.change(self, self._call(method, rows, steps=steps))

    def _call(self, method: str, rows: object, *, steps: int = 0) -> Call:
        """Return a change of all parts, converted and checked."""
        events: list[_native.LoggedEvents] = []
        empty = [np.empty(0, dtype=np.int64)]
        weights: list[Counts] = []
        users: list[_native.LoggedPeople] = []
        shares = []
        for name, live, of_part in self._columns(rows) if method.startswith("update") else ():
            with in_part(name):
                batches, numbers = _logged(live, of_part)
                people = _identified(live, of_part, events=len(batches[0]))
            skipped = of_part.missing if method == "update_rows" else empty[0]
            counted = len(batches), len(skipped), len(numbers)
            shares.append(Share(_name_of(live), *counted, people=people is not None))
            users += [] if people is None else [people]
            events += batches
            empty.append(skipped)
            weights.append(numbers)
        shares = shares or [Share(_name_of(live), 0, 0) for live in self._live.values()]
        return Call(
            object=self._name,
            method=method,
            events=tuple(events),
            user=_native.LoggedPeople.joined(users) if users else None,
            weights=np.concatenate(weights) if any(map(len, weights)) else None,
            empty_rows=plain_counts(np.concatenate(empty)) if method == "update_rows" else None,
            steps=steps,
            objects=tuple(shares),
        )

    def _batch(
        self,
        items: object,
        weights: object,
        *,
        empty_rows: object,
        column: str | None,
        times: object,
        user: object = None,
    ) -> Call:
        """Return the change that counts a batch of rows, for :meth:`Store.ingest`."""
        others = {"weights": weights, "column": column, "times": times, "user": user}
        for name, value in {**others, "empty_rows": empty_rows}.items():
            if value is not None:
                raise ArgumentTypeError(f"{name}: expected none for rows of a pipeline, got some")
        return self._call("update_rows", items)

    def _pass_time(self) -> None:
        """Do nothing: no part has a clock."""

    def _carry_out(self, call: Call) -> None:
        """Change all parts in one call of the core: all of them or none."""
        self._check_steps()
        if call.method in ("update_rows", "update_batch") and self._user is not None:
            divided = zip(self._live.values(), call.divided(), strict=True)
            streams = [_stream(live, part) for live, part in divided]
            in_one_step = call.method == "update_batch"
            self._change(partial(_native.update_streams, in_one_step=in_one_step), streams)
        elif call.method in ("update_rows", "update_batch"):
            batches: list[_native.LoggedEvents] = []
            weights: list[Counts | None] = []
            empty: list[Counts | None] = []
            for live, part in zip(self._live.values(), call.divided(), strict=True):
                of_tables = _counted(live, part)
                batches += [one[0] for one in of_tables]
                weights += [one[1] for one in of_tables]
                empty += [part.empty_rows] * len(of_tables)
            if call.method == "update_rows":
                self._change(_native.update_rows_of_each, self._tables, batches, weights, empty)
            else:
                self._change(_native.update_batch_of_all, self._tables, batches, weights)
        elif call.method == "tick":
            self._change(_native.tick_all, self._tables, call.steps)
        elif call.method == "finish":
            self._change(_native.finish_all, self._tables)
        else:
            raise unknown_change(call)


def _name_of(live: Any) -> str:
    name: str = live._name
    return name


def _logged(live: Live, rows: PartRows) -> tuple[list[_native.LoggedEvents], Counts]:
    """Return the values of a part as the log has them, and integers of numbers or weights."""
    stored: Any = live
    batches: list[_native.LoggedEvents] = stored._batches(rows.values)
    if rows.numbers is None:
        return batches, np.empty(0, dtype=np.uint64)
    weights: Counts
    if isinstance(live, Sums):
        weights = live._weights(rows.numbers)
    else:
        weights = _native.plain_weights(whole_numbers(rows.numbers))
    if len(weights) != len(batches[0]):  # a batch without numbers is not told from one with none
        raise ArgumentValueError("rows: expected columns of one length, got several lengths")
    return batches, weights


def _identified(live: Live, rows: PartRows, *, events: int) -> _native.LoggedPeople | None:
    """Return the people of a part by their secret identities there; None without a bound."""
    people = people_of(live)
    if people is None:
        return None
    identified = people.identified(rows.users)
    if len(identified) != events:  # else people of another part would be those of this one
        raise ArgumentValueError("rows: expected columns of one length, got several lengths")
    return identified


def _stream(live: Live, part: Call) -> RowsOfStream:
    """Return what the tables of a part count of its batches in the log, with their people."""
    of_tables = _counted(live, part)
    return (
        people_of(live),
        tables_of(live),
        [one[0] for one in of_tables],
        [one[1] for one in of_tables],
        part.user,
        part.empty_rows,
    )


def _counted(live: Live, part: Call) -> list[tuple[_native.LoggedEvents, Counts | None]]:
    """Return what each table of a part counts of its batches in the log, with its weights."""
    if not isinstance(live, Sums):
        return [(events, part.weights) for events in part.events]
    weights = np.empty(0, dtype=np.uint64) if part.weights is None else part.weights
    return [(part.events[0], None), (part.events[0], weights)]


def noted_split(
    split: Split, names: Sequence[str], whole: tuple[float, float], user: str | None
) -> str:
    """Return the note that keeps how the privacy is divided, among what, and who is protected.

    A later version of the program might divide it a little differently; the parts could then not be
    opened any more.

    Args:
        split: of the parts, in order.
        names: of the parts.
        whole: (epsilon, delta) of all together.
        user: column of the people; None if rows are protected.
    """
    shares: Sequence[PrivacyShare] = split.shares
    plain = [[one.share, one.error_growth] for one in shares]
    note = {"parts": list(names), "whole": whole, "pairs": split.pairs, "shares": plain}
    return json.dumps(note if user is None else {**note, "user": user})


def people_protected_in(note: str) -> list[str]:
    """Return the names of the parts of a pipeline that protects people; none if it protects rows.

    Args:
        note: result of :func:`noted_split`.
    """
    plain = json.loads(note)
    parts: list[str] = plain["parts"]
    return [] if plain.get("user") is None else parts


def split_of_note(
    note: str, names: Sequence[str], whole: tuple[float, float], user: str | None
) -> Split:
    """Return what :func:`noted_split` has noted.

    Args:
        note: the note.
        names: of the parts.
        whole: (epsilon, delta) of all together.
        user: column of the people; None if rows are protected.

    Raises:
        ArgumentValueError: other parts, other people or another guarantee than those that were
            divided.
    """
    plain = json.loads(note)
    people = plain.get("user")
    if people != user:  # one person would have a bound under each name
        raise ArgumentValueError(
            f"user: expected {shown(people)}, with which the pipeline was made, got {shown(user)}"
        )
    if plain["parts"] != list(names):
        raise ArgumentValueError(
            f"parts: expected the {len(plain['parts'])} that the pipeline was made with, in their "
            "order, got others"
        )
    if plain["whole"] != list(whole):
        asked = "epsilon={:g}, delta={:g}"
        raise ArgumentValueError(
            f"epsilon: expected {asked.format(*plain['whole'])}, which the pipeline was made with, "
            f"got {asked.format(*whole)}"
        )
    return Split(
        tuple((epsilon, delta) for epsilon, delta in plain["pairs"]),
        tuple(PrivacyShare(share, growth) for share, growth in plain["shares"]),
    )
