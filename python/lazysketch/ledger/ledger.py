"""The file of a ledger: a log of the store, with its lock, its authentication and its anchor."""

from __future__ import annotations

import dataclasses
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lazysketch import _native
from lazysketch.arguments import checked_integer, shown
from lazysketch.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    CapError,
    LazySketchError,
    StoreDoubtError,
    StoreError,
    StoreInUseError,
)
from lazysketch.ledger.entries import Closed, Entry, decoded, encoded
from lazysketch.ledger.spending import Spending, spending_at
from lazysketch.ledger.terms import Terms, Unit
from lazysketch.ledger.units import charge_for
from lazysketch.privacy.charges import Charge
from lazysketch.privacy.composable import Composable
from lazysketch.privacy.relations import Relation
from lazysketch.sketches.keys import Key
from lazysketch.sketches.live_state import ClosedByBlock
from lazysketch.store.opening import anchor_of, has_no_record, is_store

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Ledger", "Run"]

_WAIT: Final = 10.0
_RETRY: Final = 0.05
_LONGEST_NOTE: Final = 10_000


class Run:
    """A run that was charged to a ledger; made by :meth:`Ledger.charge`.

    Guarantee: the charge is durable. It is spent even if nothing is counted afterwards.

    Attributes:
        entry: what the ledger records of it.
        is_new: False if the charge was there already, for the same state.
    """

    def __init__(self, ledger: Ledger, entry: Entry, *, is_new: bool) -> None:
        self.entry = entry
        self.is_new = is_new
        self._ledger = ledger

    def close(self) -> None:
        """Record that the run counts nothing any more; later periods do not pay for it.

        Guarantee: the caller's statement. What the run has counted stays protected by the periods
        in which it was open.

        Raises:
            StoreError: the ledger cannot be written.
            ClosedError: the ledger was closed; see :meth:`Ledger.close_run`.
        """
        self._ledger.close_run(self.entry.run)


class Ledger(ClosedByBlock):
    """What was spent on a population, and a cap that no run may exceed.

    Guarantee: everything that the charged runs ever publish is (epsilon, delta)-private together
    for the cap of the :class:`Terms`, as long as each run is charged before it counts, counts only
    until it is closed, and counts within its description. Parameters of a run may follow from
    everything published before. A charge is durable when :meth:`charge` returns; an older copy of
    the ledger is refused, as its anchor states how far it has come. One process at a time has it
    open.

    Args:
        path: the directory of the ledger; see :meth:`create`.
        key: the key that opens it. It is not in the directory; without it the ledger is lost.
        anchor: a file outside of the directory, which is not copied or backed up together with it;
            by default one in the state directory of the user, found by the path.
        wait: seconds to wait for another process that has it open.
        clock: returns seconds since 1970 UTC; for simulations.

    Raises:
        ArgumentTypeError: a wrong type.
        ArgumentValueError: a key of tests, or an anchor inside the directory.
        StoreInUseError: another process has it open.
        StoreDoubtError: a ledger that is older than its anchor, or has none.
        StoreError: no ledger, or one that is damaged, of another key or version.

    Source: docs/ledger.md; docs/theory.md, Theorem 20.

    Example:
        >>> import pathlib, tempfile
        >>> import lazysketch as ls
        >>> folder, key = pathlib.Path(tempfile.mkdtemp()), ls.Key.generate()
        >>> ledger = ls.Ledger.create(
        ...     folder / "people.db", key=key, anchor=folder / "anchor",
        ...     population="visitors", unit="event", epsilon=4.0, delta=1e-6, period="1y",
        ... )
        >>> sketch = ls.LazyCountMin(depth=3, width=64, epsilon=0.2, delta=1e-9)
        >>> run = ledger.charge(sketch, note="Monday")
        >>> round(ledger.spent().epsilon, 2), ledger.spent().more(run.entry.charge) > 300
        (0.14, True)
        >>> run.close()
        >>> ledger.close()
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        key: Key,
        anchor: str | os.PathLike[str] | None = None,
        wait: float = _WAIT,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Open a ledger that exists."""
        if not is_store(path):
            raise StoreError(f"ledger: expected a ledger, got none at {os.fspath(path)}")
        self._take(_opened(Path(path), key, anchor, wait), clock)

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        *,
        key: Key,
        population: str,
        unit: Unit,
        epsilon: float,
        delta: float,
        relation: Relation = "substitution",
        period: str | None = None,
        anchor: str | os.PathLike[str] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> Self:
        """Make a ledger, and return it open.

        Args:
            path: a directory that has no ledger; made if it is missing.
            key: the key that shall open it.
            population: see :class:`Terms`, as for the following ones.
            unit: ``"event"`` or ``"person"``.
            epsilon: cap on epsilon.
            delta: cap on delta.
            relation: ``"substitution"`` or ``"zero-out"``.
            period: such as ``"1y"``; None for one cap for ever.
            anchor: as for :class:`Ledger`.
            clock: as for :class:`Ledger`.

        Returns:
            The ledger.

        Raises:
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range, a key of tests, or an anchor inside the
                directory.
            StoreError: there is a ledger or a store, or nothing can be written.
        """
        terms = Terms(
            population=population,
            unit=unit,
            epsilon=epsilon,
            delta=delta,
            relation=relation,
            period=period,
        )
        native = _opened(Path(path), key, anchor, 0.0)
        if native.last:
            native.close()
            raise StoreError(
                f"ledger: expected a directory without a ledger, got {os.fspath(path)}, which has "
                "one; nothing was changed, as its terms never are"
            )
        native.append([encoded(terms)])
        native.commit()
        native.close()
        return cls(path, key=key, anchor=anchor, clock=clock)

    def _take(self, native: _native.Store, clock: Callable[[], float]) -> None:
        """Read the entries of an open log."""
        self._native = native
        self._clock = clock
        self._lock = threading.RLock()
        self._writing = False
        self._latest = 0.0  # time of the last record
        self._entries: dict[int, Entry] = {}
        try:
            records = [decoded(record) for record in native.records()]
            if not records or not isinstance(records[0], Terms):
                raise StoreError(
                    "ledger: expected a ledger with its terms, got one whose making was cut short, "
                    "or a store; make the ledger again"
                )
            self.terms = records[0]
            for record in records[1:]:
                self._add(record)
        except BaseException:
            native.close()
            raise
        native.forget_recovered()

    def _add(self, record: Terms | Entry | Closed) -> None:
        if isinstance(record, Entry) and record.run == len(self._entries) + 1:
            self._entries[record.run] = record
            self._latest = max(self._latest, record.begun)
        elif isinstance(record, Closed) and record.run in self._entries:
            entry = self._entries[record.run]
            self._entries[record.run] = dataclasses.replace(entry, closed=record.at)
            self._latest = max(self._latest, record.at)
        else:
            raise StoreError("ledger: expected runs in their order, got another record")

    def charge(
        self, *parts: Composable, note: str = "", unit: Unit | None = None, state: str = ""
    ) -> Run:
        """Record what a run spends, before it counts anything.

        Guarantee: durable when it returns. A run that does not fit is refused, and nothing is
        recorded. After a crash within the call the charge is there or not.

        Args:
            parts: everything that the run publishes, as for :func:`~lazysketch.compose`.
            note: what the run is; printable text, seen by the operator only.
            unit: of pairs and of bounds that the caller enforces: ``"person"`` if they protect all
                events of a person together. By default what the parts state, and of pairs the unit
                of the ledger.
            state: an id of the state that the run is kept in. A further charge with the same id
                that is no larger than the first is the same run, which goes on, and costs nothing.

        Returns:
            The run.

        Raises:
            CapError: it does not fit; the message has what was asked, spent, the cap and the rest.
            ArgumentTypeError: a part without a guarantee.
            ArgumentValueError: a part of another relation or unit, or that is NOT PRIVATE.
            StoreError: the ledger cannot be written.
            ClosedError: after :meth:`close`.
        """
        text = _checked_text("note", note, _LONGEST_NOTE)
        of = _checked_text("state", state, _LONGEST_NOTE)
        charge = charge_for(self.terms, parts, unit=unit)
        with self._lock:
            known = self._kept(of, charge)
            if known is not None:
                return Run(self, known, is_new=False)
            now = self._now()
            spent = spending_at(self.terms, self._entries.values(), now)
            if not spent.admits(charge):
                raise CapError(spent.refusal(charge))
            entry = Entry(run=len(self._entries) + 1, begun=now, note=text, charge=charge, state=of)
            self._write(entry)
        return Run(self, entry, is_new=True)

    def close_run(self, run: int) -> None:
        """Record that a run counts nothing any more; nothing if it was closed before.

        Args:
            run: its number.

        Raises:
            ArgumentTypeError: not an integer.
            ArgumentValueError: no such run.
            StoreError: the ledger cannot be written.
            ClosedError: after :meth:`close`.
        """
        number = checked_integer("run", run)
        with self._lock:
            if number not in self._entries:
                raise ArgumentValueError(
                    f"run: expected one of {len(self._entries):,} runs, got {number:,}"
                )
            if self._entries[number].closed is None:
                self._write(Closed(run=number, at=self._now()))

    def spent(self, at: float | None = None) -> Spending:
        """Return what was spent in a period.

        Args:
            at: an instant of the period, in seconds since 1970 UTC; None for now.

        Returns:
            The spending; its :attr:`Spending.epsilon` is that of all runs together.
        """
        instant = self._now() if at is None else float(at)
        return spending_at(self.terms, self._entries.values(), instant)

    def rest(self, *parts: Composable, unit: Unit | None = None) -> int:
        """Return how many more runs like this fit into the present period.

        Args:
            parts: as for :meth:`charge`.
            unit: as for :meth:`charge`.

        Returns:
            Their number, at most a million.

        Raises:
            ArgumentTypeError: a part without a guarantee.
            ArgumentValueError: a part of another relation or unit, or that is NOT PRIVATE.
        """
        return self.spent().more(charge_for(self.terms, parts, unit=unit))

    def entries(self) -> tuple[Entry, ...]:
        """Return all runs, in the order of charging."""
        return tuple(self._entries.values())

    def close(self) -> None:
        """Release the ledger; runs stay open.

        Raises:
            StoreError: the ledger could not be written.
        """
        self._native.close()

    def _kept(self, state: str, charge: Charge) -> Entry | None:
        """Return the run that was charged for a state, if it covers this charge and is open."""
        for entry in self._entries.values():
            if state and entry.state == state and entry.closed is None:
                names = (field.name for field in dataclasses.fields(Charge))
                if all(getattr(charge, name) <= getattr(entry.charge, name) for name in names):
                    return entry
        return None

    def _now(self) -> float:
        """Return the time of the clock, never before that of an entry."""
        return max(float(self._clock()), self._latest)

    def _write(self, record: Entry | Closed) -> None:
        """Make a record durable, and then take it."""
        if self._writing:
            raise StoreError(
                "ledger: expected an intact ledger, got one whose last record was interrupted; "
                "open it again"
            )
        self._writing = True
        self._native.append([encoded(record)])
        self._native.commit()
        self._add(record)
        self._writing = False


def _opened(
    path: Path, key: Key, anchor: str | os.PathLike[str] | None, wait: float
) -> _native.Store:
    """Return the open log of a directory, or a new one."""
    if not isinstance(key, Key):
        raise ArgumentTypeError(f"key: expected a Key, got {type(key).__name__}")
    place = anchor_of(path) if anchor is None else Path(anchor)
    if place.resolve().is_relative_to(path.resolve()):
        raise ArgumentValueError(
            "anchor: expected a file outside of the ledger, whose copies would contain it, got one "
            "inside"
        )
    for folder in (path, place.parent):
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"ledger: expected a directory, got {error.strerror}: {folder}"
            ) from None
    if is_store(path) and not place.exists() and not has_no_record(path):
        raise StoreDoubtError(
            f"anchor: expected the anchor of this ledger, {place}, got none; an older copy of the "
            "ledger, which forgets what was spent, cannot be told from the newest"
        )
    deadline = time.monotonic() + wait
    while True:
        try:
            return _native.Store(str(path.absolute()), key=key, anchor=str(place.absolute()))
        except StoreInUseError as error:
            if time.monotonic() >= deadline:
                raise _renamed(error) from None
            time.sleep(_RETRY)
        except LazySketchError as error:
            raise _renamed(error) from None


def _renamed(error: LazySketchError) -> LazySketchError:
    """Return an error of the store in the words of a ledger."""
    name, colon, rest = str(error).partition(": ")
    name = {"state": "ledger", "folder": "ledger"}.get(name, name)
    return type(error)(f"{name}{colon}{rest.replace('store', 'ledger')}")


def _checked_text(name: str, text: object, most: int) -> str:
    if not isinstance(text, str):
        raise ArgumentTypeError(f"{name}: expected text, got {type(text).__name__}")
    if len(text) > most or not text.isprintable():
        raise ArgumentValueError(
            f"{name}: expected at most {most:,} printable characters, got {shown(text)}"
        )
    return str.__str__(text)
