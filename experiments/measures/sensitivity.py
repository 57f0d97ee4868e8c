"""The Count Sketch calibrated for 2 d, as in the paper, and for 4 d: what an auditor can prove.

The auditor of ``lazysketch.audit`` makes thousands of small tables under the worst pair of
neighbours, which collides with opposite signs in every row, and bounds mu and epsilon from below at
95 %. With 2 d (a planted bug of the audit) the bound exceeds the claim; with 4 d it does not.

The paper's own calibration (2 d and the classical formula) is computed exactly: how much epsilon it
really has. The classical formula asks for more noise than needed, which at a large delta hides the
wrong sensitivity, and at a small one does not.

Tables are seeded, so that a cell finds the same again. A bound at 95 % exceeds a true claim in up
to one of 20 sets of seeds; "refuted" is said at the audit's own rate of 1e-7.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.cell import Cell, Observation
from lazysketch.audit import Bug, Configuration, Library, Model, Subject
from lazysketch.audit.claims import epsilon_of
from lazysketch.audit.distinguisher import distinguish
from lazysketch.audit.suite import epsilon_at
from lazysketch.audit.system_under_test import Machine
from lazysketch.privacy import classical_noise_multiplier
from lazysketch.specification.schedules import RoundRobin

__all__ = ["measure"]

_SUBJECTS: Mapping[str, Subject] = {"4 d": Library(), "2 d": Model(Bug.HALF_SENSITIVITY)}


@dataclass(frozen=True)
class _Seeded:
    """A subject whose tables can be had again, in order.

    Args:
        subject: what makes the tables.
        generator: of the trial.
    """

    subject: Subject
    generator: np.random.Generator

    @property
    def name(self) -> str:
        """What is audited."""
        return self.subject.name

    def open(
        self,
        configuration: Configuration,
        *,
        hash_seed: int,
        seed: int | None = None,
        sketch_id: bytes | None = None,
    ) -> Machine:
        """Return the next table."""
        drawn = int(self.generator.integers(2**63)) if seed is None else seed
        chosen = self.generator.bytes(16) if sketch_id is None else sketch_id
        return self.subject.open(configuration, hash_seed=hash_seed, seed=drawn, sketch_id=chosen)


def measure(
    parameters: Mapping[str, Any], contenders: Sequence[str], cell: Cell
) -> list[Observation]:
    """Audit both calibrations at one claim, and compute what the paper's is worth.

    Args:
        parameters: ``mu``, the claim; ``delta``, ``tables`` per stream; ``deltas`` and
            ``epsilons`` for the computed curves, where mu is 0.
        contenders: ``2 d`` and ``4 d``.
        cell: value and seed.

    Returns:
        ``epsilon claimed`` and ``epsilon audited`` at the delta, ``mu audited``, ``refuted``; or
        ``epsilon true`` by claimed epsilon.
    """
    mu = float(parameters["mu"])
    if mu == 0:
        return _computed(parameters)
    delta = float(parameters["delta"])
    configuration = Configuration(
        "count-sketch",
        depth=2,
        width=2,
        schedule=RoundRobin(horizon=16),
        epsilon=epsilon_at(mu, delta),
        delta=delta,
    )
    found = []
    for name in contenders:
        subject = _Seeded(_SUBJECTS[name], cell.generator())
        outcome = distinguish(subject, configuration, trials=int(parameters["tables"]))
        told = outcome.figures or {}
        figures = {
            "epsilon claimed": told["epsilon_claimed"],
            "epsilon audited": told["epsilon_by_mu"],
            "mu audited": told["mu_audited"],
            "refuted": 0.0 if outcome.passed else 1.0,
        }
        found += [Observation(name, cell.value, *pair) for pair in figures.items()]
    return found


def _computed(parameters: Mapping[str, Any]) -> list[Observation]:
    found = []
    for delta in parameters["deltas"]:
        for epsilon in parameters["epsilons"]:
            # Noise for sqrt(2 d) meets a change of sqrt(4 d).
            mu = math.sqrt(2) / classical_noise_multiplier(epsilon, delta)
            true = epsilon_of(mu, delta)
            found.append(
                Observation(f"paper, delta {delta:g}", float(epsilon), "epsilon true", true)
            )
    return found
