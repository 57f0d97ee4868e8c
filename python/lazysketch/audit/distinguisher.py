"""Black-box distinguisher: two neighbouring streams, whole trajectories, who can tell them apart?

The worst pair of items (for the Count Sketch one that collides with flipped signs in every row), at
one step; fresh keys in every trial; a read of the whole table after every round of the schedule.
An observer that knows all public parameters learns a rule from half of the trials, and its
mistakes on the other half give lower bounds on mu and epsilon: at 95 % for reports, at
1 - 1e-7 for alarms. Rules: the likelihood ratio of the claimed Gaussian law; Fisher's
discriminant, learnt from the trials alone; the number of exact zeros; parities. The first is
optimal where the law holds, the others see what no law foresees.

Sees: a mechanism worse than claimed as an attacker would. Cannot see: sigma wrong by 10 % at the
number of trials of a CI run; :mod:`lazysketch.audit.residuals` does, with every cell as a sample.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lazysketch.audit.claims import epsilon_of
from lazysketch.audit.confidence import Mistakes
from lazysketch.audit.configuration import NO_EVENT, Configuration
from lazysketch.audit.finding import ALARM, Outcome
from lazysketch.audit.schedule_model import Integers
from lazysketch.audit.sensitivity import worst_pair
from lazysketch.audit.system_under_test import Subject

__all__ = ["Pair", "distinguish", "distinguish_everywhere", "worst_step"]

REPORTED = 0.05  # the risk of a bound in a report
_BLOCK = 2000  # trials held in memory at a time
Sample = NDArray[np.float64]
Rule = Callable[[Sample], Sample]
Bound = Callable[..., float]
Watch = Callable[[int, float], None]


@dataclass(frozen=True)
class Pair:
    """Two neighbouring streams of a configuration, and when the table is read.

    Args:
        configuration: a small table with a horizon.
        hash_seed: public seed of the hash.
        items: what the two streams have at the step; ``NO_EVENT`` for an empty step.
        step: where they differ.
    """

    configuration: Configuration
    hash_seed: int
    items: tuple[int, int]
    step: int

    @property
    def reads(self) -> list[int]:
        """The steps at which every column has been pushed once more."""
        return [
            self.configuration.end_of_round(push)
            for push in range(1, self.configuration.leaves + 1)
            if self.configuration.end_of_round(push) <= (self.configuration.schedule.horizon or 0)
        ]

    def stream(self, *, second: bool) -> Integers:
        """The first or the second of the two streams."""
        items = np.full(self.reads[-1], NO_EVENT)
        items[self.step - 1] = self.items[int(second)]
        return items

    def shift(self) -> Sample:
        """What the event moves in each read, shape (reads, cells)."""
        exact = [
            [
                self.configuration.published(
                    self.stream(second=second), hash_seed=self.hash_seed, step=step
                ).ravel()
                for step in self.reads
            ]
            for second in (False, True)
        ]
        result: Sample = (np.array(exact[1]) - np.array(exact[0])).astype(np.float64)
        return result

    def likelihood_ratio(self, mechanism: str) -> tuple[Sample, float]:
        """The direction that a Gaussian law is best told apart in, and the claimed distance."""
        claim = self.configuration.claim(mechanism)
        pushes = list(range(1, len(self.reads) + 1))
        shift = self.shift()
        direction = np.linalg.solve(claim.covariance(pushes), shift).astype(np.float64)
        return direction.ravel(), float(np.sqrt((direction * shift).sum()))


def worst_step(configuration: Configuration, *, hash_seed: int, mechanism: str) -> Pair:
    """Return the pair of neighbours that is furthest apart under the claimed law.

    Args:
        configuration: a small table with a horizon.
        hash_seed: public seed of the hash.
        mechanism: as a sketch states it.

    Returns:
        The worst items at the worst step of the horizon.
    """
    one, other = worst_pair(configuration, hash_seed)
    items = (one, other) if configuration.relation == "substitution" else (NO_EVENT, other)
    pairs = (
        Pair(configuration, hash_seed, items, step)
        for step in range(1, (configuration.schedule.horizon or 1) + 1)
    )
    return max(
        (pair for pair in pairs if pair.step <= pair.reads[-1]),
        key=lambda pair: pair.likelihood_ratio(mechanism)[1],
    )


def trajectories(subject: Subject, pair: Pair, *, second: bool, trials: int) -> Sample:
    """Return all releases of independent tables that take one of the streams.

    Args:
        subject: what makes the tables.
        pair: the neighbours.
        second: which of them.
        trials: how many tables.

    Returns:
        float64 array of shape (trials, reads * cells).
    """
    items, reads = pair.stream(second=second), pair.reads
    edges = [0, *reads]
    rows = []
    for _ in range(trials):
        machine = subject.open(pair.configuration, hash_seed=pair.hash_seed)
        row = []
        for start, end in itertools.pairwise(edges):
            machine.feed(items[start:end])
            row.append(np.asarray(machine.read(), dtype=np.float64).ravel())
        rows.append(np.concatenate(row))
    return np.array(rows)


def _scores(pair: Pair, mechanism: str, first: Sample, second: Sample) -> dict[str, Rule]:
    """What an observer may look at; learnt from these trials only."""
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
    """Take for the second stream whatever scores above a threshold."""

    score: Rule
    sign: float
    at: float

    def mistakes(self, first: Sample, second: Sample) -> Mistakes:
        """Count what it gets wrong."""
        return Mistakes(
            int((self.sign * self.score(first) > self.at).sum()),
            len(first),
            int((self.sign * self.score(second) <= self.at).sum()),
            len(second),
        )


def _learnt(
    pair: Pair, mechanism: str, first: Sample, second: Sample, bound: Bound
) -> dict[str, Decision]:
    """For each score the sign and threshold with the highest bound on the trials for learning."""
    direction, distance = pair.likelihood_ratio(mechanism)
    middle = float(direction @ _mean(pair)) + distance**2 / 2
    # Beside what is learnt, the one decision that needs no trial: half-way between the two means.
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
    subject: Subject,
    configuration: Configuration,
    *,
    trials: int,
    seconds: float = 0.0,
    hash_seed: int = 1,
    watch: Watch | None = None,
) -> Outcome:
    """Bound the privacy loss of the worst pair of neighbours from below.

    Args:
        subject: what makes the tables.
        configuration: a small table with a horizon.
        trials: tables per stream for the test; a third as many more to learn from.
        seconds: go on testing for so long, also beyond the trials; the clock decides when to
            stop, never what was seen.
        hash_seed: public seed of the hash.
        watch: called now and then with the trials so far and the bound on mu from them.

    Returns:
        Failed if mu or epsilon exceed what is promised, at a risk of :data:`ALARM`.
    """
    mechanism = subject.open(configuration, hash_seed=hash_seed).mechanism
    pair = worst_step(configuration, hash_seed=hash_seed, mechanism=mechanism)
    return _distinguished(subject, pair, mechanism, trials=trials, seconds=seconds, watch=watch)


def _distinguished(
    subject: Subject,
    pair: Pair,
    mechanism: str,
    *,
    trials: int,
    seconds: float,
    watch: Watch | None,
) -> Outcome:
    configuration, delta = pair.configuration, pair.configuration.delta
    learning = min(max(100, trials // 3), 20_000)
    first, second = (
        trajectories(subject, pair, second=second, trials=learning) for second in (False, True)
    )
    bounds: tuple[Bound, Bound] = (
        lambda seen, risk=REPORTED: seen.mu(risk),
        lambda seen, risk=REPORTED: seen.epsilon(delta, risk),
    )
    learnt = [_learnt(pair, mechanism, first, second, bound) for bound in bounds]
    counted = _tested(subject, pair, learnt, trials=trials, seconds=seconds, watch=watch)
    tested = next(iter(counted[0].values())).positives
    highest = []
    for risk in (REPORTED, ALARM / 2):
        for bound, mistakes in zip(bounds, counted, strict=True):
            # Whichever decision did best may be told: all of them share the risk.
            shared = risk / len(mistakes)
            told = {name: bound(seen, shared) for name, seen in mistakes.items()}
            best = max(told, key=told.__getitem__)
            highest.append((told[best], best))
    (mu, by), (epsilon, _), (certain_mu, _), (certain_epsilon, _) = highest
    return Outcome(
        claim=f"mu <= {configuration.mu:.3f}, epsilon <= {configuration.epsilon:.3g}",
        observed=f"mu >= {mu:.3f}, epsilon >= {epsilon:.3f} (>= {epsilon_of(mu, delta):.3f} "
        f"by mu) at 95 %, by {by}",
        samples=2 * (tested + learning),
        passed=certain_mu <= configuration.mu and certain_epsilon <= configuration.epsilon,
        figures={
            "mu_claimed": configuration.mu,
            "mu_of_pair": pair.likelihood_ratio(mechanism)[1],
            "mu_audited": mu,
            "epsilon_claimed": configuration.epsilon,
            "epsilon_audited": epsilon,
            "epsilon_by_mu": epsilon_of(mu, delta),
        },
    )


def _tested(
    subject: Subject,
    pair: Pair,
    learnt: list[dict[str, Decision]],
    *,
    trials: int,
    seconds: float,
    watch: Watch | None,
) -> list[dict[str, Mistakes]]:
    """The mistakes of every decision on new trials, block by block to spare memory."""
    counted = [dict.fromkeys(decisions, Mistakes(0, 0, 0, 0)) for decisions in learnt]
    done, end = 0, time.monotonic() + seconds
    while done < trials or time.monotonic() < end:
        size = _BLOCK if done >= trials else min(_BLOCK, trials - done)
        first, second = (
            trajectories(subject, pair, second=second, trials=size) for second in (False, True)
        )
        for decisions, mistakes in zip(learnt, counted, strict=True):
            for name, decision in decisions.items():
                mistakes[name] += decision.mistakes(first, second)
        done += size
        if watch is not None:
            shared = REPORTED / len(counted[0])
            watch(done, max(seen.mu(shared) for seen in counted[0].values()))
    return counted


def distinguish_everywhere(
    subject: Subject, configuration: Configuration, *, trials: int
) -> Outcome:
    """Sweep the event over all steps, and over hash seeds until every cell was the changed one.

    Args:
        subject: what makes the tables.
        configuration: a small table with a horizon.
        trials: tables per stream and step.

    Returns:
        Failed if any of the steps exceeds the promise at its share of :data:`ALARM`.
    """
    mechanism = subject.open(configuration, hash_seed=1).mechanism
    covered: set[int] = set()
    highest, tables, swept, passed = 0.0, 0, 0, True
    for hash_seed in range(1, 200):
        items = worst_pair(configuration, hash_seed)
        if configuration.relation != "substitution":
            items = (NO_EVENT, items[1])
        steps = range(1, (configuration.schedule.horizon or 1) + 1)
        pairs = [Pair(configuration, hash_seed, items, step) for step in steps]
        cells = {int(c) for pair in pairs for c in np.flatnonzero(pair.shift().any(axis=0))}
        if cells <= covered:
            continue
        covered |= cells
        for pair in pairs:
            first, second = (
                trajectories(subject, pair, second=second, trials=trials)
                for second in (False, True)
            )
            direction, distance = pair.likelihood_ratio(mechanism)
            middle = float(direction @ _mean(pair)) + distance**2 / 2
            decision = Decision(_along(direction), 1.0, middle)
            # As many pairs as cells and steps at most share the rate.
            risk = ALARM / (configuration.cells * len(steps))
            bound = decision.mistakes(first, second).mu(risk)
            zeros = (first[:, pair.shift().ravel() != 0] == 0).all(axis=1).sum()
            passed &= bound <= configuration.mu and not (distance > 0 and zeros == trials)
            highest, tables, swept = max(highest, bound), tables + 2 * trials, swept + 1
        if len(covered) == configuration.cells:
            break
    whole = len(covered) == configuration.cells
    return Outcome(
        claim=f"mu <= {configuration.mu:.3f} for an event at every step and in every cell",
        observed=f"highest certain mu {highest:.3f} over {swept} pairs, "
        f"{len(covered)} of {configuration.cells} cells",
        samples=tables,
        passed=passed and whole,
        figures={"mu_claimed": configuration.mu, "mu_audited": highest},
    )


def _along(direction: Sample) -> Rule:
    """The score that projects on a direction."""
    return lambda x: x @ direction


def _mean(pair: Pair) -> Sample:
    """The exact releases of the first stream without noise, read by read."""
    rows = [
        pair.configuration.published(
            pair.stream(second=False), hash_seed=pair.hash_seed, step=step
        ).ravel()
        for step in pair.reads
    ]
    return np.concatenate(rows).astype(np.float64)
