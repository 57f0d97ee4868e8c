"""Names of the estimators.

===========  =====================================================================================
``joint``    the mean of the joint likelihood of all rows, each moved to this step at the item's
             own rate and weighted by the density of its error (noise and collisions); the default
``minimum``  the paper's for Count-Min: the minimum of the item's cells; d look-ups
``median``   the paper's for Count Sketch: the median of its signed cells
===========  =====================================================================================

``joint`` is E. Pitman's (1939) estimator: no other translation-equivariant estimator has a smaller
mean squared error if the distribution of the errors is known. They are estimated from the table
(:mod:`.error_model`). docs/estimators.md compares measured errors.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

__all__ = ["Estimator"]

Estimator: TypeAlias = Literal["joint", "minimum", "median"]
