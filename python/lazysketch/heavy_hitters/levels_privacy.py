"""Privacy of all levels of a hierarchy together, and its split among the levels.

One event is counted at every level, so the levels compose. Their sketches are Gaussian mechanisms
with mu = sqrt(sum of mu_i^2): L equal levels need sqrt(L) times the noise, not L times. Discovery
is not Gaussian: its epsilons and deltas add up.

Sources: J. Dong, A. Roth and W. Su, "Gaussian Differential Privacy", 2022, Corollary 3.3;
C. Dwork and A. Roth, 2014, Theorem 3.16.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from lazysketch.arguments import checked_real
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.foreign_values import first_values
from lazysketch.heavy_hitters.joint_privacy import JointPrivacy, Split
from lazysketch.privacy.accounting import Privacy
from lazysketch.privacy.adaptive import (
    IntegerNoise,
    best_smoothing,
    least_multiplier,
    least_noise,
    smoothed,
)
from lazysketch.privacy.charges import PlainPart
from lazysketch.privacy.composition import Composition, compose
from lazysketch.privacy.gaussian import gaussian_delta, noise_multiplier
from lazysketch.privacy.person_bound import PersonBound, bounds_in_words, largest_bound
from lazysketch.privacy.relations import LARGEST_EPSILON
from lazysketch.privacy.wording import guarantee, promise

__all__ = ["LevelsPrivacy", "checked_level_weights", "splits_of_levels"]

_FIRST_SLACK: Final = 1e-9
_MOST_SLACK: Final = 0.1
_TIGHT: Final = 0.9995  # epsilon that may be left over
_MOST_SAVED: Final = 0.02
_SAVING_STEPS: Final = 7
_STEPS: Final = 100
_ROUNDS: Final = 2  # the best smoothing and the noise depend on each other a little
_MOST_WEIGHTS: Final = 1000  # an iterable may never end


@dataclass(frozen=True)
class LevelsPrivacy:
    """The guarantee of all names and counts that the levels of a hierarchy publish.

    Guarantee: (``epsilon``, ``delta``)-DP for the relation of the levels: the sketches compose as
    one Gaussian mechanism, discovery by basic composition.

    Attributes:
        epsilon: epsilon of all levels together.
        delta: delta of all levels together.
        counts_epsilon: part of ``epsilon`` used by the counts of all levels.
        counts_delta: part of ``delta`` used by the counts of all levels.
        discovery_epsilon: part of ``epsilon`` used by the names of all levels.
        discovery_delta: part of ``delta`` used by the names of all levels.
        levels: guarantee of each level alone.
        within: where the events of a person are protected together, such as ``"one window"``; None
            for everywhere, or if events are protected.
    """

    epsilon: float
    delta: float
    counts_epsilon: float
    counts_delta: float
    discovery_epsilon: float
    discovery_delta: float
    levels: tuple[JointPrivacy, ...]
    within: str | None = None

    @classmethod
    def of(cls, whole: Split, levels: Sequence[JointPrivacy]) -> LevelsPrivacy:
        """Return the guarantee of levels that share a budget.

        Args:
            whole: the budget of all levels together.
            levels: guarantee of each level alone, all within the same part of the stream.
        """
        return cls(
            epsilon=whole.sketch_epsilon + whole.discovery_epsilon,
            delta=whole.sketch_delta + whole.discovery_delta,
            counts_epsilon=whole.sketch_epsilon,
            counts_delta=whole.sketch_delta,
            discovery_epsilon=whole.discovery_epsilon,
            discovery_delta=whole.discovery_delta,
            levels=tuple(levels),
            within=levels[0].within,
        )

    @property
    def private(self) -> bool:
        """True if the guarantee holds."""
        return all(level.private for level in self.levels)

    @property
    def max_weight(self) -> int:
        """Largest weight of one event."""
        return self.levels[0].max_weight

    @property
    def parts_to_compose(self) -> tuple[Privacy | PlainPart, ...]:
        """The counts of each level, and its names as a pair."""
        return tuple(part for level in self.levels for part in level.parts_to_compose)

    @property
    def sentence(self) -> str:
        """The guarantee and its limits in words.

        Returns:
            English text in one line.
        """
        sketch = self.levels[0].sketch
        if not self.private:
            return sketch.sentence
        return promise(
            epsilon=self.epsilon,
            delta=self.delta,
            relation=sketch.relation,
            max_events_per_user=sketch.max_events_per_user,
            max_weight=sketch.max_weight,
            person_bound=self._counted,
            within=self.within,
        )

    @property
    def person_bound(self) -> PersonBound | None:
        """What is counted of a person at a level, at most; None if events are protected."""
        return largest_bound([level.sketch.person_bound for level in self.levels])

    @property
    def _counted(self) -> str | None:
        """What is counted of a person, in words; None if events are protected."""
        bounds = [level.sketch.person_bound for level in self.levels]
        return bounds_in_words([bound for bound in bounds if bound]) if all(bounds) else None

    def __str__(self) -> str:
        first = self.levels[0].sketch
        if not self.private:
            return str(first)
        line = guarantee(
            epsilon=self.epsilon,
            delta=self.delta,
            relation=first.relation,
            max_events_per_user=first.max_events_per_user,
            max_weight=first.max_weight,
            person_bound=self._counted,
            within=self.within,
        )
        return (
            f"{line}, {len(self.levels)} levels together, "
            f"of which ({self.discovery_epsilon:.4g}, {self.discovery_delta:.4g}) for names"
        )


def checked_level_weights(weights: Sequence[float] | None, *, levels: int) -> tuple[float, ...]:
    """Return the part of the privacy budget of each level.

    Guarantee: the parts add up to at most 1, in exact arithmetic.

    Args:
        weights: one number above 0 per level, or None for equal parts.
        levels: number of levels.

    Returns:
        One part per level.

    Raises:
        ArgumentTypeError: not numbers.
        ArgumentValueError: a wrong number of weights, or one outside its range.
    """
    if weights is None:
        weights = (1.0,) * levels
    try:
        each = [] if isinstance(weights, str | bytes) else first_values(weights, _MOST_WEIGHTS)
    except (TypeError, ValueError):  # cannot be iterated over, such as memory that was released
        each = []
    if not each:
        got = type(weights).__name__
        raise ArgumentTypeError(f"level_weights: expected one number per level, got {got}")
    given = [checked_real("level_weights", weight) for weight in each]
    if len(given) != levels:
        raise ArgumentValueError(
            f"level_weights: expected {levels}, one per level, got {len(given)}"
        )
    down = 1.0 - 1e-15 * (levels + 4)
    return tuple(weight / math.fsum(given) * down for weight in given)


def splits_of_levels(
    whole: Split, parts: Sequence[float], *, privacy_of: Callable[[int, float, float], Privacy]
) -> tuple[Split, ...]:
    """Return the privacy parameters of the sketch and of the discovery of each level.

    Guarantee: the sketches that ``privacy_of`` describes compose to at most
    (``whole.sketch_epsilon``, ``whole.sketch_delta``), including floating-point error, and the
    parameters of discovery add up to at most theirs. The result is checked before it is returned.

    Args:
        whole: privacy of all levels together.
        parts: part of each level, adding up to at most 1; mu_i^2 and epsilon_i are proportional.
        privacy_of: takes a level and (epsilon, delta), and returns the guarantee of its sketch,
            calibrated for them. Levels differ in their sensitivity if they count different amounts
            of a person; a part of the budget is one of mu^2, in units of the level's own noise.

    Returns:
        One split per level.

    Raises:
        ArgumentValueError: privacy that no noise provides.

    Source: Dong, Roth and Su 2022, Corollary 3.3.
    """
    epsilon, delta = whole.sketch_epsilon, whole.sketch_delta
    depth = privacy_of(0, epsilon, delta).depth
    multiplier = _multiplier_of_all(epsilon, delta, tuple(parts), depth)

    def epsilons(factor: float) -> tuple[dict[float, float], Composition]:
        found = {
            part: _epsilon_of(multiplier * factor / math.sqrt(part), delta, depth)
            for part in set(parts)
        }
        described = [privacy_of(level, found[part], delta) for level, part in enumerate(parts)]
        return found, compose(*described)

    slack = _FIRST_SLACK
    found, together = epsilons(1.0 + slack)
    while together.delta_at(epsilon) > delta:
        slack *= 4.0
        if slack >= _MOST_SLACK:
            raise ArgumentValueError(
                "epsilon: expected one that the levels can share with floating-point errors below "
                f"1 % of the budget, got {epsilon:g} for the counts"
            )
        found, together = epsilons(1.0 + slack)
    if together.delta_at(_TIGHT * epsilon) <= delta:
        # Unequal levels have better bounds together than with one smoothing for all.
        too_small, enough = 1.0 - _MOST_SAVED, 1.0 + slack
        for _ in range(_SAVING_STEPS):
            middle = 0.5 * (too_small + enough)
            fewer, together = epsilons(middle)
            if together.delta_at(epsilon) <= delta:
                found, enough = fewer, middle
            else:
                too_small = middle
    return tuple(
        Split(
            sketch_epsilon=found[part],
            sketch_delta=delta,
            discovery_epsilon=whole.discovery_epsilon * part,
            discovery_delta=whole.discovery_delta * part,
        )
        for part in parts
    )


@lru_cache(maxsize=256)
def _multiplier_of_all(epsilon: float, delta: float, parts: tuple[float, ...], depth: int) -> float:
    """Return the noise multiplier of a level with the whole budget, for ideal draws."""
    lowest = noise_multiplier(epsilon, delta)

    def tables(multiplier: float) -> Counter[IntegerNoise]:
        return Counter(IntegerNoise(multiplier / math.sqrt(part), depth) for part in parts)

    found = math.hypot(lowest, 1.0)
    for _ in range(_ROUNDS):
        smoothing = best_smoothing(tables(found).elements(), epsilon)
        found = least_multiplier(tables, smoothing, epsilon, delta, above=lowest)
    return found


@lru_cache(maxsize=1024)
def _epsilon_of(multiplier: float, delta: float, depth: int) -> float:
    """Return the largest epsilon that requires this noise multiplier, rounded down."""
    found = _largest_epsilon(delta, lambda epsilon: gaussian_delta(epsilon, multiplier))
    for _ in range(_ROUNDS):
        # The calibration of a pair uses the smoothing that is best for it.
        _, smoothing = least_noise(found, delta, depth)
        bound = smoothed({IntegerNoise(multiplier, depth): 1}, smoothing)
        if bound is None:
            break
        found = _largest_epsilon(delta, bound.delta)
    return found


def _largest_epsilon(delta: float, delta_at: Callable[[float], float]) -> float:
    """Return the largest epsilon whose delta is at least the given one, rounded down."""
    enough, too_large = 0.0, LARGEST_EPSILON
    if delta_at(too_large) > delta:
        return too_large
    for _ in range(_STEPS):
        middle = 0.5 * (enough + too_large)
        if not enough < middle < too_large:
            break
        if delta_at(middle) >= delta:
            enough = middle
        else:
            too_large = middle
    if enough == 0.0:
        raise ArgumentValueError(
            f"delta: expected one that the noise of a level reaches, got {delta:g} for the counts"
        )
    return enough
