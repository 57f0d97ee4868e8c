"""The errors of lazysketch, one tree under :class:`LazySketchError`.

A message has the form "NAME: expected X, got Y" and never contains a count, a key or an item of
the stream::

    LazySketchError
    ├── ArgumentTypeError    (TypeError)   an argument of the wrong type, or a forbidden mix
    ├── ArgumentValueError   (ValueError)  right type, value outside its range
    ├── ItemError            (TypeError)   a value that cannot be an item of a stream
    ├── HorizonError         (ValueError)  more steps than the sketch was made for
    ├── ClosedError          (ValueError)  after ``close()``; an update after ``finish()``
    ├── LiveStateError       (TypeError)   copying, pickling or forking a live private sketch
    ├── ReleaseFormatError   (ValueError)  bytes that are not a release
    ├── MergeError           (ValueError)  releases that cannot be added
    ├── OverwriteError       (FileExistsError) saving over a file that is not a release
    ├── SourceError          (OSError)     an input that cannot be read
    ├── StoreError           (OSError)     a store that cannot be opened, or written to
    │   ├── StoreDoubtError            a store that may be an older copy
    │   └── StoreInUseError            a store that another process has open
    ├── CapError             (ValueError)  a run that a ledger does not admit
    └── MissingPackageError  (ImportError) an optional package that a call needs
"""

from __future__ import annotations

__all__ = [
    "ArgumentTypeError",
    "ArgumentValueError",
    "CapError",
    "ClosedError",
    "HorizonError",
    "ItemError",
    "LazySketchError",
    "LiveStateError",
    "MergeError",
    "MissingPackageError",
    "OverwriteError",
    "ReleaseFormatError",
    "SourceError",
    "StoreDoubtError",
    "StoreError",
    "StoreInUseError",
]


class LazySketchError(Exception):
    """Root of every error that lazysketch raises on purpose."""


class ArgumentTypeError(LazySketchError, TypeError):
    """Raised when an argument has the wrong type or two arguments exclude each other."""


class ArgumentValueError(LazySketchError, ValueError):
    """Raised when an argument lies outside its documented range."""


class ItemError(LazySketchError, TypeError):
    """Raised when a value cannot be an item; in a batch the message gives its position."""


class HorizonError(LazySketchError, ValueError):
    """Raised when an update would go past the horizon; the sketch is unchanged."""


class ClosedError(LazySketchError, ValueError):
    """Raised when a sketch is used after ``close()``, or updated after ``finish()``."""


class LiveStateError(LazySketchError, TypeError):
    """Raised when a live private sketch would be duplicated.

    Two copies that count different events would publish the same noise on different counts; the
    difference of their releases would be exact.
    """


class ReleaseFormatError(LazySketchError, ValueError):
    """Raised when bytes are not a release that this version can read."""


class MergeError(LazySketchError, ValueError):
    """Raised when releases differ in properties that must be equal for merging."""


class OverwriteError(LazySketchError, FileExistsError):
    """Raised when saving a release would replace a file that is not a release."""


class SourceError(LazySketchError, OSError):
    """Raised when an input is missing, unreadable, truncated or of an unknown format."""


class StoreError(LazySketchError, OSError):
    """Raised when a store cannot be opened or written to; what it holds stays as it was."""


class StoreDoubtError(StoreError):
    """Raised when nothing shows that a store is in its newest state; see ``open_store(on_doubt=)``.

    It may be an older copy. Going on in it would publish the noise of the past with other counts.
    """


class StoreInUseError(StoreError):
    """Raised when another process, or another object of this one, has a store open."""


class CapError(LazySketchError, ValueError):
    """Raised when a run would exceed the cap of a ledger; nothing was recorded."""


class MissingPackageError(LazySketchError, ImportError):
    """Raised when a call needs a package that lazysketch does not depend on."""
