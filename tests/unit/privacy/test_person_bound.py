"""What a bound of people says in words."""

from __future__ import annotations

import pytest

from lazysketch.privacy.person_bound import PersonBound, bounds_in_words


@pytest.mark.parametrize(
    ("bound", "expected"),
    [
        (PersonBound(cells=1), "of whom 1 event in 1 cell of every sketch row are counted"),
        (
            PersonBound(cells=1_000, events=2, most_people=5_000),
            (
                "of whom 2 events in each of 1,000 cells of every sketch row are counted, of the "
                "first 5,000 people"
            ),
        ),
    ],
)
def test_a_bound_names_its_cells_its_events_and_its_limit(
    bound: PersonBound, expected: str
) -> None:
    assert bounds_in_words((bound,)) == expected
    assert bounds_in_words((bound, bound)) == expected
