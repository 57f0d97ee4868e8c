"""The table of campaigns: what a session of each is, and how long one case may take."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias

from tests.fuzzing import (
    constructions,
    controls,
    corpus_sessions,
    inputs,
    live_classes,
    partial_counts,
    releases,
    sums_releases,
    twins,
)
from tests.fuzzing.verdicts import Finding

__all__ = ["CAMPAIGNS", "CONTROLS", "EVERY", "Campaign", "Session", "kept_parts"]

# Name and parts to keep -> number of cases, and what they found. The function that it calls before
# each part gets the number of the part.
Session: TypeAlias = Callable[..., tuple[int, list[Finding]]]


@dataclass(frozen=True)
class Campaign:
    """Cases of one kind.

    Args:
        name: its name in the table.
        session: makes the cases of one seed; ``beat=`` and ``kept=`` as in :mod:`.twins`.
        case: what one case is.
        patience: seconds of the processor, or fifths of those of the clock, after which a case
            counts as a hang.
        memory: bytes of address space that a process may have.
    """

    name: str
    session: Session
    case: str
    patience: float = 60.0
    memory: int = 4 << 30


def _of_inputs(form: str) -> Campaign:
    return Campaign(
        f"inputs: {form}",
        partial(inputs.session, form),
        "a damaged file through the command line",
    )


_ALL: Final = (
    *(
        Campaign(name, partial(twins.session, family), "a call of a public operation")
        for name, family in live_classes.FAMILIES.items()
    ),
    Campaign("constructions", constructions.session, "a call of a constructor or a function"),
    Campaign("queries of releases", releases.queries, "a query of a release"),
    Campaign("bytes of releases", releases.damages, "a damaged release"),
    Campaign("queries of sums", sums_releases.queries, "a query of a release"),
    Campaign("bytes of sums", sums_releases.damages, "a damaged release"),
    Campaign("bytes of partial counts", partial_counts.damages, "damaged counts of a worker"),
    *map(_of_inputs, inputs.FORMS),
)
CAMPAIGNS: Final = {campaign.name: campaign for campaign in _ALL}


def _in_turn(name: str, **options: object) -> tuple[int, list[Finding]]:
    """Make a session of each campaign in turn: all of them in one process."""
    number = int(name.rpartition(".")[2])
    return _ALL[number % len(_ALL)].session(name, **options)


# Not in the table of `make fuzz`: a sample of everything, the corpus, and defects that are planted.
CONTROLS: Final = {f"planted {kind}": kind for kind in controls.PLANTED}
EVERY: Final = {
    **CAMPAIGNS,
    "a sample of all": Campaign("a sample of all", _in_turn, "any"),
    "corpus of calls": Campaign("corpus of calls", corpus_sessions.calls, "a call"),
    "corpus of inputs": Campaign("corpus of inputs", corpus_sessions.files, "a file"),
    **{
        name: Campaign(
            name,
            partial(controls.session, kind),
            "a call",
            patience=0.5 if kind == "hang" else 60.0,
        )
        for name, kind in CONTROLS.items()
    },
}


def kept_parts(text: str | None) -> Collection[int] | None:
    """Return the numbers in a list such as ``1,4``; None for None."""
    return None if text is None else [int(number) for number in text.split(",") if number]
