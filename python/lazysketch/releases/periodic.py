"""Saving a release at regular times while a stream is counted."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Final, TypeAlias

from lazysketch.arguments import check_bools, checked_real
from lazysketch.errors import ArgumentTypeError, ArgumentValueError

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike
    from types import TracebackType

    from typing_extensions import Self

    from lazysketch.releases.any_release import AnyRelease

__all__ = ["PeriodicSaves"]

_MIN_PAUSE: Final = 9  # times the duration of a save: saving takes a tenth of the time
_MAX_SECONDS: Final = threading.TIMEOUT_MAX / 2

# Of each sketch in a release its id, its step and whether it is finished, and the number of names:
# all public.
_State: TypeAlias = "tuple[tuple[tuple[bytes, int, bool], ...], int]"


class PeriodicSaves:
    """Saves a release at regular times while a block runs, and once more at its end.

    A process that is killed, or a machine that fails, then loses at most the last interval. A
    thread saves, also while the input is silent. Each save replaces the file atomically.

    Guarantee: a release is public, so saves cost no privacy. Their times depend on the clock, on
    how long a save takes and on the steps taken, never on events.

    Args:
        release: returns the release to save, such as ``sketch.release`` or
            ``lambda: windows.release(24)``; called from the thread.
        path: the file.
        seconds: from one save to the next, above 0; longer if a save takes more than a tenth of
            them.
        overwrite: True to replace also a file that is not a release.

    Raises:
        ArgumentTypeError: a wrong type.
        ArgumentValueError: ``seconds`` outside its range.

    Example:
        >>> import pathlib, tempfile
        >>> import lazysketch as ls
        >>> path = pathlib.Path(tempfile.mkdtemp(), "counts.lzs")
        >>> sketch = ls.LazyCountMin(depth=3, width=256, epsilon=1.0, delta=1e-8)
        >>> with ls.PeriodicSaves(sketch.release, path, seconds=60):
        ...     for batch in (["a", "b"], ["a"]):
        ...         sketch.update_many(batch)
        >>> ls.Release.load(path).step
        3
    """

    def __init__(
        self,
        release: Callable[[], AnyRelease],
        path: str | PathLike[str],
        *,
        seconds: float = 60.0,
        overwrite: bool = False,
    ) -> None:
        if not callable(release):
            got = type(release).__name__
            raise ArgumentTypeError(
                f"release: expected a function such as sketch.release, got {got}"
            )
        wanted = f"a number above 0 and at most {_MAX_SECONDS:g}"
        interval = checked_real("seconds", seconds, wanted=wanted)
        if interval > _MAX_SECONDS:
            raise ArgumentValueError(f"seconds: expected {wanted}, got {interval:g}")
        check_bools(overwrite=overwrite)
        self.failure: Exception | None = None
        self._release = release
        self._path = path
        self._seconds = interval
        self._overwrite = overwrite
        self._saved: _State | None = None
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lazysketch saves", daemon=True)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
        self.save()

    def start(self) -> None:
        """Begin to save; a block does it."""
        self._thread.start()

    def stop(self) -> None:
        """Wait for a save that has begun, and save no more."""
        self._done.set()
        if self._thread.ident is not None:
            self._thread.join()

    def save(self) -> None:
        """Save now, unless nothing was published since the last save or no step was taken.

        Raises:
            OverwriteError: the path holds a file that is not a release.
            OSError: the file cannot be written.
            LazySketchError: as raised by ``release``.
        """
        release = self._release()
        state = _state_of(release)
        if release.step and state != self._saved:
            release.save(self._path, overwrite=self._overwrite)
            self._saved = state

    def failed(self, failure: Exception) -> None:
        """Keep the failure of a save in :attr:`failure`; the next save is tried in any case.

        Args:
            failure: what the save raised.
        """
        self.failure = failure

    def _run(self) -> None:
        pause = self._seconds
        while not self._done.wait(pause):
            begin = time.perf_counter()
            try:
                self.save()
                self.failure = None
            except Exception as failure:
                self.failed(failure)
            pause = max(self._seconds, _MIN_PAUSE * (time.perf_counter() - begin))


def _state_of(release: AnyRelease) -> _State:
    parts = tuple((part.sketch_id, part.step, part.finished) for part in release.parts)
    return parts, release._number_of_names
