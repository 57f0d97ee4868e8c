"""Audit of the Count Sketch calibrated for squared sensitivity 2 d, as in the paper, and 4 d.

The auditor of ``lazysketch.audit`` makes thousands of small tables of the worst pair of neighbours,
which collide with opposite signs in every row, and computes lower bounds on mu and epsilon at 95 %
confidence. With 2 d (a planted bug of the audit) the bound exceeds the claim; with 4 d it does not.

For the paper's own calibration (2 d and the classical formula) the true epsilon is computed
exactly. The classical formula adds more noise than needed, which hides the wrong sensitivity at a
large delta but not at a small one.

Tables are seeded, so that cells are reproducible. A bound at 95 % exceeds a true claim for up to
one of 20 sets of seeds; "refuted" uses the audit's own false-alarm rate of 1e-7.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from experiments.cell import Cell, Observation
from experiments.settings import Settings
from lazysketch.audit import Bug, Case, Library, Model, SystemUnderTest
from lazysketch.audit.claimed_noise import epsilon_of
from lazysketch.audit.distinguisher import distinguish
from lazysketch.audit.suite import epsilon_at
from lazysketch.audit.system_under_test import LiveTable
from lazysketch.privacy import classical_noise_multiplier
from lazysketch.specification.schedules import RoundRobin

__all__ = ["measure"]

_SYSTEMS: Mapping[str, SystemUnderTest] = {"4 d": Library(), "2 d": Model(Bug.HALF_SENSITIVITY)}


@dataclass(frozen=True)
class _Seeded:
    """A system under test whose tables are reproducible, in order.

    Args:
        system: maker of the tables.
        generator: source of randomness of the trial.
    """

    system: SystemUnderTest
    generator: np.random.Generator

    @property
    def name(self) -> str:
        """Name of the system."""
        return self.system.name

    def open(
        self,
        case: Case,
        *,
        hash_seed: int,
        seed: int | None = None,
        sketch_id: bytes | None = None,
    ) -> LiveTable:
        """Return the next table."""
        drawn = int(self.generator.integers(2**63)) if seed is None else seed
        chosen = self.generator.bytes(16) if sketch_id is None else sketch_id
        return self.system.open(case, hash_seed=hash_seed, seed=drawn, sketch_id=chosen)


def measure(parameters: Settings, contenders: Sequence[str], cell: Cell) -> list[Observation]:
    """Audit both calibrations at one claim, or compute the true epsilon of the paper's.

    Args:
        parameters: ``mu``, the claim; ``delta``; ``tables`` per stream; ``deltas`` and
            ``epsilons`` for the computed curves, if mu is 0.
        contenders: ``2 d`` and ``4 d``.
        cell: value and seed.

    Returns:
        ``epsilon claimed`` and ``epsilon audited`` at the delta, ``mu audited``, ``refuted``; or
        ``epsilon true`` by claimed epsilon.
    """
    mu = parameters.number("mu")
    if mu == 0:
        return _computed(parameters)
    delta = parameters.number("delta")
    case = Case.of(
        "count-sketch",
        depth=2,
        width=2,
        schedule=RoundRobin(horizon=16),
        epsilon=epsilon_at(mu, delta, depth=2),
        delta=delta,
    )
    found = []
    for name in contenders:
        system = _Seeded(_SYSTEMS[name], cell.generator())
        outcome = distinguish(system, case, trials=parameters.integer("tables"))
        measured = outcome.figures or {}
        figures = {
            "epsilon claimed": measured["epsilon_claimed"],
            "epsilon audited": measured["epsilon_by_mu"],
            "mu audited": measured["mu_audited"],
            "refuted": 0.0 if outcome.passed else 1.0,
        }
        found += [Observation(name, cell.value, *pair) for pair in figures.items()]
    return found


def _computed(parameters: Settings) -> list[Observation]:
    found = []
    for delta in parameters.numbers("deltas"):
        for epsilon in parameters.numbers("epsilons"):
            # The noise is calibrated for sqrt(2 d), the change is sqrt(4 d).
            mu = math.sqrt(2) / classical_noise_multiplier(epsilon, delta)
            true = epsilon_of(mu, delta)
            found.append(Observation(f"paper, delta {delta:g}", epsilon, "epsilon true", true))
    return found
