"""Pipelines: several statistics of one stream, counted in one pass, under one guarantee.

Floors, downward: pipeline -> shares, columns -> predictions -> part.
"""

from __future__ import annotations

from lazysketch.pipelines.part import Part
from lazysketch.pipelines.pipeline import Pipeline
from lazysketch.pipelines.shares import PrivacyShare

__all__ = ["Part", "Pipeline", "PrivacyShare"]
