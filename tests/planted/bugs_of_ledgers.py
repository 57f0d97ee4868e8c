"""Ledgers that forget what was spent, or that admit what exceeds the cap."""

from __future__ import annotations

from typing import Final

from tests.planted.edits import edited
from tests.planted.planted_bug import PlantedBug

__all__ = ["BUGS_OF_LEDGERS"]

_LEDGER: Final = "lazysketch.ledger.ledger"
_SPENDING: Final = "lazysketch.ledger.spending"
_UNITS: Final = "lazysketch.ledger.units"
_FILES: Final = "tests/unit/ledger/test_files.py::"
_COMMAND: Final = "tests/unit/cli/commands/test_ledger.py::"
_TESTS: Final = "tests/unit/ledger/test_ledger.py::"

BUGS_OF_LEDGERS: Final = (
    PlantedBug(
        name="charge-returns-before-it-is-durable",
        subject="durable state",
        claim="A charge is written when the ledger is closed, after the run.",
        caught_by=f"{_FILES}test_a_charge_is_in_the_files_when_it_returns",
        patch=edited(f"{_LEDGER}:Ledger._write", ("self._native.commit()", "pass")),
    ),
    PlantedBug(
        name="ledger-opens-without-its-anchor",
        subject="durable state",
        claim="A ledger whose anchor is missing gets a new one: an old copy forgets spending.",
        caught_by=f"{_FILES}test_a_ledger_without_its_anchor_is_refused",
        patch=edited(f"{_LEDGER}:_opened", ("not place.exists()", "False")),
    ),
    PlantedBug(
        name="cap-compared-with-one-part",
        subject="accounting",
        claim="A run is charged for its first mechanism: the tables and not the names.",
        caught_by=f"{_TESTS}test_everything_that_a_run_publishes_is_charged",
        patch=edited(
            f"{_UNITS}:charge_for", ("total_of(together.charges)", "total_of(together.charges[:1])")
        ),
    ),
    PlantedBug(
        name="closed-run-forgotten",
        subject="accounting",
        claim="A run that was closed gives back what it has spent in its period.",
        caught_by=f"{_TESTS}test_open_runs_count_in_every_period_until_they_are_closed",
        patch=edited(
            f"{_SPENDING}:spending_at",
            ("(run.closed is None or run.closed >= begin)", "run.closed is None"),
        ),
    ),
    PlantedBug(
        name="open-run-pays-for-its-first-period",
        subject="accounting",
        claim="A run that is open counts in the period of its charge, and in no later one.",
        caught_by=f"{_TESTS}test_open_runs_count_in_every_period_until_they_are_closed",
        patch=edited(
            f"{_SPENDING}:spending_at",
            ("(run.closed is None or run.closed >= begin)", "run.begun >= begin"),
        ),
    ),
    PlantedBug(
        name="cap-of-deltas-left-out",
        subject="accounting",
        claim="The filter bounds the sum of mu squared and no sum of deltas.",
        caught_by=f"{_TESTS}test_the_sum_of_deltas_stays_below_the_bound",
        patch=edited(
            f"{_SPENDING}:_within", ("for name in names)", 'for name in names if name != "delta")')
        ),
    ),
    PlantedBug(
        name="later-runs-choose-the-sum",
        subject="accounting",
        claim="A run is admitted if it fits by either sum, whichever is chosen by earlier results.",
        caught_by=f"{_TESTS}test_no_run_after_the_first_changes_how_runs_are_added",
        patch=edited(f"{_SPENDING}:Spending.rules_for", ("if not self.runs:", "if True:")),
    ),
    PlantedBug(
        name="larger-run-in-a-charged-state",
        subject="accounting",
        claim="A state that was charged once goes on free, whatever it spends now.",
        caught_by=f"{_TESTS}test_a_run_with_a_state_is_charged_once",
        patch=edited(
            f"{_LEDGER}:Ledger._kept",
            ("getattr(charge, name) <= getattr(entry.charge, name)", "bool(name)"),
        ),
    ),
    PlantedBug(
        name="clock-that-goes-back",
        subject="accounting",
        claim="A clock that is set back charges an earlier period.",
        caught_by=f"{_TESTS}test_a_clock_that_goes_back_opens_no_earlier_period",
        patch=edited(
            f"{_LEDGER}:Ledger._now",
            ("max(float(self._clock()), self._latest)", "float(self._clock())"),
        ),
    ),
    PlantedBug(
        name="events-charged-as-persons",
        subject="accounting",
        claim="A run that protects single events is charged to a ledger that protects persons.",
        caught_by=f"{_TESTS}test_a_run_for_events_is_refused_where_persons_are_protected",
        patch=edited(f"{_UNITS}:_check_people", ("unit is None and together.parts", "False")),
    ),
    PlantedBug(
        name="zero-out-charged-as-substitution",
        subject="accounting",
        claim="A run for zero-out is charged unchanged where substitution is protected.",
        caught_by=f"{_TESTS}test_only_proven_relations_are_converted",
        patch=edited(
            f"{_UNITS}:charge_for",
            ('(None, "substitution", terms.relation)', '(None, "substitution", "zero-out")'),
        ),
    ),
    PlantedBug(
        name="counted-before-it-is-charged",
        subject="accounting",
        claim="The command charges a run at its end, when it has published.",
        caught_by=f"{_COMMAND}test_a_run_beyond_the_cap_is_refused_before_it_reads",
        patch=edited(
            "lazysketch.cli.run.controller:count",
            ("charging.charge(target.spends, of=source.name, state=state)", "pass"),
            (
                "        charging.end()",
                (
                    "        charging.charge(target.spends, of=source.name, state=state)\n"
                    "        charging.end()"
                ),
            ),
        ),
    ),
    PlantedBug(
        name="new-era-charged-before",
        subject="accounting",
        claim="A state is charged once for all eras, although each has fresh noise.",
        caught_by=f"{_COMMAND}test_a_new_era_of_a_state_is_charged_anew",
        patch=edited("lazysketch.store.store:Store.id", ("-{self._eras.id:016x}", "")),
    ),
)
