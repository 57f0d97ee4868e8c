"""Black-box distinguisher of two neighbouring streams, from all releases of a table.

The worst pair of items (for the Count Sketch one that collides with flipped signs in every row), at
one step; fresh keys in every trial; a read of the whole table after every round of the schedule.
An attacker who knows all public parameters learns a rule from one part of the trials; its
mistakes on the other part give lower bounds on mu and epsilon, at 95 % for reports and at
1 - 1e-7 for alarms. Rules: the likelihood ratio of the claimed Gaussian distribution; Fisher's
discriminant, learnt from the trials alone; the number of exact zeros; parities. The first is
optimal if the claim holds; the others detect deviations that the claim does not model.

Detects: a mechanism worse than claimed, as an attacker would. Cannot detect: sigma wrong by 10 %
with the trials of a CI run; :mod:`lazysketch.audit.residuals` does, with every cell as a sample.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lazysketch.audit.case import NO_EVENT, Case
from lazysketch.audit.claimed_noise import epsilon_of
from lazysketch.audit.confidence import Mistakes
from lazysketch.audit.finding import ALARM, Outcome
from lazysketch.audit.schedule_model import Integers
from lazysketch.audit.sensitivity import worst_pair
from lazysketch.audit.system_under_test import SystemUnderTest

__all__ = ["Pair", "distinguish", "distinguish_everywhere", "worst_step"]

REPORTED = 0.05  # probability that a bound in a report fails
_BLOCK = 2000  # trials held in memory at a time
Sample = NDArray[np.float64]
Rule = Callable[[Sample], Sample]
Bound = Callable[..., float]
Progress = Callable[[int, float], None]


@dataclass(frozen=True)
class Pair:
    """Two neighbouring streams, and the steps at which the table is read.

    Args:
        case: a small table with a horizon.
        hash_seed: public seed of the hash.
        items: the items of the two streams at the step; ``NO_EVENT`` for an empty step.
        step: the step at which they differ.
    """

    case: Case
    hash_seed: int
    items: tuple[int, int]
    step: int

    @property
    def reads(self) -> list[int]:
        """The steps at which a round of pushes ends."""
        return [
            self.case.end_of_round(push)
            for push in range(1, self.case.leaves + 1)
            if self.case.end_of_round(push) <= (self.case.spec.schedule.horizon or 0)
        ]

    def stream(self, *, second: bool) -> Integers:
        """The first or the second of the two streams."""
        items = np.full(self.reads[-1], NO_EVENT)
        items[self.step - 1] = self.items[int(second)]
        return items

    def shift(self) -> Sample:
        """The change of the exact published counts in each read, shape (reads, cells)."""
        exact = [
            [
                self.case.published(
                    self.stream(second=second), hash_seed=self.hash_seed, step=step
                ).ravel()
                for step in self.reads
            ]
            for second in (False, True)
        ]
        result: Sample = (np.array(exact[1]) - np.array(exact[0])).astype(np.float64)
        return result

    def likelihood_ratio(self, mechanism: str) -> tuple[Sample, float]:
        """The optimal direction of projection for Gaussian noise, and the claimed distance."""
        noise = self.case.claimed_noise(mechanism)
        pushes = list(range(1, len(self.reads) + 1))
        shift = self.shift()
        direction = np.linalg.solve(noise.covariance(pushes), shift).astype(np.float64)
        return direction.ravel(), float(np.sqrt((direction * shift).sum()))


def worst_step(case: Case, *, hash_seed: int, mechanism: str) -> Pair:
    """Return the pair of neighbours that is furthest apart under the claimed noise.

    Args:
        case: a small table with a horizon.
        hash_seed: public seed of the hash.
        mechanism: its name in a sketch.

    Returns:
        The worst items at the worst step of the horizon.
    """
    one, other = worst_pair(case, hash_seed)
    items = (one, other) if case.spec.relation == "substitution" else (NO_EVENT, other)
    pairs = (
        Pair(case, hash_seed, items, step)
        for step in range(1, (case.spec.schedule.horizon or 1) + 1)
    )
    return max(
        (pair for pair in pairs if pair.step <= pair.reads[-1]),
        key=lambda pair: pair.likelihood_ratio(mechanism)[1],
    )


def trajectories(system: SystemUnderTest, pair: Pair, *, second: bool, trials: int) -> Sample:
    """Return all releases of independent tables that are fed one of the streams.

    Args:
        system: the system under test.
        pair: the neighbours.
        second: True for the second stream.
        trials: number of tables.

    Returns:
        float64 array of shape (trials, reads * cells).
    """
    items, reads = pair.stream(second=second), pair.reads
    edges = [0, *reads]
    rows = []
    for _ in range(trials):
        live = system.open(pair.case, hash_seed=pair.hash_seed)
        row = []
        for start, end in itertools.pairwise(edges):
            live.feed(items[start:end])
            row.append(np.asarray(live.read(), dtype=np.float64).ravel())
        rows.append(np.concatenate(row))
    return np.array(rows)


def _scores(pair: Pair, mechanism: str, first: Sample, second: Sample) -> dict[str, Rule]:
    """The scores of an attacker; learnt from these trials only."""
    known, _ = pair.likelihood_ratio(mechanism)
    spread = np.cov(np.concatenate([first - first.mean(0), second - second.mean(0)]).T)
    ridge = 1e-9 * np.trace(spread) / len(spread) * np.eye(len(spread))
    learnt = np.linalg.solve(spread + ridge, second.mean(0) - first.mean(0))
    moved = np.flatnonzero(pair.shift().ravel())
    return {
        "likelihood ratio": _along(known),
        "Fisher's discriminant": _along(learnt),
        "zeros": lambda x: (x[:, moved] == 0).sum(axis=1).astype(np.float64),
        "parities": lambda x: np.mod(x[:, moved], 2).sum(axis=1),
    }


@dataclass(frozen=True)
class Decision:
    """Decide for the second stream if the score is above a threshold."""

    score: Rule
    sign: float
    at: float

    def mistakes(self, first: Sample, second: Sample) -> Mistakes:
        """Count the wrong decisions."""
        return Mistakes(
            int((self.sign * self.score(first) > self.at).sum()),
            len(first),
            int((self.sign * self.score(second) <= self.at).sum()),
            len(second),
        )


def _learnt(
    pair: Pair, mechanism: str, first: Sample, second: Sample, bound: Bound
) -> dict[str, Decision]:
    """For each score the sign and threshold with the highest bound on the training trials."""
    direction, distance = pair.likelihood_ratio(mechanism)
    middle = float(direction @ _mean(pair)) + distance**2 / 2
    # One decision needs no training: the threshold half-way between the two means.
    found = {"likelihood ratio, half-way": Decision(_along(direction), 1.0, middle)}
    for name, score in _scores(pair, mechanism, first, second).items():
        tried: list[tuple[float, int, Decision]] = []
        for sign in (1.0, -1.0):
            values = sign * np.concatenate([score(first), score(second)])
            for at in np.unique(np.quantile(values, np.linspace(0.01, 0.99, 33))):
                decision = Decision(score, sign, float(at))
                tried.append((bound(decision.mistakes(first, second)), len(tried), decision))
        found[name] = max(tried)[2]
    return found


def distinguish(
    system: SystemUnderTest,
    case: Case,
    *,
    trials: int,
    seconds: float = 0.0,
    hash_seed: int = 1,
    progress: Progress | None = None,
) -> Outcome:
    """Bound the privacy loss of the worst pair of neighbours from below.

    Args:
        system: the system under test.
        case: a small table with a horizon.
        trials: tables per stream for the test; a third as many more for training.
        seconds: continue for this time, also beyond the trials; the stopping time depends on the
            clock only, never on the results.
        hash_seed: public seed of the hash.
        progress: called after every block with the trials so far and the bound on mu from them.

    Returns:
        Failed if a bound on mu or epsilon exceeds its claim, at a risk of :data:`ALARM`.
    """
    mechanism = system.open(case, hash_seed=hash_seed).mechanism
    pair = worst_step(case, hash_seed=hash_seed, mechanism=mechanism)
    return _distinguished(
        system, pair, mechanism, trials=trials, seconds=seconds, progress=progress
    )


def _distinguished(
    system: SystemUnderTest,
    pair: Pair,
    mechanism: str,
    *,
    trials: int,
    seconds: float,
    progress: Progress | None,
) -> Outcome:
    case, delta = pair.case, pair.case.spec.delta
    learning = min(max(100, trials // 3), 20_000)
    first, second = (
        trajectories(system, pair, second=second, trials=learning) for second in (False, True)
    )
    bounds: tuple[Bound, Bound] = (
        lambda seen, risk=REPORTED: seen.mu(risk),
        lambda seen, risk=REPORTED: seen.epsilon(delta, risk),
    )
    learnt = [_learnt(pair, mechanism, first, second, bound) for bound in bounds]
    counted = _tested(system, pair, learnt, trials=trials, seconds=seconds, progress=progress)
    tested = next(iter(counted[0].values())).positives
    highest = []
    for risk in (REPORTED, ALARM / 2):
        for bound, mistakes in zip(bounds, counted, strict=True):
            # The decisions share the risk, so the best one may be chosen after the test.
            shared = risk / len(mistakes)
            bounded = {name: bound(seen, shared) for name, seen in mistakes.items()}
            best = max(bounded, key=bounded.__getitem__)
            highest.append((bounded[best], best))
    (mu, by), (epsilon, _), (certain_mu, _), (certain_epsilon, _) = highest
    return Outcome(
        claim=f"mu <= {case.mu:.3f}, epsilon <= {case.spec.epsilon:.3g}",
        observed=f"mu >= {mu:.3f}, epsilon >= {epsilon:.3f} (>= {epsilon_of(mu, delta):.3f} "
        f"by mu) at 95 %, by {by}",
        samples=2 * (tested + learning),
        passed=certain_mu <= case.mu and certain_epsilon <= case.spec.epsilon,
        figures={
            "mu_claimed": case.mu,
            "mu_of_pair": pair.likelihood_ratio(mechanism)[1],
            "mu_audited": mu,
            "epsilon_claimed": case.spec.epsilon,
            "epsilon_audited": epsilon,
            "epsilon_by_mu": epsilon_of(mu, delta),
        },
    )


def _tested(
    system: SystemUnderTest,
    pair: Pair,
    learnt: list[dict[str, Decision]],
    *,
    trials: int,
    seconds: float,
    progress: Progress | None,
) -> list[dict[str, Mistakes]]:
    """The mistakes of every decision on new trials, in blocks to save memory."""
    counted = [dict.fromkeys(decisions, Mistakes(0, 0, 0, 0)) for decisions in learnt]
    done, end = 0, time.monotonic() + seconds
    while done < trials or time.monotonic() < end:
        size = _BLOCK if done >= trials else min(_BLOCK, trials - done)
        first, second = (
            trajectories(system, pair, second=second, trials=size) for second in (False, True)
        )
        for decisions, mistakes in zip(learnt, counted, strict=True):
            for name, decision in decisions.items():
                mistakes[name] += decision.mistakes(first, second)
        done += size
        if progress is not None:
            shared = REPORTED / len(counted[0])
            progress(done, max(seen.mu(shared) for seen in counted[0].values()))
    return counted


def distinguish_everywhere(system: SystemUnderTest, case: Case, *, trials: int) -> Outcome:
    """Attack events at every step, with hash seeds until every cell was changed by one.

    Args:
        system: the system under test.
        case: a small table with a horizon.
        trials: tables per stream and step.

    Returns:
        Failed if the bound of any pair exceeds the claim at its share of :data:`ALARM`.
    """
    mechanism = system.open(case, hash_seed=1).mechanism
    covered: set[int] = set()
    highest, tables, swept, passed = 0.0, 0, 0, True
    for hash_seed in range(1, 200):
        items = worst_pair(case, hash_seed)
        if case.spec.relation != "substitution":
            items = (NO_EVENT, items[1])
        steps = range(1, (case.spec.schedule.horizon or 1) + 1)
        pairs = [Pair(case, hash_seed, items, step) for step in steps]
        cells = {int(c) for pair in pairs for c in np.flatnonzero(pair.shift().any(axis=0))}
        if cells <= covered:
            continue
        covered |= cells
        for pair in pairs:
            first, second = (
                trajectories(system, pair, second=second, trials=trials) for second in (False, True)
            )
            direction, distance = pair.likelihood_ratio(mechanism)
            middle = float(direction @ _mean(pair)) + distance**2 / 2
            decision = Decision(_along(direction), 1.0, middle)
            # At most cells x steps pairs share the rate.
            risk = ALARM / (case.cells * len(steps))
            bound = decision.mistakes(first, second).mu(risk)
            zeros = (first[:, pair.shift().ravel() != 0] == 0).all(axis=1).sum()
            passed &= bound <= case.mu and not (distance > 0 and zeros == trials)
            highest, tables, swept = max(highest, bound), tables + 2 * trials, swept + 1
        if len(covered) == case.cells:
            break
    every_cell = len(covered) == case.cells
    return Outcome(
        claim=f"mu <= {case.mu:.3f} for an event at every step and in every cell",
        observed=f"largest certain bound on mu {highest:.3f} over {swept} pairs, "
        f"{len(covered)} of {case.cells} cells",
        samples=tables,
        passed=passed and every_cell,
        figures={"mu_claimed": case.mu, "mu_audited": highest},
    )


def _along(direction: Sample) -> Rule:
    """The projection on a direction."""
    return lambda x: x @ direction


def _mean(pair: Pair) -> Sample:
    """The exact published counts of the first stream, read by read."""
    rows = [
        pair.case.published(pair.stream(second=False), hash_seed=pair.hash_seed, step=step).ravel()
        for step in pair.reads
    ]
    return np.concatenate(rows).astype(np.float64)
