"""Profiles of hypothesis: ``short`` in ``make test``, ``long`` in ``make test-long``.

No test has a deadline: how long it takes depends on what else the machine does.
"""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("short", deadline=None, max_examples=25)
settings.register_profile("long", deadline=None, max_examples=200)
settings.load_profile("short")
