"""The guarantee of sums: that of two tables together."""

from __future__ import annotations

from dataclasses import dataclass

from lazysketch.privacy.accounting import Privacy
from lazysketch.privacy.charges import PlainPart, check_everywhere
from lazysketch.privacy.person_bound import PersonBound
from lazysketch.privacy.wording import guarantee, promise

__all__ = ["SumsPrivacy"]


@dataclass(frozen=True)
class SumsPrivacy:
    """The guarantee of all sums, counts and means that one object publishes.

    Guarantee: (``epsilon``, ``delta``)-DP for the relation of the tables, which compose as one
    Gaussian mechanism.

    Attributes:
        epsilon: epsilon of both tables together.
        delta: delta of both tables together.
        counts: guarantee of the table of events alone.
        values: guarantee of the table of values alone.
        within: where the events of a person are protected together, such as ``"one window"``; None
            for everywhere, or if events are protected.

    Source: docs/theory.md, Theorems 25 and 28.
    """

    epsilon: float
    delta: float
    counts: Privacy
    values: Privacy
    within: str | None = None

    @property
    def private(self) -> bool:
        """True if the guarantee holds."""
        return self.counts.private and self.values.private

    @property
    def not_private_because(self) -> tuple[str, ...]:
        """Reasons why it does not; empty if it does."""
        reasons = self.counts.not_private_because + self.values.not_private_because
        return tuple(dict.fromkeys(reasons))

    @property
    def person_bound(self) -> PersonBound | None:
        """What is counted of a person, the same events in both tables; None protects events."""
        return self.counts.person_bound

    @property
    def parts_to_compose(self) -> tuple[Privacy | PlainPart, ...]:
        """The tables of events and of values.

        Raises:
            ArgumentValueError: a guarantee within a part of the stream, which says nothing about a
                person in several parts.
        """
        check_everywhere(self.within)
        return self.counts, self.values

    @property
    def sentence(self) -> str:
        """The guarantee and its limits in words.

        Returns:
            English text in one line.
        """
        if not self.private:
            return self.counts.sentence
        return promise(
            epsilon=self.epsilon,
            delta=self.delta,
            relation=self.counts.relation,
            max_events_per_user=self.counts.max_events_per_user,
            max_weight=1,
            person_bound=self.person_bound,
            within=self.within,
        )

    def __str__(self) -> str:
        if not self.private:
            return str(self.counts)
        return guarantee(
            epsilon=self.epsilon,
            delta=self.delta,
            relation=self.counts.relation,
            max_events_per_user=self.counts.max_events_per_user,
            max_weight=1,
            person_bound=self.person_bound,
            within=self.within,
        )
