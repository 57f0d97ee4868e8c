"""People of a run: which options go with them, and what only the operator sees."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from lazysketch import HeavyHitters
from lazysketch._native import People, PrivateSketch
from lazysketch.arguments import shown
from lazysketch.errors import ArgumentTypeError
from lazysketch.sketches.held_table import HeldTables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lazysketch import PersonBound
    from lazysketch.cli.settings import SketchSettings
    from lazysketch.windows.running_windows import RunningWindows

    AnyWindows: TypeAlias = RunningWindows[Any]

__all__ = [
    "Refusing",
    "advice_on_names",
    "check_account",
    "check_people",
    "people_of",
    "people_of_windows",
    "refusals",
]

# Words of the names of fields that hold people, or what stands for one.
_ADDRESSES: Final = "ip ips ipv4 ipv6 addr address src dst saddr daddr flow"
_PERSONS: Final = (
    "user username userid uid login account client customer visitor person patient member "
    "subscriber employee author sender recipient email mail phone msisdn device cookie"
)
_WORDS: Final = frozenset(f"{_ADDRESSES} {_PERSONS}".split())
# Names that mean a person only if they are the whole name, or come after one of these.
_WHOLE: Final = frozenset({"host", "name"})
_OF_A_PERSON: Final = frozenset({"remote", "first", "last", "full", "family", "given", "screen"})


class Refusing(Protocol):
    """What bounds people, as the operator sees it."""

    @property
    def refused(self) -> int:
        """Events that were not counted."""

    @property
    def known(self) -> int | None:
        """People that are known; None for windows, each of which knows those of its own."""


class _PeopleOfWindows:
    known = None

    def __init__(self, windows: AnyWindows) -> None:
        self._windows = windows

    @property
    def refused(self) -> int:
        return self._windows._live.refused


def check_people(
    settings: SketchSettings,
    *,
    state: str | None = None,
    windows: bool = False,
    ledger: str | None = None,
) -> None:
    """Raise unless the options of people go together, and with what else is asked for.

    Args:
        settings: The options of the sketch.
        state: The directory of the state. If an earlier run has made it, that run has chosen the
            field of the person too, with which the other options are compared later.
        windows: Whether they are counted in windows.
        ledger: The directory of a ledger.

    Raises:
        ArgumentTypeError: An option that does not go with ``--user``, or needs it.
        ArgumentValueError: A number outside its range.
    """
    if settings.user is None and state is not None:
        from lazysketch.store.opening import is_store  # late: few runs have a state

        if is_store(state):
            return
    bound = settings.person_bound
    if windows and ledger is not None:
        check_account(bound)


def check_account(bound: PersonBound | None) -> None:
    """Raise unless a ledger has an account of what is counted in windows.

    Args:
        bound: What is counted of one person; None without people.

    Raises:
        ArgumentTypeError: People, each of whom spends once in each window.
    """
    if bound is not None:
        raise ArgumentTypeError(
            "--ledger: expected no --window with --user, since a person in several windows spends "
            "once in each of them, got one"
        )


def people_of(sketch: object) -> Refusing | None:
    """Return what each person has contributed to a sketch; None if people are not bounded."""
    table = sketch._table if isinstance(sketch, HeavyHitters) else sketch
    if isinstance(sketch, HeldTables):
        table = sketch._tables[0]  # of several, the one that decides what counts
    return People.of_table(table) if isinstance(table, PrivateSketch) else None


def people_of_windows(windows: AnyWindows) -> Refusing | None:
    """Return what each person has contributed to windows; None if people are not bounded."""
    return None if windows.privacy.person_bound is None else _PeopleOfWindows(windows)


def refusals(people: Refusing) -> str:
    """Return how many events of how many people were not counted, for the operator."""
    events = "1 event was" if people.refused == 1 else f"{people.refused:,} events were"
    if people.known is None:
        return f"{events} beyond the bound of a window and not counted"
    known = "1 person" if people.known == 1 else f"{people.known:,} people"
    return f"{events} beyond the bound and not counted; {known} in the stream"


def advice_on_names(fields: Sequence[str]) -> str:
    """Return a line if the items may be people, "" if not; by the fields' names alone.

    Args:
        fields: The fields of the items.
    """
    named = [field for field in fields if may_hold_people(field)]
    if not named:
        return ""
    return (
        f"items of field {shown(named[0])} may be people, and a heavy one is named; to name none, "
        f"count pages, groups or networks: --by FIELD --user {shown(named[0])}"
    )


def may_hold_people(field: str) -> bool:
    """Return whether the name of a field says that its values stand for people.

    Example:
        >>> [may_hold_people(field) for field in ("client_ip", "user.id", "userName", "name")]
        [True, True, True, True]
        >>> [may_hold_people(field) for field in ("path", "file_name", "server.host", "status")]
        [False, False, False, False]
    """
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", field).lower()
    words = [word for word in re.split(r"[^a-z0-9]+", spaced) if word]
    if _WORDS.intersection(words) or any(name in spaced for name in ("orig_h", "resp_h")):
        return True
    *before, last = words or [""]
    return last in _WHOLE and (not before or before[-1] in _OF_A_PERSON)
