"""The guarantee of sums: that of two tables together."""

from __future__ import annotations

from dataclasses import dataclass

from lazysketch.heavy_hitters.joint_privacy import Split
from lazysketch.heavy_hitters.levels_privacy import splits_of_levels
from lazysketch.privacy.accounting import Privacy
from lazysketch.privacy.charges import PlainPart
from lazysketch.privacy.wording import guarantee, promise
from lazysketch.specification.table_spec import TableSpec

__all__ = ["SumsPrivacy", "with_shared_budget"]


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

    Source: docs/theory.md, Theorem 25.
    """

    epsilon: float
    delta: float
    counts: Privacy
    values: Privacy

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
    def parts_to_compose(self) -> tuple[Privacy | PlainPart, ...]:
        """The tables of events and of values."""
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
            person_bound=None,
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
            person_bound=None,
        )


def with_shared_budget(
    counts: TableSpec, values: TableSpec, *, count_share: float
) -> tuple[TableSpec, TableSpec]:
    """Return two tables of one stream that together have the guarantee of each as it is given.

    Guarantee: the result composes to at most the (epsilon, delta) of ``counts``, including
    floating-point error.

    Args:
        counts: table of events, with the whole budget.
        values: table of values, with the whole budget.
        count_share: part of mu^2 for the events, above 0 and below 1.

    Returns:
        Both, calibrated anew.
    """
    tables = (counts, values)
    whole = Split(counts.epsilon, counts.delta, 0.0, 0.0)
    down = 1.0 - 1e-14
    parts = (count_share * down, (1.0 - count_share) * down)
    splits = splits_of_levels(
        whole,
        parts,
        privacy_of=lambda at, epsilon, delta: tables[at].with_privacy(epsilon, delta).privacy,
    )
    return (
        counts.with_privacy(splits[0].sketch_epsilon, splits[0].sketch_delta),
        values.with_privacy(splits[1].sketch_epsilon, splits[1].sketch_delta),
    )
