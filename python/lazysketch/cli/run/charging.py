"""The charge of a run to a ledger, made before anything is counted."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from lazysketch.cli.view.output import tell, visible
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, LazySketchError

if TYPE_CHECKING:
    from collections.abc import Callable

    from lazysketch.cli.run.state import State
    from lazysketch.cli.settings import LedgerSettings
    from lazysketch.ledger import Ledger
    from lazysketch.ledger.terms import Terms
    from lazysketch.privacy.composable import Composable

__all__ = ["Charging"]

_LONGEST_NOTE: Final = 200
# What the library calls the place of the ledger of a run.
_OF_A_RUN: Final = {
    "ledger": "--ledger",
    "anchor": "--ledger-anchor",
    "--key-file": "--ledger-key-file",
    "key": "--ledger-key-file",
}


class Charging:
    """The place of a run in a ledger.

    The ledger is open for the charge and for its end only, so that runs can go on at the same time.

    Args:
        settings: Where the ledger is.
    """

    def __init__(self, settings: LedgerSettings) -> None:
        self._settings = settings
        self._run: int | None = None

    def charge(self, privacy: Composable, *, of: str, state: State | None) -> None:
        """Charge a run before it counts, if there is a ledger.

        Args:
            privacy: Everything that it publishes.
            of: Its inputs.
            state: The state that it goes on with; it is charged once.

        Raises:
            CapError: The run does not fit.
            LazySketchError: A ledger that cannot be used.
        """
        path = self._settings.ledger
        if path is None:
            return
        with self._opened(path) as it:
            note = visible(of)[:_LONGEST_NOTE]
            run = it.charge(privacy, note=note, state="" if state is None else state.store.id)
            self._run = run.entry.run
            spent = it.spent()
            done = "charged" if run.is_new else "goes on, charged before"
            tell(
                f"{path}: run {self._run:,} {done}; "
                f"{spent.share:.1%} of the cap for {it.terms.population} is spent {spent.named}"
            )
            tell(f"{path}: {_units(it.terms)}")

    def find(self, state: State) -> None:
        """Find the run of a state whose stream was ended: it counts nothing, and is not charged.

        Args:
            state: The state.

        Raises:
            LazySketchError: A ledger that cannot be used.
        """
        path = self._settings.ledger
        if path is None:
            return
        with self._opened(path) as it:
            runs = [run.run for run in it.entries() if run.state == state.store.id]
            self._run = runs[-1] if runs else None
            tell(f"{path}: nothing is charged, since nothing is counted")

    def end(self) -> None:
        """Close the run, which counts nothing any more; a failure leaves it open, and is shown."""
        path = self._settings.ledger
        if path is None or self._run is None:
            return
        try:
            with self._opened(path) as ledger:
                ledger.close_run(self._run)
        except LazySketchError as error:
            tell(f"{path}: run {self._run:,} stays open: {error}; lazysketch ledger close ends it")

    @property
    def ledger(self) -> Callable[[], Ledger] | None:
        """Opens the ledger, which is that of the population; None without one."""
        path = self._settings.ledger
        return None if path is None else partial(self._opened, path)

    def remind(self) -> None:
        """Say that runs add up, where no ledger adds them."""
        if self._settings.ledger is None:
            tell(
                "other runs over the same people add to what this one spends; --ledger keeps the "
                "total and a cap"
            )

    def check(self) -> None:
        """Raise for options that need a ledger, and for one without its population."""
        settings = self._settings
        if settings.ledger is not None and settings.population is None:
            raise ArgumentTypeError(
                "--population: expected the name of the people whom the ledger is for, got none; "
                "lazysketch ledger show prints it"
            )
        if settings.ledger is None:
            for option, given in (
                ("--population", settings.population),
                ("--ledger-key-file", settings.ledger_key_file),
                ("--ledger-anchor", settings.ledger_anchor),
            ):
                if given is not None:
                    raise ArgumentTypeError(f"{option}: expected --ledger too, got none")

    def _opened(self, path: str) -> Ledger:
        """Return the open ledger, which is that of the population."""
        from lazysketch.cli.run.ledgers import opened_ledger  # late: few runs have a ledger

        settings = self._settings
        ledger = opened_ledger(
            path, settings.ledger_key_file, settings.ledger_anchor, names=_OF_A_RUN
        )
        if ledger.terms.population != settings.population:
            ledger.close()
            raise ArgumentValueError(
                f"--population: expected {ledger.terms.population!r}, that of {path}, got "
                f"{settings.population!r}"
            )
        return ledger


def _units(terms: Terms) -> str:
    """Return what the total of a ledger protects, next to what one run does."""
    unit = "what is counted of a person" if terms.unit == "person" else "an event"
    within = f" within one period of {terms.period}" if terms.period else ""
    return (
        f"its total protects {unit}{within}, over all runs that are charged; the guarantee in the "
        "result is that of this run alone, from its beginning to its end"
    )
