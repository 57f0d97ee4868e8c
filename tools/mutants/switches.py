"""All mutants of a Rust file in one text: every mutated function chooses its body when it runs.

A build of the core costs more than a run of its tests, so all mutants are compiled together: the
body of a function becomes ``match active() { 17 => {body with mutant 17} ... _ => {body} }``, and
the environment says which mutant is active. Where the type of the result is opaque (``impl``), so
that two bodies differ in type, each is put into a box, if it is an iterator that threads may share.
The others, constants and ``const`` functions are built one by one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

__all__ = ["ACTIVE", "REACHED", "SWITCH", "Body", "Change", "Span", "change_of", "switched"]

ACTIVE: Final = "ACTIVE_MUTANT"
REACHED: Final = "REACHED_FUNCTIONS"
SWITCH: Final = f"""
pub(crate) mod mutant_switch {{
    use std::io::Write;
    use std::sync::atomic::{{AtomicBool, AtomicU32, Ordering}};
    const UNKNOWN: u32 = u32::MAX;
    const WRITES: u32 = u32::MAX - 1;
    static ACTIVE: AtomicU32 = AtomicU32::new(UNKNOWN);
    static WRITTEN: [AtomicBool; 1 << 16] = [const {{ AtomicBool::new(false) }}; 1 << 16];
    pub(crate) fn boxed<'a, T>(
        of: impl Iterator<Item = T> + Send + 'a,
    ) -> Box<dyn Iterator<Item = T> + Send + 'a> {{
        Box::new(of)
    }}
    #[inline]
    pub(crate) fn active(function: usize) -> u32 {{
        match ACTIVE.load(Ordering::Relaxed) {{
            UNKNOWN | WRITES => first(function),
            known => known,
        }}
    }}
    #[cold]
    fn first(function: usize) -> u32 {{
        if ACTIVE.load(Ordering::Relaxed) == WRITES && WRITTEN[function].load(Ordering::Relaxed) {{
            return 0;
        }}
        let Some(path) = std::env::var_os("{REACHED}") else {{
            let named = std::env::var("{ACTIVE}").map_or(0, |text| text.parse().unwrap());
            ACTIVE.store(named, Ordering::Relaxed);
            return named;
        }};
        ACTIVE.store(WRITES, Ordering::Relaxed);
        if !WRITTEN[function].swap(true, Ordering::Relaxed) {{
            let file = std::fs::OpenOptions::new().append(true).open(path);
            file.unwrap().write_all(format!("{{function}}\\n").as_bytes()).unwrap();
        }}
        0
    }}
}}
"""
# What an opaque type may borrow.
_UNBOUND: Final = re.compile(r"\s*\+\s*(?:use<[^>]*>|'\w+)")
_CONSTANT: Final = re.compile(r"\s*(?:pub\s*(?:\([^)]*\)\s*)?)?const\s+(?:unsafe\s+)?fn\b")


@dataclass(frozen=True)
class Span:
    """A part of a text, by offsets: ``end`` is the first after it."""

    start: int
    end: int

    def contains(self, other: Span) -> bool:
        """Return whether the other part lies within this one."""
        return self.start <= other.start and other.end <= self.end


@dataclass(frozen=True)
class Change:
    """What one mutant does to its file.

    Attributes:
        span: the text that it replaces.
        replacement: by what.
        function: the function around it; ``None`` for a constant, or a function that the compiler
            runs.
        item: type of what an opaque iterator yields that the function returns; empty if it
            returns something else of an opaque type, ``None`` if its type is an ordinary one.
    """

    span: Span
    replacement: str
    function: Span | None
    item: str | None = None

    @property
    def fits(self) -> bool:
        """Whether it can be compiled together with others."""
        return self.function is not None and self.item != ""


def change_of(entry: Mapping[str, Any], text: str) -> Change:
    """Return what a mutant does.

    Args:
        entry: from ``cargo mutants --list --json``.
        text: its file.
    """
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def span(lines: Mapping[str, Mapping[str, int]]) -> Span:
        return Span(
            *(
                starts[lines[edge]["line"] - 1] + lines[edge]["column"] - 1
                for edge in ("start", "end")
            )
        )

    function = entry["function"]
    around = span(function["span"]) if function else None
    if around is not None and _CONSTANT.match(text, _after_signature(text, around)):
        around = None
    return Change(
        span=span(entry["span"]),
        replacement=entry["replacement"],
        function=around,
        item=_item(function["return_type"]) if function else None,
    )


@dataclass(frozen=True)
class Body:
    """Where a mutant is in the text with all of them.

    Attributes:
        first: first line of its body.
        last: last line of its body.
        function: the number under which its function is written down when it runs.
    """

    first: int
    last: int
    function: int


def switched(text: str, changes: Mapping[int, Change]) -> tuple[str, dict[int, Body]]:
    """Return the text with all its mutants.

    Args:
        text: a Rust file.
        changes: those of its functions, by the number that makes each active, from 1.

    Returns:
        The text, and the body of each number.
    """
    outermost: list[Span] = []
    for change in sorted(changes.values(), key=_function):
        if not any(other.contains(_function_span(change)) for other in outermost):
            outermost.append(_function_span(change))
    pieces: list[str] = []
    bodies: dict[int, Body] = {}
    done = 0
    for function in outermost:
        body = Span(text.index("{", _after_signature(text, function)), function.end)
        ours = {number: change for number, change in changes.items() if body.contains(change.span)}
        pieces.append(text[done : body.start])
        pieces.append(f"{{ match crate::mutant_switch::active({min(ours)}) {{\n")
        item = next((it.item for it in ours.values() if it.function == function), None)
        for number, change in ours.items():
            before, after = text[body.start : change.span.start], text[change.span.end : body.end]
            whole = _value(f"{before}{change.replacement} {after}", item)
            mutated = f"{number}u32 => {whole}\n"
            first = sum(piece.count("\n") for piece in pieces) + 1
            bodies[number] = Body(first, first + mutated.count("\n") - 1, min(ours))
            pieces.append(mutated)
        pieces.append(f"_ => {_value(text[body.start : body.end], item)}\n}} }}")
        done = body.end
    pieces.append(text[done:])
    # Bodies within bodies: each level would multiply the code by its number of mutants.
    return "".join(pieces).replace("#[inline(always)]", "#[inline(never)]"), bodies


def _item(returned: str) -> str | None:
    """Return the type of what ``-> impl Iterator<Item = ...>`` yields.

    It is empty for what no box holds, and ``None`` if the type is an ordinary one.
    """
    if not returned.removeprefix("->").strip().startswith("impl "):
        return None
    iterator = re.fullmatch(
        r".*?\bimpl Iterator<Item =\s*(.*)>(?:\s*\+.*)?", _UNBOUND.sub("", returned)
    )
    return iterator[1] if iterator and iterator[1] != "Self" else ""


def _value(body: str, item: str | None) -> str:
    return body if item is None else f"crate::mutant_switch::boxed::<{item}>({body}),"


def _function_span(change: Change) -> Span:
    if change.function is None:
        raise ValueError("change: expected one within a function, got one of a constant")
    return change.function


def _function(change: Change) -> tuple[int, int]:
    span = _function_span(change)
    return (span.start, -span.end)


def _after_signature(text: str, function: Span) -> int:
    """Return an offset from which the next brace opens the body: after comments and attributes."""
    at = function.start
    while True:
        line = text[at : text.index("\n", at) + 1 or len(text)]
        if not line.strip().startswith(("//", "#[")):
            return at
        at += len(line)
