"""Privacy: neighbouring streams, the noise that they require, and the resulting guarantee.

``relations`` bounds how far one event moves the counts, ``calibration`` computes the noise that
(epsilon, delta) then requires, from the delta of ideal noise (``gaussian``) and of noise made of
integers (``adaptive``). ``accounting`` describes the guarantee, ``curve`` gives it at other
epsilons, ``composition`` combines several guarantees, and ``wording`` puts them into words.
"""

from __future__ import annotations

from lazysketch.privacy.accounting import Privacy
from lazysketch.privacy.adaptive import adaptive_delta, adaptive_noise_multiplier
from lazysketch.privacy.calibration import NoiseCalibration, calibrate
from lazysketch.privacy.composition import Composition, compose
from lazysketch.privacy.gaussian import (
    classical_noise_multiplier,
    gaussian_delta,
    noise_multiplier,
)
from lazysketch.privacy.relations import (
    Calibration,
    CountKind,
    Relation,
    changed_cells,
    table_sensitivity2,
)

__all__ = [
    "Calibration",
    "Composition",
    "CountKind",
    "NoiseCalibration",
    "Privacy",
    "Relation",
    "adaptive_delta",
    "adaptive_noise_multiplier",
    "calibrate",
    "changed_cells",
    "classical_noise_multiplier",
    "compose",
    "gaussian_delta",
    "noise_multiplier",
    "table_sensitivity2",
]
