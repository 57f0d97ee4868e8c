"""Windows of a hierarchy of a store."""

from __future__ import annotations

from tests.unit.store.kinds_of_windows import Clock, opened
from tests.unit.store.lives import Lives


def test_levels_of_windows_have_ids_of_their_own(lives: Lives) -> None:
    """One for each level of each window, and one hash seed per level."""
    clock = Clock()
    with lives.open() as store:
        live = opened(store, "clock, levels", clock)
        clock.seconds += 7_200
        windows = [*live.windows, live.open]
        parts = [level.release for window in windows for level in window.levels]
        assert len({part.sketch_id for part in parts}) == len(parts) == 6
        for level in (0, 1):
            assert len({window.levels[level].release.hash_seed for window in windows}) == 1
            live.level(level).release(2)
        assert live.private
