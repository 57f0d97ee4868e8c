"""Privacy guarantee of a sketch or a release, as one frozen value.

It holds the numbers of the guarantee, for printing, storing and composing, and converts it to an
event of Google's dp-accounting. :mod:`lazysketch.privacy.calibration` computes these numbers,
:mod:`lazysketch.privacy.curve` the other pairs (epsilon, delta) that follow from them, and
:mod:`lazysketch.privacy.composition` the guarantee of several sketches. Construction checks the
numbers: a description that claims more than its noise gives is refused.

Sources: J. Dong, A. Roth and W. Su, "Gaussian Differential Privacy", 2022, for mu;
https://github.com/google/differential-privacy, ``python/dp_accounting``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING, Final

from lazysketch.arguments import check_bools, checked_integer, checked_real
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, MissingPackageError
from lazysketch.foreign_values import plain_tuple
from lazysketch.privacy.curve import GaussianCurve, curve_of, ideal_bound
from lazysketch.privacy.person_bound import PersonBound, checked_stated_bound
from lazysketch.privacy.relations import (
    LARGEST_DEPTH,
    Calibration,
    Relation,
    checked_calibration,
    checked_delta,
    checked_epsilon,
    checked_relation,
)
from lazysketch.privacy.wording import guarantee, promise

if TYPE_CHECKING:
    import dp_accounting

__all__ = ["TOLERANCE", "Privacy", "dp_accounting_module"]

TOLERANCE: Final = 1e-9
"""Larger than any rounding of sigma and its factors, far smaller than any real mistake."""


@dataclass(frozen=True, kw_only=True)
class Privacy:
    """The privacy guarantee of one sketch, over everything ever read from it.

    Guarantee: when ``private`` is true, ``noise_multiplier`` suffices for
    (``epsilon``, ``delta``), also for an event that is chosen by what was published
    before it, and ``sigma`` is ``noise_multiplier * l2_sensitivity``;
    both were checked at construction. When it is false, the numbers are the
    requested ones, and no guarantee holds.

    Args:
        epsilon: how much one person's events may shift the odds of any outcome:
            by a factor of at most e^epsilon. 0 < epsilon <= 100.
        delta: probability mass that this factor does not cover, 0 < delta < 1.
        relation: ``"substitution"`` or ``"zero-out"``; it defines neighbouring streams.
        calibration: ``"analytic"`` or ``"classical"``.
        sigma: standard deviation of each noise draw, in counts.
        noise_multiplier: sigma / l2_sensitivity.
        l2_sensitivity: L2 distance by which one person moves all noisy queries, in counts.
        max_weight: largest weight of one event, in counts.
        max_events_per_user: events protected together; 1 protects single events.
        depth: rows of the table, which share ``l2_sensitivity`` equally; 1 covers every table.
        person_bound: what is counted of a person, who is protected then; None protects events.
        private: whether the guarantee holds.
        not_private_because: reasons why it does not; empty exactly when ``private``.

    Raises:
        ArgumentTypeError: a field has the wrong type.
        ArgumentValueError: a field is outside its range, or fields contradict each other.

    Source: docs/guarantees.md.

    Example:
        >>> privacy = Privacy(
        ...     epsilon=1.0, delta=1e-6, relation="substitution", calibration="analytic",
        ...     sigma=43.0, noise_multiplier=4.3, l2_sensitivity=10.0, max_weight=1,
        ...     max_events_per_user=1, private=True, not_private_because=(),
        ... )
        >>> print(privacy)
        (1, 1e-06)-DP per event (substitution)
    """

    epsilon: float
    delta: float
    relation: Relation
    calibration: Calibration
    sigma: float
    noise_multiplier: float
    l2_sensitivity: float
    max_weight: int
    max_events_per_user: int
    private: bool
    not_private_because: tuple[str, ...] = ()
    depth: int = 1
    person_bound: PersonBound | None = None

    def __post_init__(self) -> None:
        """Check every field and store plain Python values."""
        checked_relation(self.relation)
        checked_calibration(self.calibration)
        self._check_reasons()
        self._store("max_weight", checked_integer("max_weight", self.max_weight))
        checked_stated_bound(self.person_bound)
        events = checked_integer("max_events_per_user", self.max_events_per_user)
        self._store("max_events_per_user", events)
        self._store("depth", checked_integer("depth", self.depth, most=LARGEST_DEPTH))
        if self.private:
            self._store("epsilon", checked_epsilon(self.epsilon))
            self._store("delta", checked_delta(self.delta))
        for name in ("epsilon", "delta", "sigma", "noise_multiplier", "l2_sensitivity"):
            # Without a guarantee there may be no noise (sigma 0, epsilon infinite).
            check = checked_real if self.private else _checked_extent
            self._store(name, check(name, getattr(self, name)))
        if self.private:
            self._check_guarantee()

    def _store(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _check_reasons(self) -> None:
        check_bools(private=self.private)
        given = plain_tuple(self.not_private_because)
        if given is None or not all(isinstance(why, str) for why in given):
            found = type(self.not_private_because).__name__
            raise ArgumentTypeError(f"not_private_because: expected a tuple of str, got {found}")
        reasons = tuple(str.__str__(why) for why in given)
        self._store("not_private_because", reasons)
        if not all(why.strip() for why in reasons):
            raise ArgumentValueError("not_private_because: expected reasons, got an empty one")
        if self.private == bool(reasons):
            wanted = "no reason" if self.private else "at least one reason"
            raise ArgumentValueError(
                f"not_private_because: expected {wanted} with private={self.private}, "
                f"got {len(reasons)}"
            )

    def _check_guarantee(self) -> None:
        product = self.noise_multiplier * self.l2_sensitivity
        if not math.isclose(self.sigma, product, rel_tol=TOLERANCE):
            raise ArgumentValueError(
                f"sigma: expected noise_multiplier * l2_sensitivity = {product:.12g}, "
                f"got {self.sigma:.12g}"
            )
        ideal = ideal_bound(self.epsilon, self.delta, self.noise_multiplier, depth=self.depth)
        reached = ideal.delta(self.epsilon)
        if reached > self.delta * (1.0 + TOLERANCE):
            raise ArgumentValueError(
                f"noise_multiplier: expected enough for delta = {self.delta:.6g} at epsilon = "
                f"{self.epsilon:.6g}, got {self.noise_multiplier:.6g}, which gives "
                f"{reached:.6g}"
            )

    @classmethod
    def without_noise(cls, *, because: tuple[str, ...]) -> Privacy:
        """Return the description of an exact table, which has no noise and no guarantee.

        Guarantee: ``private`` is false.

        Args:
            because: at least one reason.

        Returns:
            A description with infinite epsilon, delta 1 and sigma 0.

        Raises:
            ArgumentTypeError: not a tuple of strings.
            ArgumentValueError: no reason, or an empty one.

        Example:
            >>> str(Privacy.without_noise(because=("exact sketch, no noise",)))
            'NOT PRIVATE (exact sketch, no noise): promises nothing'
        """
        return cls(
            epsilon=math.inf,
            delta=1.0,
            relation="substitution",
            calibration="analytic",
            sigma=0.0,
            noise_multiplier=0.0,
            l2_sensitivity=0.0,
            max_weight=1,
            max_events_per_user=1,
            private=False,
            not_private_because=because,
        )

    @property
    def mu(self) -> float:
        """The mu of Gaussian differential privacy: 1 / noise_multiplier.

        Guarantee: independent Gaussian parts that share a person compose to the
        square root of the sum of their mu squared. Infinite without noise.

        Returns:
            mu, above 0.

        Source: Dong, Roth and Su 2022, Corollary 3.3.

        Example:
            >>> Privacy.without_noise(because=("exact",)).mu
            inf
        """
        return math.inf if self.noise_multiplier == 0.0 else 1.0 / self.noise_multiplier

    @property
    def rho(self) -> float:
        """The rho of zero-concentrated differential privacy: mu^2 / 2, of ideal noise.

        Guarantee: for neighbouring streams that are fixed in advance, not for an event that is
        chosen from releases. Parts that share a person add up. Infinite without noise.

        Returns:
            rho, above 0.

        Source: M. Bun and T. Steinke, 2016, Proposition 1.6.

        Example:
            >>> Privacy.without_noise(because=("exact",)).rho
            inf
        """
        return self.mu**2 / 2.0

    def delta_at(self, epsilon: float) -> float:
        """Return a delta that holds at another epsilon, with the same noise.

        Guarantee: an upper bound, also for one event, or all events of one person together, that
        an adversary chooses by everything published before. It includes floating point, as the
        calibration accounted for it; at most ``delta`` at ``epsilon``. 1 if not ``private``.

        Args:
            epsilon: 0 < epsilon <= 100.

        Returns:
            delta, in [1e-280, 1], non-increasing in epsilon.

        Raises:
            ArgumentTypeError: not a real number.
            ArgumentValueError: outside its range.

        Source: docs/theory.md, Theorems 15 and 16; :mod:`lazysketch.privacy.curve`.

        Example:
            >>> import lazysketch as ls
            >>> sketch = ls.LazyCountMin(depth=3, width=64, epsilon=1.0, delta=1e-8)
            >>> sketch.privacy.delta_at(1.0), round(sketch.privacy.delta_at(0.5), 4)
            (1e-08, 0.0004)
        """
        asked = checked_epsilon(epsilon)
        return self._curve.delta_at(asked) if self.private else 1.0

    def epsilon_at(self, delta: float) -> float:
        """Return an epsilon that holds at another delta, with the same noise.

        Guarantee: an upper bound, as :meth:`delta_at`; at most ``epsilon`` at ``delta``.
        Infinite if not ``private``.

        Args:
            delta: 1e-280 <= delta < 1.

        Returns:
            epsilon, above 0; infinite if no epsilon up to 100 holds at this delta.

        Raises:
            ArgumentTypeError: not a real number.
            ArgumentValueError: outside its range.

        Source: docs/theory.md, Theorems 15 and 16; :mod:`lazysketch.privacy.curve`.

        Example:
            >>> import lazysketch as ls
            >>> sketch = ls.LazyCountMin(depth=3, width=64, epsilon=1.0, delta=1e-8)
            >>> round(sketch.privacy.epsilon_at(1e-6), 3)
            0.817
        """
        asked = checked_delta(delta)
        return self._curve.epsilon_at(asked) if self.private else math.inf

    @cached_property
    def _curve(self) -> GaussianCurve:
        return curve_of(self.epsilon, self.delta, self.noise_multiplier, depth=self.depth)

    def to_dp_event(self) -> dp_accounting.DpEvent:
        """Return the sketch as an event of Google's dp-accounting, to compose with other work.

        Guarantee: the event describes ideal Gaussian noise, as that library does; ``epsilon`` and
        ``delta`` here also include the cost of integers and of floating point. Its accountants use
        other names for neighbours: their results hold for ``relation`` and ``max_events_per_user``.

        Returns:
            ``GaussianDpEvent(noise_multiplier)``, or ``NonPrivateDpEvent()`` if not ``private``.

        Raises:
            MissingPackageError: the package dp-accounting is not installed.

        Source: https://github.com/google/differential-privacy, ``python/dp_accounting``.
        """
        events = dp_accounting_module()
        if not self.private:
            return events.NonPrivateDpEvent()
        return events.GaussianDpEvent(self.noise_multiplier)

    @property
    def sentence(self) -> str:
        """The guarantee and its limits, for a reader without formulas.

        Returns:
            What is promised and what is not, or why there is no guarantee.

        Example:
            >>> Privacy.without_noise(because=("exact sketch, no noise",)).sentence
            'NOT PRIVATE (exact sketch, no noise): there is no privacy guarantee.'
        """
        if not self.private:
            return f"{_reasons(self.not_private_because)}: there is no privacy guarantee."
        return promise(
            epsilon=self.epsilon,
            delta=self.delta,
            relation=self.relation,
            max_events_per_user=self.max_events_per_user,
            person_bound=self.person_bound,
            max_weight=self.max_weight,
        )

    def __str__(self) -> str:
        """Return the guarantee in one line."""
        if not self.private:
            return f"{_reasons(self.not_private_because)}: promises nothing"
        line = guarantee(
            epsilon=self.epsilon,
            delta=self.delta,
            relation=self.relation,
            max_events_per_user=self.max_events_per_user,
            person_bound=self.person_bound,
            max_weight=self.max_weight,
        )
        if self.calibration == "classical":
            line += "; classical calibration, as in the paper, not this library's guarantee"
        return line


def dp_accounting_module() -> ModuleType:
    """Return Google's package dp_accounting, which is not a dependency.

    Raises:
        MissingPackageError: the package dp-accounting is not installed.
    """
    try:  # imported here because it is large and rarely needed
        import dp_accounting
    except ImportError as missing:
        raise MissingPackageError(
            "to_dp_event: expected the package dp-accounting, got none installed; "
            "pip install dp-accounting"
        ) from missing
    module: ModuleType = dp_accounting
    return module


def _checked_extent(name: str, value: object) -> float:
    """Return a number that may be zero or infinite, but not NaN or negative."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value in (0, math.inf):
        return float(value)
    return checked_real(name, value)


def _reasons(because: tuple[str, ...]) -> str:
    return f"NOT PRIVATE ({'; '.join(' '.join(why.split()) for why in because)})"
