"""What releases of every kind share: their bytes, and the files that hold them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from os import PathLike
from typing import TYPE_CHECKING, Any

from lazysketch import _native
from lazysketch.arguments import check_bools
from lazysketch.errors import ArgumentTypeError, LazySketchError, ReleaseFormatError
from lazysketch.releases.files import BEGINNINGS, SUMS_MAGIC, read_release, write_whole
from lazysketch.releases.items import Item

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["SavedRelease", "decoded"]


def decoded(data: bytes) -> tuple[_native.Release, list[Item]]:
    """Return the release of one table that is encoded in bytes, and its names.

    Guarantee: sizes are checked before any allocation; hostile bytes raise an error.

    Args:
        data: the result of ``to_bytes()`` of a release of any kind but sums.

    Returns:
        The table, and its public names in order.

    Raises:
        ArgumentTypeError: not bytes.
        ReleaseFormatError: not a release of this version, or damaged.
    """
    if not isinstance(data, bytes):
        raise ArgumentTypeError(f"data: expected bytes, got {type(data).__name__}")
    if data.startswith(SUMS_MAGIC):
        raise ReleaseFormatError("release: expected one of one table, got one of sums")
    return _native.Release.from_bytes(data)


class SavedRelease:
    """Base of the classes of releases: reading, writing and pickling."""

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Return the release in a file.

        Args:
            path: a file written by :meth:`save`.

        Returns:
            The release.

        Raises:
            ArgumentTypeError: not a path.
            ArgumentValueError: a path that no file has, such as an empty one.
            OSError: the file cannot be read.
            ReleaseFormatError: it is not a release of this class and version, or damaged.
        """
        return cls.from_bytes(read_release(path))

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the release that is encoded in bytes.

        Guarantee: sizes are checked before any allocation; hostile bytes raise an error.

        Args:
            data: the result of :meth:`to_bytes`.

        Returns:
            The release.

        Raises:
            ArgumentTypeError: not bytes.
            ReleaseFormatError: not a release of this class and version, or damaged.
        """
        return cls._read(data)

    @classmethod
    def _read(cls, data: bytes) -> Self:
        """Return a release of bytes, of the format of its class."""
        return cls._of_file(*decoded(data))

    @classmethod
    def _of_file(cls, native: _native.Release, names: Iterable[Item]) -> Self:
        """Return a release of decoded bytes, which may come from anywhere."""
        try:
            made = cls._made(native, names)
            made._check_parts()
        except ReleaseFormatError:
            raise
        except LazySketchError as disagreement:
            # Well-formed, but its noise is too small for the stated guarantee.
            raise ReleaseFormatError(f"release: {disagreement}") from None
        return made

    @classmethod
    @abstractmethod
    def _made(cls, native: _native.Release, names: Iterable[Item]) -> Self:
        """Wrap a release of the core with its names."""

    @abstractmethod
    def _check_parts(self) -> None:
        """Raise if the noise of a part does not give the guarantee that it states."""

    def save(self, path: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Write the release to a file atomically; an existing release is replaced.

        Args:
            path: the file.
            overwrite: True to replace also a file that is not a release.

        Raises:
            ArgumentTypeError: not a path, or not a bool.
            ArgumentValueError: a path that no file has, such as an empty one.
            OverwriteError: the file exists and is not a release; it is unchanged.
            OSError: the file cannot be written.
        """
        check_bools(overwrite=overwrite)
        write_whole(path, self.to_bytes(), replaces=None if overwrite else BEGINNINGS)

    @abstractmethod
    def to_bytes(self) -> bytes:
        """Return the release as bytes, the same on every platform.

        Returns:
            The bytes that docs/release-format.md describes.
        """

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_bytes, (self.to_bytes(),)
