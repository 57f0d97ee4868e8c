"""Master keys: the secret from which all noise of a sketch is recomputed.

Most users need no key: a sketch without ``key=`` draws a fresh one. Keep a key only to restore a
state later; anyone who has the key can remove the noise.
"""

from __future__ import annotations

from typing import NoReturn

from lazysketch import _native
from lazysketch.errors import ArgumentTypeError, LiveStateError

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

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise LiveStateError(
            "key: expected to stay in this process, got pickling or copying; to keep a key, store "
            "to_bytes() where secrets are stored"
        )

    def __repr__(self) -> str:
        return "Key(<secret>)"


def key_or_fresh(key: Key | None) -> Key:
    """Return the key, or a fresh one if there is none.

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
