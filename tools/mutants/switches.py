"""All mutants of a Rust file in one text: every mutated function chooses its body when it runs.

A build of the core costs more than a run of its tests, so all mutants are compiled together: the
body of a function becomes ``match active() { 17 => {body with mutant 17} ... _ => {body} }``, and
the environment says which mutant is active. This fails in a constant, and where the type of the
result is opaque (``impl``), so that two bodies differ in type; these are built one by one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

__all__ = ["ACTIVE", "SWITCH", "Change", "Span", "change_of", "switched"]

ACTIVE: Final = "ACTIVE_MUTANT"
SWITCH: Final = f"""
pub(crate) mod mutant_switch {{
    use std::sync::atomic::{{AtomicU32, Ordering}};
    static ACTIVE: AtomicU32 = AtomicU32::new(u32::MAX);
    #[inline]
    pub(crate) fn active() -> u32 {{
        match ACTIVE.load(Ordering::Relaxed) {{
            u32::MAX => read(),
            known => known,
        }}
    }}
    #[cold]
    fn read() -> u32 {{
        let named = std::env::var("{ACTIVE}").map_or(0, |text| text.parse().unwrap());
        ACTIVE.store(named, Ordering::Relaxed);
        named
    }}
}}
"""


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
        function: the function around it; ``None`` for a constant.
        opaque: the function returns ``impl`` something, so its bodies differ in type.
    """

    span: Span
    replacement: str
    function: Span | None
    opaque: bool

    @property
    def fits(self) -> bool:
        """Whether it can be compiled together with others."""
        return self.function is not None and not self.opaque


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
    return Change(
        span=span(entry["span"]),
        replacement=entry["replacement"],
        function=span(function["span"]) if function else None,
        opaque=bool(function) and "impl " in function["return_type"],
    )


def switched(text: str, changes: Mapping[int, Change]) -> tuple[str, dict[int, tuple[int, int]]]:
    """Return the text with all its mutants.

    Args:
        text: a Rust file.
        changes: those of its functions, by the number that makes each active, from 1.

    Returns:
        The text, and for each number the first and the last line of its body.
    """
    outermost: list[Span] = []
    for change in sorted(changes.values(), key=_function):
        if not any(other.contains(_function_span(change)) for other in outermost):
            outermost.append(_function_span(change))
    pieces: list[str] = []
    lines: dict[int, tuple[int, int]] = {}
    done = 0
    for function in outermost:
        body = Span(text.index("{", _after_signature(text, function)), function.end)
        ours = {number: change for number, change in changes.items() if body.contains(change.span)}
        pieces.append(text[done : body.start])
        pieces.append("{ match crate::mutant_switch::active() {\n")
        for number, change in ours.items():
            before, after = text[body.start : change.span.start], text[change.span.end : body.end]
            mutated = f"{number}u32 => {before}{change.replacement} {after}\n"
            first = sum(piece.count("\n") for piece in pieces) + 1
            lines[number] = (first, first + mutated.count("\n") - 1)
            pieces.append(mutated)
        pieces.append(f"_ => {text[body.start : body.end]}\n}} }}")
        done = body.end
    pieces.append(text[done:])
    # Bodies within bodies: each level would multiply the code by its number of mutants.
    return "".join(pieces).replace("#[inline(always)]", "#[inline(never)]"), lines


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
