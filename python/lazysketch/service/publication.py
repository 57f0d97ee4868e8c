"""What everyone may see of a stream: its windows at one tick of the public clock.

A publication is a manifest, which is signed, and one release per window. The manifest names each
release by its SHA-256, so the signature covers all of them; a window that ended long ago is sent
once, however often it is published again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from lazysketch.errors import ArgumentValueError, ReleaseFormatError
from lazysketch.heavy_hitters import HierarchyNode
from lazysketch.heavy_hitters.hierarchies import HIERARCHIES
from lazysketch.service.manifest_values import (
    instant_read,
    instant_written,
    item_read,
    item_written,
)
from lazysketch.service.published_alerts import PublishedAlerts
from lazysketch.service.published_slides import SlidesOfPublication
from lazysketch.service.published_window import ITEMS, KINDS, PublishedWindow, read_window
from lazysketch.service.signing import SigningKey, check_signature
from lazysketch.service.tick import Tick
from lazysketch.windows.published_hierarchy import hierarchy_of
from lazysketch.windows.published_windows import PublishedWindows
from lazysketch.windows.window import Window

if TYPE_CHECKING:
    from lazysketch.releases.items import Item

__all__ = ["Facts", "Publication", "PublishedWindow", "SignedPublication"]

_VERSION: Final = 1
_SLIDING_VERSION: Final = 2  # a reader of version 1 would show the ends of slices as windows
_Found = TypeVar("_Found")
_SECOND: Final = 1_000_000_000
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is said of a stream next to its numbers, the same in every publication.

    Attributes:
        stream: its name.
        title: its title for readers.
        counts: what an item is: the field that is counted.
        kind: ``"items"``, ``"distinct"`` for the number of different items, ``"values"`` for the
            distribution of a number, ``"ranges"`` for counts of ranges of keys, or ``"sums"`` for
            sums of a number by item.
        every: length of a window in seconds.
        slices: publications of an open window.
        span: length of a sliding window in seconds; None for windows that follow each other.
        keep: ended windows that are kept.
        delay: seconds from a tick of the clock to the publication of its state.
        guarantee: the guarantee in words.
        epsilon: of everything ever published of the stream.
        delta: of everything ever published of the stream.
        relation: ``"substitution"`` or ``"zero-out"``.
        share: names with at least about this share of a window are found; None for a list.
        hierarchy: name of the hierarchy of the items; None without one.
        levels: names of its levels, the coarsest first.
        unit: who or what is protected, in words.
        private: False if the guarantee does not hold.
        not_private_because: why not.
    """

    stream: str
    title: str
    counts: str
    kind: str = ITEMS
    every: float
    slices: int
    keep: int
    delay: float
    guarantee: str
    epsilon: float
    delta: float
    relation: str
    share: float | None = None
    hierarchy: str | None = None
    levels: tuple[str, ...] = ()
    unit: str
    private: bool
    not_private_because: tuple[str, ...] = ()
    span: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """What everyone may see of a stream at one tick of the public clock.

    Guarantee: post-processing of released values; the same for every reader.

    Attributes:
        facts: what is said of the stream.
        number: number of the tick: slices since 1970 UTC.
        at: the tick, whose state is published.
        publish_at: the instant from which readers see it.
        next_at: the instant from which readers see the next one, if the service runs.
        windows: the windows, oldest first; the open one, if it is published, is the last. Of
            sliding windows they are the ends of slices, each with the counts of its block so far.
        listed: the public list of items; empty if items are found.
        finished: True if the stream has ended, and this is its last publication.
        alerts: counts above their thresholds; None for a stream without any.
    """

    facts: Facts
    number: int
    at: datetime
    publish_at: datetime
    next_at: datetime
    windows: tuple[PublishedWindow, ...]
    listed: tuple[Item, ...] = ()
    finished: bool = False
    alerts: PublishedAlerts | None = None

    def manifest(self) -> bytes:
        """Return everything but the releases as one line of JSON; the same bytes in every life."""
        facts = {name: getattr(self.facts, name) for name in Facts.__slots__}
        if self.facts.kind == ITEMS:
            del facts["kind"]  # which manifests of items have never said
        if self.facts.span is None:
            del facts["span"]
        windows = [one.described() for one in self.windows]
        content = {
            "version": _VERSION if self.facts.span is None else _SLIDING_VERSION,
            **facts,
            "number": self.number,
            "at": instant_written(self.at),
            "publish_at": instant_written(self.publish_at),
            "next_at": instant_written(self.next_at),
            "windows": windows,
            "listed": [item_written(item) for item in self.listed],
            "finished": self.finished,
        }
        if self.alerts is not None:
            content["alerts"] = self.alerts.described()
        return json.dumps(content, separators=(",", ":"), sort_keys=True).encode()

    @classmethod
    def from_manifest(cls, manifest: bytes, releases: Mapping[str, bytes]) -> Publication:
        """Return the publication of a manifest.

        Args:
            manifest: as :meth:`manifest` returns it.
            releases: the bytes of releases by their SHA-256 in hexadecimal digits.

        Raises:
            ReleaseFormatError: a damaged manifest, one of another version, or a release that is
                missing, damaged or another than the manifest names.
        """
        try:
            content = json.loads(manifest)
            if content["version"] not in (_VERSION, _SLIDING_VERSION):
                raise ReleaseFormatError(
                    f"publication: expected version {_VERSION} or {_SLIDING_VERSION}, got another; "
                    "upgrade lazysketch"
                )
            kind = content.setdefault("kind", ITEMS)
            if kind not in KINDS:
                raise ReleaseFormatError(
                    "publication: expected a kind of stream of this version, got another; "
                    "upgrade lazysketch"
                )
            content.setdefault("span", None)
            names = {name: content[name] for name in Facts.__slots__}
            for name in ("not_private_because", "levels"):
                names[name] = tuple(names[name])
            return cls(
                facts=Facts(**names),
                number=int(content["number"]),
                at=instant_read(content["at"]),
                publish_at=instant_read(content["publish_at"]),
                next_at=instant_read(content["next_at"]),
                windows=tuple(read_window(one, releases, kind) for one in content["windows"]),
                listed=tuple(map(item_read, content["listed"])),
                finished=bool(content["finished"]),
                alerts=PublishedAlerts.read(content),
            )
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, ReleaseFormatError):
                raise
            raise _damaged() from None

    @classmethod
    def of_stream(cls, name: str, manifest: bytes, releases: Mapping[str, bytes]) -> Publication:
        """Return the publication of a manifest of a certain stream.

        Args:
            name: the stream; all streams of a service are signed by one key.
            manifest: as :meth:`manifest` returns it.
            releases: the bytes of releases by their SHA-256 in hexadecimal digits.

        Raises:
            ReleaseFormatError: as :meth:`from_manifest`; a publication of another stream.
        """
        found = cls.from_manifest(manifest, releases)
        if found.facts.stream != name:
            raise ReleaseFormatError(
                "publication: expected one of its stream, got one of another stream"
            )
        return found

    def queries(self, level: int = -1) -> PublishedWindows:
        """Return the windows with their queries: tops, estimates, intervals and changes.

        Args:
            level: number of a level of the hierarchy; the finest by default.
        """
        return _Queries(self, level) if self.facts.span is None else self._slides(self.facts.span)

    def _slides(self, span: float) -> SlidesOfPublication:
        return SlidesOfPublication(
            tuple(one.window for one in self.windows),
            every=round(self.facts.every * _SECOND),
            span=round(span * _SECOND),
            listed=self.listed,
            reasons=self.facts.not_private_because,
        )

    def ended_after(self, at: datetime | None) -> tuple[Window, ...]:
        """Return the windows that have ended after an instant, the earliest first.

        Those that slide are all of them, one for the end of each slice.

        Args:
            at: the instant; None for all that are kept.
        """
        if self.facts.span is not None:
            return self._slides(self.facts.span).windows_after(at)
        ended = [one.window for one in self.windows if one.window.ended]
        return tuple(one for one in ended if at is None or cast("datetime", one.end) > at)

    def tree(self, *, share: float, last: int, include_open: bool) -> tuple[HierarchyNode, ...]:
        """Return what is heavy at any level of the hierarchy, and the names above it.

        Args:
            share: of the chosen windows, above 0 and at most 1.
            last: number of ended windows.
            include_open: True to include the published part of the open window.

        Raises:
            ArgumentValueError: a value outside its range, or a stream without levels.
        """
        name = self.facts.hierarchy
        if name is None or name not in HIERARCHIES:
            raise ArgumentValueError("stream: expected one with levels, got one without")
        windows = [one.window for one in self.windows]
        return hierarchy_of(
            HIERARCHIES[name](),
            [window for window in windows if window.ended],
            next((window for window in windows if not window.ended), None),
            share=share,
            last=last,
            include_open=include_open,
        )


@dataclass(frozen=True, slots=True)
class SignedPublication:
    """A manifest with its signature, as it is on the disk and on the wire.

    Attributes:
        manifest: the manifest, one line of JSON.
        signature: its Ed25519 signature, 64 bytes.
    """

    manifest: bytes
    signature: bytes

    @classmethod
    def of(cls, publication: Publication, key: SigningKey) -> SignedPublication:
        """Return a publication with its signature.

        Args:
            publication: what is published.
            key: the key of the service.
        """
        manifest = publication.manifest()
        return cls(manifest, key.sign(manifest))

    def to_bytes(self) -> bytes:
        """Return both as two lines."""
        return self.manifest + b"\n" + self.signature.hex().encode() + b"\n"

    @classmethod
    def from_bytes(cls, data: bytes) -> SignedPublication:
        """Return what two lines contain.

        Args:
            data: as :meth:`to_bytes` returns it.

        Raises:
            ReleaseFormatError: not two such lines.
        """
        lines = data.split(b"\n")
        try:
            manifest, signature, rest = lines
            if rest:
                raise ValueError
            return cls(manifest, bytes.fromhex(signature.decode("ascii")))
        except ValueError:
            raise ReleaseFormatError(
                "publication: expected a manifest and its signature, got damaged data"
            ) from None

    def check(self, public: bytes) -> None:
        """Raise unless the signature is that of a key.

        Args:
            public: public key of the service, 32 bytes.

        Raises:
            ReleaseFormatError: another signature.
        """
        check_signature(public, self.manifest, self.signature)

    @property
    def number(self) -> int:
        """Number of the tick whose state it has.

        Raises:
            ReleaseFormatError: a damaged manifest.
        """
        return self._read(lambda content: int(content["number"]))

    @property
    def stream(self) -> str:
        """Name of its stream.

        Raises:
            ReleaseFormatError: a damaged manifest.
        """
        return self._read(lambda content: str(content["stream"]))

    @property
    def publish_at(self) -> datetime:
        """The instant from which readers see it.

        Raises:
            ReleaseFormatError: a damaged manifest.
        """
        return self._read(lambda content: instant_read(content["publish_at"]))

    @property
    def tick(self) -> Tick:
        """The public clock of its stream.

        Raises:
            ReleaseFormatError: a damaged manifest.
        """
        return self._read(lambda content: Tick.published(content["every"], int(content["slices"])))

    def alerts(self) -> tuple[PublishedAlerts | None, datetime]:
        """Return its alerts, None without any, and the tick whose state it has.

        Raises:
            ReleaseFormatError: a damaged manifest.
        """
        return self._read(lambda it: (PublishedAlerts.read(it), instant_read(it["at"])))

    def windows(self) -> list[tuple[int, list[str]]]:
        """Return the number of each window, and the SHA-256 of its releases.

        Raises:
            ReleaseFormatError: a damaged manifest.
        """
        found = self._read(
            lambda it: [
                (int(one["number"]), list(map(str, one["releases"]))) for one in it["windows"]
            ]
        )
        if not all(_DIGEST.fullmatch(digest) for _, digests in found for digest in digests):
            raise _damaged()
        return found

    def releases(self) -> tuple[str, ...]:
        """Return the SHA-256 of each release that the manifest names.

        Raises:
            ReleaseFormatError: a damaged manifest.
        """
        return tuple(digest for _, digests in self.windows() for digest in digests)

    def _read(self, read: Callable[[dict[str, Any]], _Found]) -> _Found:
        """Return what is read of the manifest."""
        try:
            return read(json.loads(self.manifest))
        except (ArithmeticError, KeyError, TypeError, ValueError):
            raise _damaged() from None


class _Queries(PublishedWindows):
    """The queries of the windows of one publication, which never change."""

    def __init__(self, publication: Publication, level: int) -> None:
        windows = [one.window.levels[level] for one in publication.windows]
        self._ended = tuple(window for window in windows if window.ended)
        last = windows[-1] if windows else None
        self._now = None if last is None or last.ended else last
        self._listed = publication.listed
        self._reasons = publication.facts.not_private_because

    def _kept(self) -> tuple[Window, ...]:
        return self._ended

    def _open_window(self) -> Window | None:
        return self._now


def _damaged() -> ReleaseFormatError:
    return ReleaseFormatError("publication: expected a manifest of this version, got damaged data")
