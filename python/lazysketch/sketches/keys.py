"""Master keys: the secret from which all noise of a sketch is recomputed.

Most users need no key: a sketch without ``key=`` draws a fresh one. Keep a key only to restore a
state later; anyone who has the key can remove the noise.
"""

from __future__ import annotations

import os
from typing import NoReturn

from lazysketch import _native
from lazysketch.errors import ArgumentTypeError, LiveStateError
from lazysketch.sketches.key_storage import (
    secret_in_environment,
    secret_in_file,
    write_secret,
)

__all__ = ["Key", "key_or_fresh"]


class Key(_native.Key):
    """A secret master key of 32 bytes.

    Guarantee: noise derives from the key together with a sketch id of 128 fresh bits and every
    parameter of the sketch, so one key may serve any number of sketches.

    Source: SECURITY.md; BLAKE3 in keyed mode.

    Example:
        >>> Key.generate()
        Key(<secret>)
    """

    def __new__(cls) -> Key:
        """Refuse direct construction; see :meth:`generate` and :meth:`from_bytes`."""
        raise ArgumentTypeError("key: expected Key.generate() or Key.from_bytes(...), got Key()")

    @classmethod
    def generate(cls) -> Key:
        """Return a fresh key from the operating system's random source.

        Returns:
            A fresh key.

        Example:
            >>> len(Key.generate().to_bytes())
            32
        """
        return super().__new__(cls)

    @classmethod
    def from_bytes(cls, secret: bytes) -> Key:
        """Return the key with the bytes that :meth:`to_bytes` returned.

        Guarantee: as private as ``secret`` is; it must come from a cryptographic random source.

        Args:
            secret: 32 bytes.

        Returns:
            The key.

        Raises:
            ArgumentTypeError: ``secret`` is not bytes.
            ArgumentValueError: ``secret`` is not 32 bytes long.

        Example:
            >>> key = Key.generate()
            >>> Key.from_bytes(key.to_bytes()).to_bytes() == key.to_bytes()
            True
        """
        if not isinstance(secret, bytes):
            raise ArgumentTypeError(f"secret: expected bytes, got {type(secret).__name__}")
        return super().__new__(cls, secret)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Key:
        """Return the key of a file that :meth:`to_file` wrote.

        Guarantee: a file that its owner alone can read and write. One that others can use is
        refused, because they may have read the key.

        Args:
            path: a file of 64 hexadecimal digits, of this user or of root, with mode 0600 or 0400.

        Returns:
            The key.

        Raises:
            ArgumentTypeError: not a path.
            ArgumentValueError: a file that others can use, or with another content.
            OSError: the file cannot be read.

        Source: docs/operations.md.

        Example:
            >>> import pathlib, tempfile
            >>> path = pathlib.Path(tempfile.mkdtemp()) / "store.key"
            >>> key = Key.generate()
            >>> key.to_file(path)
            >>> Key.from_file(path).to_bytes() == key.to_bytes()
            True
        """
        return cls.from_bytes(secret_in_file(path))

    @classmethod
    def from_environment(cls, variable: str) -> Key:
        """Return the key of an environment variable.

        Guarantee: as private as the environment, which every process of the user can read while
        this one runs, and which its children get. A file is safer.

        Args:
            variable: the name of a variable with 64 hexadecimal digits, as of
                ``to_bytes().hex()``.

        Returns:
            The key.

        Raises:
            ArgumentTypeError: not a name.
            ArgumentValueError: the variable is not set, or has another content.

        Source: docs/operations.md.

        Example:
            >>> import os
            >>> key = Key.generate()
            >>> os.environ["STORE_KEY"] = key.to_bytes().hex()
            >>> Key.from_environment("STORE_KEY").to_bytes() == key.to_bytes()
            True
        """
        return cls.from_bytes(secret_in_environment(variable))

    @classmethod
    def _of(cls, like: _native.Key) -> Key:
        """Return a key of the core as one of this class."""
        return super().__new__(cls, like=like)

    def to_bytes(self) -> bytes:
        """Return the 32 secret bytes; store them where secrets are stored.

        Returns:
            The secret.

        Raises:
            ArgumentValueError: a key of ``lazysketch.testing``, whose bytes are not secret.

        Example:
            >>> type(Key.generate().to_bytes())
            <class 'bytes'>
        """
        return self._expose()

    def to_file(self, path: str | os.PathLike[str]) -> None:
        """Write the key to a new file that its owner alone can read and write.

        Args:
            path: the file; one that exists is never overwritten, since it may be the only copy of
                another key.

        Raises:
            ArgumentTypeError: not a path.
            ArgumentValueError: a key of ``lazysketch.testing``, whose bytes are not secret.
            OSError: the file exists, or cannot be written.

        Source: docs/operations.md.

        Example:
            >>> import pathlib, tempfile
            >>> path = pathlib.Path(tempfile.mkdtemp()) / "store.key"
            >>> Key.generate().to_file(path)
            >>> len(path.read_text().strip())
            64
        """
        write_secret(path, self.to_bytes())

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise LiveStateError(
            "key: expected to stay in this process, got pickling or copying; to keep a key, store "
            "to_bytes() where secrets are stored"
        )

    def __repr__(self) -> str:
        return "Key(<secret>)"


def key_or_fresh(key: Key | None) -> Key:
    """Return the key, or a fresh one for None.

    Args:
        key: key of the user, or None.

    Returns:
        A key.

    Raises:
        ArgumentTypeError: not a key.
    """
    if key is None:
        return Key.generate()
    if not isinstance(key, Key):
        raise ArgumentTypeError(f"key: expected a Key, got {type(key).__name__}")
    return key
