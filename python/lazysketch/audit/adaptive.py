"""An attack that chooses the differing event by looking at earlier releases.

An attacker reads every release and then commits to the step and the items of the differing event:
where the noise of the latest releases is most extreme in the direction that the event would move.
He decides by the likelihood ratio of that pair over all releases.

For ideal Gaussian noise his gain is zero: given the past, the loss of every choice is normal, with
a mu that does not depend on what was seen. Noise of integers is worth at most a little more
(docs/theory.md, Theorem 15): that mu, from its definition, is what the attack may not exceed.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lazysketch.audit.case import NO_EVENT, Case
from lazysketch.audit.claimed_noise import epsilon_of, table_sensitivity2
from lazysketch.audit.confidence import Mistakes
from lazysketch.audit.distinguisher import REPORTED, Pair
from lazysketch.audit.finding import ALARM, Outcome
from lazysketch.audit.sensitivity import patterns
from lazysketch.audit.system_under_test import LiveTable, SystemUnderTest

__all__ = ["distinguish_adaptively"]

Sample = NDArray[np.float64]
_FIRST = 2  # reads before the attacker may commit
_EXTREME = 2.0  # deviations at which he commits before the last opportunity
# rho^2 of the theorem: the factor on delta is below 1 + 4e-6 for each changed cell.
_SMOOTHING = 0.75


@dataclass(frozen=True)
class _Choice:
    """A pair that the attacker may commit to, and how he decides."""

    pair: Pair
    mechanism: str

    @cached_property
    def rule(self) -> tuple[Sample, float, float]:
        """The direction of the likelihood ratio, the value half-way, and the distance."""
        direction, distance = self.pair.likelihood_ratio(self.mechanism)
        case, reads = self.pair.case, self.pair.reads
        stream = self.pair.stream(second=False)
        counts = [case.published(stream, hash_seed=1, step=step).ravel() for step in reads]
        middle = float(direction @ np.concatenate(counts)) + distance**2 / 2
        return direction, middle, distance

    @cached_property
    def cells(self) -> Sample:
        """The change of the cells by this pair, with length 1."""
        moved = self.pair.shift()[-1]
        result: Sample = moved / np.linalg.norm(moved)
        return result


def _choices(case: Case, mechanism: str) -> dict[int, list[_Choice]]:
    """For each read, the pairs right after it whose distance is within 2 % of the largest."""
    items = patterns(case, 1)
    if case.spec.relation == "substitution":
        pairs = list(itertools.permutations(items, 2))
    else:
        pairs = [(NO_EVENT, item) for item in items]
    reads = Pair(case, 1, pairs[0], 1).reads

    def tried(read: int, pairs: list[tuple[int, int]]) -> list[_Choice]:
        made = (_Choice(Pair(case, 1, pair, reads[read] + 1), mechanism) for pair in pairs)
        return [choice for choice in made if choice.pair.shift()[-1].any()]

    first = tried(_FIRST - 1, pairs)
    largest = max(choice.rule[2] for choice in first)
    # Which pairs are far apart hardly depends on the step.
    pairs = [choice.pair.items for choice in first if choice.rule[2] > 0.98 * largest]
    found = {read: tried(read, pairs) for read in range(_FIRST - 1, len(reads) - 1)}
    largest = max(choice.rule[2] for choices in found.values() for choice in choices)
    near = {
        read: [choice for choice in choices if choice.rule[2] > 0.98 * largest]
        for read, choices in found.items()
    }
    return {read: choices for read, choices in near.items() if choices}


def _attacked(
    live: LiveTable,
    choices: dict[int, list[_Choice]],
    moves: dict[int, Sample],
    deviations: Sample,
    *,
    second: bool,
) -> bool:
    """Run one trial; return whether the attacker decides for the second stream."""
    reads = next(iter(choices.values()))[0].pair.reads
    seen: list[Sample] = []
    chosen: _Choice | None = None
    taken = 0
    for read, step in enumerate(reads):
        items = np.full(step - taken, NO_EVENT)
        if chosen is not None and taken < chosen.pair.step <= step:
            items[chosen.pair.step - taken - 1] = chosen.pair.items[int(second)]
        live.feed(items)
        taken = step
        seen.append(np.asarray(live.read(), dtype=np.float64).ravel())
        if chosen is None and read in choices:
            moved = moves[read] @ seen[-1]
            best = int(moved.argmax())
            if moved[best] > _EXTREME * deviations[read] or read == max(choices):
                chosen = choices[read][best]
    if chosen is None:
        raise AssertionError("attack: expected a choice, got none")
    direction, middle, _ = chosen.rule
    return float(direction @ np.concatenate(seen)) > middle


def largest_mu(case: Case) -> float:
    """Return the mu that Theorem 15 proves for an event chosen from releases.

    Args:
        case: a small table, for single events.

    Returns:
        1 / sqrt(1 / mu^2 - rho^2 / table sensitivity); infinite where nothing is proven.
    """
    spec = case.spec
    squared = table_sensitivity2(spec.kind, depth=spec.depth, relation=spec.relation)
    left = 1 / case.mu**2 - _SMOOTHING / squared
    return 1 / math.sqrt(left) if left > 0 else math.inf


def distinguish_adaptively(system: SystemUnderTest, case: Case, *, trials: int) -> Outcome:
    """Bound the mu from below that an attacker attains who chooses the event from releases.

    Args:
        system: the system under test.
        case: a small table with a horizon.
        trials: tables per stream.

    Returns:
        Failed if the bound on mu exceeds the one that is proven, at a risk of :data:`ALARM`.
    """
    mechanism = system.open(case, hash_seed=1).mechanism
    noise = case.claimed_noise(mechanism)
    choices = _choices(case, mechanism)
    deviations = np.array([noise.deviation(push) for push in range(1, case.leaves + 1)])
    moves = {read: np.array([choice.cells for choice in of]) for read, of in choices.items()}

    def decides_second(*, second: bool) -> bool:
        live = system.open(case, hash_seed=1)
        return _attacked(live, choices, moves, deviations, second=second)

    wrong = [
        sum(decides_second(second=second) != second for _ in range(trials))
        for second in (False, True)
    ]
    mistakes = Mistakes(wrong[0], trials, wrong[1], trials)
    mu, delta, most = mistakes.mu(REPORTED), case.spec.delta, largest_mu(case)
    return Outcome(
        claim=f"mu <= {most:.3f} for an event that is chosen from releases",
        observed=f"mu >= {mu:.3f} at 95 %, stated {case.mu:.3f} for a fixed event",
        samples=2 * trials,
        passed=mistakes.mu(ALARM) <= most,
        figures={
            "mu_claimed": case.mu,
            "mu_proven": most,
            "mu_audited": mu,
            "epsilon_claimed": case.spec.epsilon,
            "epsilon_audited": mistakes.epsilon(delta, REPORTED),
            "epsilon_by_mu": epsilon_of(mu, delta),
        },
    )
