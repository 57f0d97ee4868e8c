"""tools/module_graph.py finds planted cycles among Rust modules, and none in this repository."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from tests.locations import ROOT
from tools import module_graph
from tools.module_graph import circle, folders_of, graph_of


def crate(folder: Path, **files: str) -> Path:
    """Write the source files of a crate; the keyword ``a__b`` is the file src/a/b.rs."""
    for name, code in files.items():
        path = folder / "src" / f"{name.replace('__', '/')}.rs"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code, encoding="utf-8")
    return folder


def test_this_repository_has_no_cycle(capsys: pytest.CaptureFixture[str]) -> None:
    assert module_graph.main() == 0
    out, err = capsys.readouterr()
    assert not err
    for folder in (
        "rust/binding",
        "rust/capture",
        "rust/core",
        "rust/store",
        "rust/text",
        "benches/rust",
    ):
        assert folder in out.splitlines(), folder
    assert "  sketch -> " in out


def test_every_source_file_is_in_the_graph_except_tests() -> None:
    folder = ROOT / "rust/core/src"
    found = {"::".join(name) for name in graph_of(folder.parent)}
    code = {path: path.read_text(encoding="utf-8") for path in folder.rglob("*.rs")}
    declared = re.findall(r"#\[cfg\(test\)\]\s+mod (\w+);", "".join(code.values()))
    for path in code:
        parts = path.relative_to(folder).with_suffix("").parts
        name = "::".join(parts[:-1] if parts[-1] in {"lib", "mod"} else parts)
        assert (name in found) != (parts[-1] in declared), name


def test_a_cycle_of_files_is_found(tmp_path: Path) -> None:
    graph = graph_of(
        crate(
            tmp_path,
            lib="mod first; mod second; mod third;",
            first="use crate::second::B; pub struct A;",
            second="use super::third; pub struct B;",
            third="fn make() { crate::first::A; }",
        )
    )
    found = circle(graph)
    assert found[0] == found[-1]
    assert set(found) == {("first",), ("second",), ("third",)}
    assert all(after in graph[before] for before, after in pairwise(found))


def test_a_cycle_of_a_module_and_its_parent_is_found(tmp_path: Path) -> None:
    graph = graph_of(
        crate(
            tmp_path,
            lib="mod folder;",
            folder__mod="mod child; pub use child::Inner; pub struct Outer;",
            folder__child="use super::Outer; pub struct Inner(Outer);",
        )
    )
    assert set(circle(graph)) == {("folder",), ("folder", "child")}


def test_a_cycle_of_folders_without_one_of_files_is_found(tmp_path: Path) -> None:
    graph = graph_of(
        crate(
            tmp_path,
            lib="mod left; mod right;",
            left__mod="pub mod low; pub mod high;",
            left__low="pub struct Low;",
            left__high="use crate::right::middle::Middle;",
            right__mod="pub mod middle;",
            right__middle="use crate::left::low::Low; pub struct Middle;",
        )
    )
    assert circle(graph) == []
    assert set(circle(folders_of(graph))) == {("left",), ("right",)}


@pytest.mark.parametrize(
    "code",
    [
        "// use crate::first::A;",
        "/* use crate::first::A; */",
        'const TEXT: &str = "crate::first::A";',
        'const TEXT: &str = r#"crate::first::A"#;',
        "#[cfg(test)] mod tests { fn test() { use crate::first::A; } }",
        "#[cfg(test)] use crate::first::A;",
        "pub(in crate::first) struct B;",
        "use other::crate_first::A;",
    ],
)
def test_text_that_is_not_a_use_does_not_count(tmp_path: Path, code: str) -> None:
    files = {"lib": "mod first; mod second;", "first": "use crate::second::B; pub struct A;"}
    graph = graph_of(crate(tmp_path, **files, second=f"{code}\npub struct B;"))
    assert graph["second",] == set()
    assert circle(graph) == []


@pytest.mark.parametrize(
    "code",
    [
        "use crate::first::A;",
        "pub use crate::first::A as Other;",
        "use crate::{third, first::{A, B}};",
        "use super::{\n    third::C,\n    first,\n};",
        "fn make() -> super::first::A { todo!() }",
    ],
)
def test_each_form_of_use_counts(tmp_path: Path, code: str) -> None:
    files = {"lib": "mod first; mod second; mod third;", "first": "use crate::second::B;"}
    graph = graph_of(crate(tmp_path, **files, second=code, third="pub struct C;"))
    assert ("first",) in graph["second",]
    assert set(circle(graph)) == {("first",), ("second",)}


def test_a_cycle_is_an_error_of_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "Cargo.toml").write_text('members = ["acyclic", "cyclic"]\n', encoding="utf-8")
    crate(tmp_path / "acyclic", lib="mod first;", first="pub struct A;")
    cyclic = {"first": "use crate::second::B;", "second": "use crate::first::A;"}
    crate(tmp_path / "cyclic", lib="mod first; mod second;", **cyclic)
    monkeypatch.setattr(module_graph, "ROOT", tmp_path)
    assert module_graph.main() == 1
    err = capsys.readouterr().err
    assert err.startswith("cyclic: ")
    assert "first -> second -> first" in err or "second -> first -> second" in err
    assert "acyclic" not in err
