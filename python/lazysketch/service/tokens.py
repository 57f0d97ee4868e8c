"""Tokens of senders and operators: random, and known to the service by their SHA-256 only."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from typing import Final

from lazysketch.errors import ArgumentValueError

__all__ = ["Tokens", "new_token", "token_hash"]

_HASH: Final = re.compile(r"[0-9a-f]{64}")
_BEARER: Final = re.compile(rb"[Bb]earer +([!-~]{1,512}) *")


def new_token() -> str:
    """Return a fresh token of 256 random bits.

    Example:
        >>> len(new_token())
        46
    """
    return f"ls_{secrets.token_urlsafe(32)}"


def token_hash(token: str) -> str:
    """Return what a configuration has of a token: its SHA-256 in hexadecimal digits.

    A token has 256 random bits, so no slow hash is needed against guesses.

    Args:
        token: as :func:`new_token` returned it.
    """
    return hashlib.sha256(token.encode()).hexdigest()


class Tokens:
    """The tokens that one listener accepts; none accepts everyone.

    Args:
        hashes: SHA-256 of each token by the name of its owner.

    Raises:
        ArgumentValueError: not 64 lowercase hexadecimal digits.
    """

    def __init__(self, hashes: Mapping[str, str]) -> None:
        for name, value in hashes.items():
            if not isinstance(value, str) or not _HASH.fullmatch(value):
                raise ArgumentValueError(
                    f"tokens.{name}: expected the SHA-256 of a token, 64 lowercase hexadecimal "
                    "digits, got something else (`lazysketch serve --new-token` prints both)"
                )
        self._hashes = {name: bytes.fromhex(value) for name, value in hashes.items()}

    @property
    def hashes(self) -> dict[str, str]:
        """SHA-256 of each token by the name of its owner."""
        return {name: value.hex() for name, value in self._hashes.items()}

    def replace(self, others: Tokens) -> None:
        """Accept other tokens from now on, and these no more.

        Args:
            others: at least one, if there were some: none would accept everyone.

        Raises:
            ArgumentValueError: none in place of some.
        """
        if self._hashes and not others._hashes:
            raise ArgumentValueError(
                "tokens: expected at least one, since none would accept everyone, got none"
            )
        self._hashes = others._hashes

    def __len__(self) -> int:
        return len(self._hashes)

    def owner(self, authorization: bytes | None) -> str | None:
        """Return the owner of the token of an ``Authorization`` header.

        Args:
            authorization: value of the header; None if the request has none.

        Returns:
            The owner's name, empty if no token is required; None for a wrong or missing token.
        """
        hashes = self._hashes
        if not hashes:
            return ""
        match = _BEARER.fullmatch(authorization or b"")
        found = hashlib.sha256(match[1] if match else b"").digest()
        owner = None
        # All are compared, so that the time does not tell which one is near.
        for name, expected in hashes.items():
            if hmac.compare_digest(found, expected):
                owner = name
        return owner if match else None
