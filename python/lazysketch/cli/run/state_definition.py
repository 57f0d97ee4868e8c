"""What the first run of a state defines for all later ones."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any, Final

from lazysketch.errors import StoreError
from lazysketch.specification.schedules import Batch, Geometric, Punctual, RoundRobin, Single

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from typing_extensions import Self

    from lazysketch.specification.schedules import Schedule

__all__ = ["OF_DISCOVERY", "OF_INPUT", "OF_SKETCH", "Definition"]

_VERSION: Final = 1
_SCHEDULES: Final[dict[str, Callable[..., Schedule]]] = {
    "round robin": RoundRobin,
    "geometric": lambda growth, rounds: Geometric(tuple(growth), rounds),
    "punctual": Punctual,
    "batch": Batch,
    "single": Single,
}
# Options that define what is counted, by parameter.
OF_SKETCH: Final = {
    "epsilon": "--epsilon",
    "delta": "--delta",
    "relation": "--relation",
    "max_events_per_user": "--max-events-per-user",
    "horizon": "--horizon",
    "period": "--period",
    "depth": "--depth",
    "width": "--width",
    "kind": "--kind",
    "mechanism": "--mechanism",
    "hash_seed": "--hash-seed",
}
OF_DISCOVERY: Final = {
    "share": "--share",
    "discovery_epoch": "--names-every",
    "memory": "--memory",
}
OF_INPUT: Final = {
    "weight": "--weight",
    "max_weight": "--max-weight",
    "items_type": "--items-type",
}


@dataclasses.dataclass(frozen=True)
class Definition:
    """What the first run of a state has defined for all later ones.

    Args:
        listed: Whether the items are those of a public list.
        options: The values of the options that define what is counted, by parameter.
        schedule: The specification of the schedule.
        secret: The key of the digests of positions.
    """

    listed: bool
    options: Mapping[str, object]
    schedule: tuple[object, ...]
    secret: bytes

    def to_text(self) -> str:
        """Return the definition as text."""
        fields = {"version": _VERSION, **dataclasses.asdict(self), "secret": self.secret.hex()}
        return json.dumps(fields)

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Return the definition of a text.

        Raises:
            StoreError: Another text.
        """
        try:
            fields: dict[str, Any] = json.loads(text)
            if fields.pop("version") != _VERSION:
                raise ValueError
            fields["schedule"] = tuple(fields["schedule"])
            return cls(**{**fields, "secret": bytes.fromhex(fields["secret"])})
        except (KeyError, TypeError, ValueError):
            raise StoreError(
                "--state: expected a state of this version of the command, got another"
            ) from None

    @property
    def chosen(self) -> Schedule:
        """The schedule."""
        name, *arguments = self.schedule
        return _SCHEDULES[str(name)](*arguments)
