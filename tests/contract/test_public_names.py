"""The public interface: exactly these names, each typed and documented in the same order."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import pytest

import lazysketch
from lazysketch import errors

SKETCHES = {
    "CountMin",
    "CountSketch",
    "LazyCountMin",
    "LazyCountSketch",
    "PunctualCountMin",
    "PunctualCountSketch",
}
# A change of this set changes the interface and needs a line in CHANGELOG.md.
EXPORTED = SKETCHES | {
    "Batch",
    "Bins",
    "Change",
    "Changes",
    "Composition",
    "ContinualCounters",
    "DiscoverySpec",
    "DistinctCount",
    "DistinctPlan",
    "DistinctRelease",
    "Distribution",
    "ClipBounds",
    "DistributionPlan",
    "SumsPlan",
    "RangesPlan",
    "DistributionRelease",
    "DistinctWindows",
    "DistributionWindows",
    "RangesWindows",
    "SumsWindows",
    "ReleasedWindow",
    "Alert",
    "AlertRule",
    "Alerts",
    "FiredAlerts",
    "Geometric",
    "HeavyHitter",
    "HeavyHitters",
    "HeavyHittersSpec",
    "HeavyItems",
    "HeavyLevel",
    "HierarchicalHeavyHitters",
    "HierarchicalWindows",
    "HierarchyNode",
    "HierarchyNodes",
    "Interval",
    "Intervals",
    "ItemSum",
    "Key",
    "JointPrivacy",
    "LazySketchError",
    "Ledger",
    "Levels",
    "LevelsPrivacy",
    "Mechanism",
    "NO_ANCHOR",
    "Moment",
    "Part",
    "PeriodicSaves",
    "PersonBound",
    "Pipeline",
    "Plan",
    "Prediction",
    "Privacy",
    "PrivacyShare",
    "Punctual",
    "Ranges",
    "RangesRelease",
    "Release",
    "ReleasePart",
    "ReleasesOnly",
    "PartialCounts",
    "RoundRobin",
    "Single",
    "Sliding",
    "Store",
    "Sums",
    "SumsRelease",
    "SumsSpec",
    "TableSpec",
    "Window",
    "Windows",
    "WindowsOfLevel",
    "__version__",
    "compose",
    "dns_names",
    "ipv4_prefixes",
    "ipv6_prefixes",
    "url_paths",
    "open_store",
    "plan",
    "plan_distinct",
    "clip_bounds",
    "plan_distribution",
    "plan_sums",
    "plan_ranges",
}
CONSTRUCTED = {
    "ContinualCounters",
    "HeavyHitters",
    "HierarchicalHeavyHitters",
    "DistinctWindows",
    "DistributionWindows",
    "RangesWindows",
    "SumsWindows",
    "HierarchicalWindows",
    "Sliding",
    "Windows",
}
# The order of the sections of a docstring; sections that do not apply are omitted.
SECTIONS = ["Guarantee", "Args", "Returns", "Raises", "Source", "Example"]
SYNONYMS = {
    "Guarantees": "Guarantee",
    "Formal guarantee": "Guarantee",
    "Privacy": "Guarantee",
    "Arguments": "Args",
    "Attributes": "Args",
    "Sources": "Source",
    "Examples": "Example",
}
MEMBERS = {"update", "update_many", "estimate", "estimate_many", "release", "depth", "width"} | {
    "step",
    "hash_seed",
    "kind",
}
PRIVATE_MEMBERS = {"tick", "horizon", "privacy", "sketch_id", "private", "not_private_because"} | {
    "sigma",
    "mechanism",
    "schedule",
    "close",
}


def sections(text: str) -> list[str]:
    """The section headings of a docstring, in order."""
    headings = re.findall(r"^ *([A-Z][a-z]+(?: [a-z]+)?):(?: |$)", text, re.MULTILINE)
    named = [SYNONYMS.get(heading, heading) for heading in headings]
    return [heading for heading in named if heading in SECTIONS]


def public_classes() -> list[str]:
    return sorted(name for name in lazysketch.__all__ if inspect.isclass(getattr(lazysketch, name)))


def public_members(owner: type) -> list[str]:
    """The public members of a class, including inherited native ones, without those of object."""
    return sorted(
        name for name in dir(owner) if not name.startswith("_") and not hasattr(BaseException, name)
    )


def test_all_is_the_interface() -> None:
    assert set(lazysketch.__all__) == EXPORTED
    assert len(lazysketch.__all__) == len(EXPORTED)


def test_every_export_exists_and_is_listed_by_dir() -> None:
    for name in lazysketch.__all__:
        assert hasattr(lazysketch, name), name
    assert set(lazysketch.__all__) <= set(dir(lazysketch))


@pytest.mark.parametrize("name", sorted(SKETCHES))
def test_sketch_has_the_members_of_its_kind(name: str) -> None:
    owner = getattr(lazysketch, name)
    private = name.startswith(("Lazy", "Punctual"))
    for member in MEMBERS | (PRIVATE_MEMBERS if private else {"table", "merge"}):
        assert hasattr(owner, member), f"{name}.{member}"
    if private:
        assert not hasattr(owner, "table"), f"{name}.table would show exact counts"


@pytest.mark.parametrize("name", public_classes())
def test_class_docstring_has_its_parts_in_order(name: str) -> None:
    text = inspect.getdoc(getattr(lazysketch, name)) or ""
    summary = text.split("\n\n")[0]
    assert summary.endswith("."), f"{name}: the docstring has to begin with a sentence"
    found = sections(text)
    assert found == sorted(found, key=SECTIONS.index), f"{name}: {found}"
    if name in SKETCHES | CONSTRUCTED:
        assert {"Guarantee", "Args", "Raises", "Example"} <= set(found), f"{name}: {found}"
        assert ">>>" in text, f"{name}: the example has to be executable"


@pytest.mark.parametrize("name", public_classes())
def test_members_are_documented(name: str) -> None:
    owner = getattr(lazysketch, name)
    fields = getattr(owner, "__dataclass_fields__", {})  # documented under Args or Attributes
    for member in sorted(set(public_members(owner)) - set(fields)):
        text = inspect.getdoc(getattr(owner, member)) or ""
        assert text.split("\n\n")[0].rstrip().endswith((".", ":")), f"{name}.{member}"
        found = sections(text)
        assert found == sorted(found, key=SECTIONS.index), f"{name}.{member}: {found}"


@pytest.mark.parametrize("name", sorted(SKETCHES | {"ContinualCounters", "HeavyHitters"}))
def test_constructors_take_keywords_only(name: str) -> None:
    with pytest.raises(TypeError):
        getattr(lazysketch, name)(3, 1000)


def test_errors_are_one_tree() -> None:
    for name in errors.__all__:
        raised = getattr(errors, name)
        assert issubclass(raised, errors.LazySketchError), name
        assert (raised.__doc__ or "").strip().endswith("."), name


def package_files() -> list[Path]:
    folder = Path(lazysketch.__file__).parent
    return sorted(folder.rglob("*.py")) + sorted(folder.rglob("*.pyi"))


@pytest.mark.parametrize("path", package_files(), ids=lambda path: path.name)
def test_every_function_is_typed(path: Path) -> None:
    """Checked in the installed package, so that a stub missing from the wheel is detected too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        where = f"{path.name}:{node.lineno} {node.name}"
        taken = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        taken += [one for one in (node.args.vararg, node.args.kwarg) if one]
        bare = [one.arg for one in taken if one.annotation is None]
        assert set(bare) <= {"self", "cls"}, f"{where}: {bare}"
        assert node.returns is not None, where


def test_types_are_shipped() -> None:
    folder = Path(lazysketch.__file__).parent
    assert (folder / "py.typed").exists()
    assert (folder / "_native.pyi").exists()


def test_each_name_is_loaded_from_where_its_type_is() -> None:
    """What type checkers read and what the import does are two lists, which must be the same."""
    tree = ast.parse(Path(lazysketch.__file__).read_text(encoding="utf-8"))
    checked = next(node for node in tree.body if isinstance(node, ast.If))
    typed = {
        name.name: node.module
        for node in checked.body
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    }
    assert typed == lazysketch._MODULES
    assert list(typed.keys() - set(lazysketch.__all__)) == []
    for name in lazysketch.__all__:
        assert getattr(lazysketch, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        lazysketch.Nothing  # noqa: B018
    assert set(lazysketch.__all__) <= set(dir(lazysketch))
