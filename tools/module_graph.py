"""The graph of modules of each Rust crate of the workspace; an error if it has a cycle.

    python tools/module_graph.py

A module uses another if a path in its code (``use crate::key::MasterKey``, ``super::path::Path``,
``kernels::push``) leads into it. A ``mod x;`` alone is not a use; a re-export is. Comments, strings
and code that is compiled for tests only are ignored. Cycles are searched among files first, then
among the folders and files at the top of a crate. Standard library only; takes a tenth of a second.
"""

from __future__ import annotations

import re
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MEMBERS = re.compile(r"^members = \[(.*?)\]", re.MULTILINE | re.DOTALL)
NOT_CODE = re.compile(  # including the path in pub(in ...), which is not a use
    r"""pub\(in [^)]*\)|//[^\n]*|/\*.*?\*/|r(#*)".*?"\1|"(?:\\.|[^"\\])*"|'(?:\\.[^']*|[^'\\])'""",
    re.DOTALL,
)
DECLARATION = re.compile(r"\bmod\s+(\w+)\s*;")
TEST = "#[cfg(test)]"

Module = tuple[str, ...]
Graph = dict[Module, set[Module]]


def without_tests(code: str) -> str:
    """Remove each item that is compiled for tests only."""
    while (start := code.find(TEST)) >= 0:
        end = min(at for at in (code.find(mark, start) for mark in "{;") if at >= 0)
        depth = int(code[end] == "{")
        while depth:
            end += 1
            depth += {"{": 1, "}": -1}.get(code[end], 0)
        code = code[:start] + code[end + 1 :]
    return code


def modules_of(crate: Path) -> dict[Module, str]:
    """Return the code of each module, from the root of a crate downward."""
    found: dict[Module, str] = {}
    waiting: list[tuple[Module, Path]] = [((), crate / "src/lib.rs")]
    while waiting:
        name, path = waiting.pop()
        code = without_tests(NOT_CODE.sub(" ", path.read_text(encoding="utf-8")))
        found[name] = code
        inside = path.parent if path.name in {"lib.rs", "mod.rs"} else path.with_suffix("")
        for child in DECLARATION.findall(code):
            file = inside / f"{child}.rs"
            waiting.append(((*name, child), file if file.exists() else inside / child / "mod.rs"))
    return found


def leaves(tree: str) -> list[list[str]]:
    """Return all paths of a use tree, ``a::{b, c::d}`` as ``a::b`` and ``a::c::d``."""
    head, brace, rest = tree.partition("{")
    start = [part for part in head.split("::") if part]
    if not brace:
        return [start]
    parts, depth, part = [], 0, ""
    for letter in rest[: rest.rindex("}")]:
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if letter == "," and not depth:
            parts.append(part)
            part = ""
        else:
            part += letter
    return [start + path for part in [*parts, part] if part for path in leaves(part)]


def targets(name: Module, code: str, modules: dict[Module, str]) -> set[Module]:
    """Return the modules that the paths in a module's code lead into."""
    children = "|".join(DECLARATION.findall(code))
    begin = rf"crate|super|self{'|' + children if children else ''}"
    tree = r"\{(?:[^{}]|\{[^{}]*\})*\}"
    found = set()
    for use in re.finditer(rf"(?<![\w:])(?:{begin})(?:::\w+)*::(?:{tree}|\w+)", code):
        for path in leaves(re.sub(r"\s+(as\s+\w+)?", "", use[0])):
            base, rest = list(name), path
            while rest and rest[0] in {"crate", "super", "self"}:
                word, *rest = rest
                base = {"crate": [], "super": base[:-1], "self": base}[word]
            full = tuple(base + rest)
            while full not in modules:
                full = full[:-1]
            found.add(full)
    return found - {name}


def graph_of(crate: Path) -> Graph:
    """Return the modules that each module of a crate uses."""
    modules = modules_of(crate)
    return {name: targets(name, code, modules) for name, code in sorted(modules.items())}


def folders_of(graph: Graph) -> Graph:
    """Return the graph of the folders and files at the top of a crate."""
    merged: Graph = {}
    for name, used in graph.items():
        merged.setdefault(name[:1], set()).update(other[:1] for other in used)
    return {name: used - {name} for name, used in merged.items()}


def shown(name: Module) -> str:
    """Return a module's path as Rust writes it."""
    return "::".join(name) or "(root)"


def circle(graph: Graph) -> list[Module]:
    """Return the modules of a cycle, with the first repeated at the end, or an empty list."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))
    return []


def main() -> int:
    """Print all graphs; return 1 if there is a cycle."""
    circles = []
    members = MEMBERS.search((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    for crate in re.findall(r'"(.+?)"', members[1] if members else ""):
        graph = graph_of(ROOT / crate)
        print(crate)
        for name, used in graph.items():
            print(f"  {shown(name)} -> {', '.join(shown(other) for other in sorted(used))}")
        found = circle(graph) or circle(folders_of(graph))
        if found:
            circles.append(f"{crate}: circle: {' -> '.join(map(shown, found))}")
    print(*circles, sep="\n", file=sys.stderr, end="\n" if circles else "")
    return int(bool(circles))


if __name__ == "__main__":
    sys.exit(main())
