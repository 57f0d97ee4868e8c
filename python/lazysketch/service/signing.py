"""Ed25519 signatures: readers and replicas check that a publication is the operator's.

The signing key protects no one's privacy: who has it can forge publications, and nothing else.
"""

from __future__ import annotations

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from lazysketch.errors import ReleaseFormatError

__all__ = ["SigningKey", "check_signature"]


class SigningKey:
    """A private key that signs publications.

    Guarantee: signatures are a function of the key and the bytes; signing the same publication
    again gives the same bytes.

    Example:
        >>> key = SigningKey.generate()
        >>> check_signature(key.public, b"publication", key.sign(b"publication"))
    """

    def __init__(self, secret: bytes) -> None:
        """Take the 32 bytes of a key."""
        self._key = Ed25519PrivateKey.from_private_bytes(secret)

    @classmethod
    def generate(cls) -> SigningKey:
        """Return a fresh key."""
        return cls(Ed25519PrivateKey.generate().private_bytes_raw())

    @property
    def secret(self) -> bytes:
        """The 32 bytes of the key."""
        return self._key.private_bytes_raw()

    @property
    def public(self) -> bytes:
        """The 32 bytes of the public key."""
        return self._key.public_key().public_bytes_raw()

    def sign(self, content: bytes) -> bytes:
        """Return the signature of some bytes.

        Args:
            content: what is signed.

        Returns:
            64 bytes.
        """
        return self._key.sign(content)

    def __repr__(self) -> str:
        return f"<SigningKey {self.public.hex()[:16]}...>"


def check_signature(public: bytes, content: bytes, signature: bytes) -> None:
    """Raise unless a signature is that of the key and the bytes.

    Args:
        public: public key, 32 bytes.
        content: what was signed.
        signature: 64 bytes.

    Raises:
        ReleaseFormatError: another signature, or not a key.
    """
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, content)
    except (InvalidSignature, ValueError):
        raise ReleaseFormatError(
            "publication: expected the signature of the service's key, got another"
        ) from None
