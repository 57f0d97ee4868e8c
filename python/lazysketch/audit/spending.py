"""What several mechanisms spent together, computed without the library's own accounts.

A table is a Gaussian mechanism: its privacy loss is normal with mean mu^2 / 2 and variance mu^2, so
the losses of several add up to a normal one. If the event is chosen from releases, integers cost
more: a factor on delta and a larger mu, by Theorem 15 of docs/theory.md. Names cost (e, d): the
worst mechanism with this guarantee reveals everything with probability d, and else has a loss of e
or -e (Kairouz, Oh and Viswanath 2015). delta is the expectation of (1 - e^(epsilon - loss))+ over
the sum of all losses: exact, by trying all signs. Cost: 2^names terms.

Source: Dong, Roth and Su 2022, Corollary 3.3; Balle and Wang 2018, Theorem 5.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace

from lazysketch.audit.claimed_noise import adaptive_bounds, gaussian_delta, table_sensitivity2
from lazysketch.audit.discovery_oracle import Noise, unit_of
from lazysketch.audit.strategy import strategy
from lazysketch.heavy_hitters import DiscoverySpec
from lazysketch.releases.release import Release

__all__ = ["Spent", "spent_on_counts", "spent_on_names"]


@dataclass(frozen=True)
class Spent:
    """What was spent on one event, or on all events of a person.

    Args:
        mus: distance in deviations, of each table.
        names: (epsilon, delta) of each discovery.
        depths: rows of each table, for an event that is chosen from releases; none for an event
            that is fixed in advance.
    """

    mus: tuple[float, ...] = ()
    names: tuple[tuple[float, float], ...] = ()
    depths: tuple[int, ...] = ()

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.mus + other.mus, self.names + other.names, self.depths + other.depths)

    def delta_at(self, epsilon: float) -> float:
        """Return the smallest delta at which everything together is private.

        Args:
            epsilon: privacy parameter.

        Returns:
            Exact, up to rounding, for an event that is fixed in advance; else a bound.

        Example:
            >>> two = Spent(mus=(3.0, 4.0))
            >>> math.isclose(two.delta_at(1.0), gaussian_delta(1.0, 5.0))
            True
        """
        bounds = [(math.sqrt(math.fsum(mu * mu for mu in self.mus)), 1.0)]
        if self.depths:
            bounds = adaptive_bounds(list(zip(self.mus, self.depths, strict=True)))
        return min([1.0, *(self._delta(epsilon, mu, factor) for mu, factor in bounds)])

    def _delta(self, epsilon: float, mu: float, factor: float) -> float:
        kept = math.prod(1 - delta for _, delta in self.names)
        terms = []
        for signs in itertools.product((1, -1), repeat=len(self.names)):
            loss, probability = 0.0, 1.0
            for sign, (e, _) in zip(signs, self.names, strict=True):
                loss += sign * e
                probability /= 1 + math.exp(-sign * e)
            terms.append(probability * min(1.0, factor * _rest(epsilon - loss, mu)))
        return 1 - kept + kept * math.fsum(terms)


def _rest(epsilon: float, mu: float) -> float:
    """The delta of the tables at an epsilon, which may be negative."""
    return gaussian_delta(epsilon, mu) if mu > 0 else max(0.0, 1 - math.exp(epsilon))


def spent_on_counts(release: Release) -> Spent:
    """Return what the noise that a release states amounts to, part by part.

    That the noise is as stated is tested elsewhere, by residuals.

    Args:
        release: a release of one sketch, or a merged one.

    Returns:
        One mu per part: sensitivity of table and mechanism over the stated sigma.
    """
    mus = []
    for part in release.parts:
        if part.mechanism is None:
            raise AssertionError("release: expected noise, got exact counts")
        privacy = part.privacy
        bound = privacy.person_bound
        squared = table_sensitivity2(
            release.kind,
            depth=release.depth,
            relation=privacy.relation,
            bound=bound and replace(bound, cells=min(bound.cells, release.width)),
        )
        squared *= strategy(part.mechanism.name, part.mechanism.leaves).sensitivity2
        scale = privacy.max_weight * privacy.max_events_per_user
        mus.append(math.sqrt(squared) * scale / privacy.sigma)
    return Spent(mus=tuple(mus), depths=(release.depth,) * len(mus))


def spent_on_names(spec: DiscoverySpec, *, lower: int = 0) -> Spent:
    """Return what discovery spends, from its rates and from how often it publishes one event.

    That they are as stated is tested elsewhere, by rates of publication.

    Args:
        spec: description of discovery; its epsilon and delta are not used.
        lower: counts by which the threshold is lower than stated.

    Returns:
        (epsilon, delta) of all events of a person.
    """
    exact = spec.variant == "dictionary"
    group = spec.max_events_per_user * (1 if exact else spec.counted_weight)
    unit = unit_of(spec.epsilon, spec.delta, relation=spec.relation, exact=exact, group=group)
    rising, falling = spec.facts["rates"]
    single = (
        spec.facts["probabilities"][1 + lower] / 2**128
        if exact
        else Noise(rising).of_single(spec.threshold - lower - 1)
    )
    return Spent(names=(replace(unit, rising=rising, falling=falling).total(single),))
