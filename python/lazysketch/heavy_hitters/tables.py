"""The live tables behind heavy hitters: a sketch alone, or a sketch with discovery."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lazysketch import _native
from lazysketch.heavy_hitters.discovery import Discovery
from lazysketch.privacy.accounting import Privacy
from lazysketch.sketches.keys import Key
from lazysketch.sketches.private_table import PrivateTable, key_or_fresh, noise_of, table_arguments

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["DiscoveringTable", "ListedTable", "described"]


class ListedTable(PrivateTable):
    """A sketch whose items are on a public list."""

    @property
    def step(self) -> int:
        """Steps taken: events and ticks."""
        return self._step


class DiscoveringTable(_native.HeavySketch, PrivateTable):
    """A sketch that is fed together with discovery.

    Guarantee: that of the sketch plus that of discovery.

    Source: docs/guarantees.md.
    """

    def __new__(cls, *, discovery: Discovery, key: Key | None, **sketch: Any) -> Self:
        """Calibrate the noise and make the core's sketch and table of names."""
        arguments = table_arguments(**sketch)
        del arguments["max_changes"]  # always 1 where items are hashed
        return _native.HeavySketch.__new__(
            cls, sketch=arguments, discovery=discovery.arguments, key=key_or_fresh(key)
        )

    @property
    def step(self) -> int:
        """Steps taken: events and ticks."""
        return self._step


def described(**sketch: Any) -> Privacy:
    """Return what a sketch with these settings would promise; none is made.

    Args:
        sketch: the arguments of :func:`lazysketch.sketches.private_table.noise_of`.

    Returns:
        The promise under a secret key.

    Raises:
        ArgumentTypeError: a wrong type.
        ArgumentValueError: a value outside its range, or noise that no mechanism serves.
    """
    _, noise = noise_of(**sketch)
    return Privacy(
        epsilon=noise.epsilon,
        delta=noise.delta,
        relation=sketch["relation"],
        calibration=noise.calibration,
        sigma=noise.sigma,
        noise_multiplier=noise.noise_multiplier,
        l2_sensitivity=noise.l2_sensitivity,
        max_weight=sketch["max_weight"],
        max_events_per_user=sketch["max_events_per_user"],
        private=True,
    )
