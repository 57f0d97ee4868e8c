"""Every shipped table in exact integers, by three implementations that share no code.

The library computes the facts of a table when it loads one, tools/tree_tables before it packs one,
and tests/oracle/tree.py in these tests. Generation needs scipy and is skipped without it.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from tests.oracle.tree import Tree
from tools.tree_tables.__main__ import main
from tools.tree_tables.check import DENSE, Facts, TableError, check, dense_agrees
from tools.tree_tables.layout import SHIPPED, Rows, pack, read, unpack, write
from tools.tree_tables.optimise import haar_decoder, objective, optimise, quantise
from tools.tree_tables.strategy import Geometry, inverse

from lazysketch import Mechanism

FILES = sorted(SHIPPED.glob("*.i16"))
DEPTHS = {"tree": [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14], "tree-log": [10, 12]}

every_table = pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)


def mechanism_of(file: Path, k: int) -> Mechanism:
    return Mechanism("tree-log" if file.stem.endswith("_log") else "tree", leaves=2**k)


def table(name: str) -> list[np.ndarray]:
    return unpack((SHIPPED / f"{name}.i16").read_bytes())


def test_the_tables_are_those_of_the_library() -> None:
    expected = {f"tree_k{k}" for k in DEPTHS["tree"]}
    expected |= {f"tree_k{k}_log" for k in DEPTHS["tree-log"]}
    assert {file.stem for file in FILES} == expected


@every_table
def test_facts_agree_three_ways(file: Path) -> None:
    oracle, facts = Tree.from_bytes(file.read_bytes()), check(read(file))
    squares, counts = oracle.changes()
    assert (facts.sensitivity2, facts.nodes_per_leaf) == (max(squares), max(counts))
    library = mechanism_of(file, facts.k)
    assert library.sensitivity2 == facts.sensitivity2
    assert library.nodes_per_leaf == facts.nodes_per_leaf
    assert library.nodes == oracle.n == 2**facts.k
    assert all(row[p] != 0 for p, row in oracle.rows.items())
    found = library.variances(np.arange(1, oracle.n + 1))
    assert np.allclose(found, facts.variances, rtol=1e-12, atol=0.0)


@every_table
def test_no_leaf_is_far_below_the_largest_sensitivity_and_numbers_fit(file: Path) -> None:
    """Rounding kept the steps close; every usable sigma fits below 2^126."""
    facts = check(read(file))
    squares, _ = Tree.from_bytes(file.read_bytes()).changes()
    assert min(squares) > 0.95 * facts.sensitivity2
    assert abs(facts.sensitivity2 / 2**16 - 1) < 0.01
    assert facts.largest_denominator < 2**104
    assert facts.largest_sigma > 5e6
    library = mechanism_of(file, facts.k)
    # The library reserves one more bit, and draws have their own limits.
    assert library.fits(min(0.49 * facts.largest_sigma, 1e12))
    assert not library.fits(1.01 * facts.largest_sigma)


@pytest.mark.parametrize(
    "file", [f for f in FILES if f.stat().st_size < 25_000], ids=lambda f: f.stem
)
def test_dense_linear_algebra_agrees(file: Path) -> None:
    facts = check(rows := read(file))
    assert facts.k <= DENSE
    assert dense_agrees(rows, facts)


def test_variances_are_as_published() -> None:
    """Max and mean at sensitivity 1, as in the notes on the tables."""
    for name, largest, mean in [
        ("tree_k6", 4.65, 4.60),
        ("tree_k8", 6.84, 6.72),
        ("tree_k10", 9.48, 9.32),
        ("tree_k12", 12.60, 12.38),
    ]:
        facts = check(table(name))
        assert facts.largest_variance == pytest.approx(largest, abs=0.005)
        assert facts.mean_variance == pytest.approx(mean, abs=0.005)


@every_table
def test_packing_is_a_round_trip(file: Path, tmp_path: Path) -> None:
    data = file.read_bytes()
    rows = unpack(data)
    assert pack(rows) == data
    write(tmp_path / "rows.npz", rows)
    assert pack(read(tmp_path / "rows.npz")) == data
    with pytest.raises(ValueError, match="entries"):
        unpack(data[:-2])


# Planted errors.


@pytest.mark.parametrize("depth", range(6))
def test_a_wrong_entry_is_caught(depth: int) -> None:
    """The facts change, but all implementations still agree on them."""
    right = check(table("tree_k5"))
    for change in (-40, 40):
        rows = table("tree_k5")
        rows[depth] = rows[depth].copy()
        rows[depth][-1, 0] += change
        wrong = check(rows)
        assert wrong.sensitivity2 != right.sensitivity2
        squares, counts = Tree.from_bytes(pack(rows)).changes()
        assert (wrong.sensitivity2, wrong.nodes_per_leaf) == (max(squares), max(counts))
        assert dense_agrees(rows, wrong)
        assert not dense_agrees(rows, right)


@pytest.mark.parametrize("wrong", [-1, 1])
def test_a_wrong_sensitivity_is_caught(wrong: int) -> None:
    rows = table("tree_k6")
    facts = check(rows)
    planted = dataclasses.replace(facts, sensitivity2=facts.sensitivity2 + wrong)
    assert dense_agrees(rows, facts)
    assert not dense_agrees(rows, planted)
    squares, _ = Tree.from_bytes(pack(rows)).changes()
    assert max(squares) != planted.sensitivity2


def test_suffix_sums_in_the_order_of_the_path_are_a_wrong_sensitivity() -> None:
    """A likely mistake: ancestors ordered by depth are not in the order of time."""
    rows = table("tree_k4")
    by_depth = max(int(np.square(np.cumsum(row[::-1])).max()) for array in rows for row in array)
    assert by_depth != check(rows).sensitivity2
    assert not dense_agrees(rows, dataclasses.replace(check(rows), sensitivity2=by_depth))


def test_tables_that_cannot_serve_are_refused(tmp_path: Path) -> None:
    singular = table("tree_k3")
    singular[2] = singular[2].copy()
    singular[2][0, -1] = 0
    with pytest.raises(TableError, match="diagonal"):
        check(singular)
    with pytest.raises(TableError, match="integer"):
        check([array.astype(float) for array in table("tree_k3")])
    with pytest.raises(TableError, match="bits"):
        check([1000 * array for array in table("tree_k14")])
    with pytest.raises(ValueError, match="16 bits"):
        pack([1000 * array for array in table("tree_k3")])
    write(tmp_path / "bad.npz", singular)
    assert main(["check", str(tmp_path / "bad.npz")]) == 1


def test_commands_check_and_pack(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", *(str(file) for file in FILES[:4])]) == 0
    assert "variance max=9.4802 mean=9.3203" in capsys.readouterr().out
    rows: Rows = table("tree_k4")
    write(tmp_path / "real.npz", [array / 3.0 for array in rows])
    quantised, packed = tmp_path / "whole.npz", tmp_path / "whole.i16"
    assert main(["quantise", str(tmp_path / "real.npz"), "--output", str(quantised)]) == 0
    assert main(["pack", str(quantised), "--output", str(packed)]) == 0
    assert main(["check", str(packed)]) == 0


# How tables are made.


@pytest.mark.parametrize("target", ["even", "log"])
@pytest.mark.parametrize("exponent", [4.0, 64.0])
def test_the_gradient_is_that_of_the_objective(target: str, exponent: float) -> None:
    generator = np.random.default_rng(5)
    value = objective(3, target, exponent)  # type: ignore[arg-type]
    x = np.concatenate([row.ravel() for row in haar_decoder(3)])
    x *= 1 + 0.1 * generator.standard_normal(x.size)
    _, gradient = value(x)
    step = 1e-6
    for index, direction in enumerate(np.eye(x.size)):
        slope = (value(x + step * direction)[0] - value(x - step * direction)[0]) / (2 * step)
        assert slope == pytest.approx(gradient[index], abs=1e-7)


def test_the_start_is_the_haar_mechanism() -> None:
    for k in (1, 4, 7):
        strategy, _ = inverse(haar_decoder(k))
        geometry = Geometry(k)
        steps = geometry.sensitivities(geometry.suffix_sums(strategy))
        assert steps.max() == pytest.approx(Mechanism("haar", leaves=2**k).sensitivity2)


def test_quantising_keeps_steps_close() -> None:
    generator = np.random.default_rng(6)
    k = 6
    real = [
        row + 0.02 * generator.standard_normal(row.shape) for row in inverse(haar_decoder(k))[0]
    ]
    geometry = Geometry(k)
    before = geometry.sensitivities(geometry.suffix_sums(real))
    whole = [row.astype(np.float64) for row in quantise(real)]
    after = geometry.sensitivities(geometry.suffix_sums(whole))
    assert np.allclose(after / 2**16, before / before.max(), rtol=0.01)


def regenerated(k: int, target: str) -> Facts:
    return check(quantise(optimise(k, target=target)))  # type: ignore[arg-type]


@pytest.mark.parametrize("k", [4, 5, 6, *(pytest.param(k, marks=pytest.mark.long) for k in (7, 8))])
def test_regenerated_tables_are_as_good_as_those_shipped(k: int) -> None:
    pytest.importorskip("scipy")
    shipped, again = check(table(f"tree_k{k}")), regenerated(k, "even")
    assert again.largest_variance == pytest.approx(shipped.largest_variance, rel=0.01)
    assert again.mean_variance == pytest.approx(shipped.mean_variance, rel=0.01)


@pytest.mark.long
def test_the_log_target_is_quieter_early() -> None:
    pytest.importorskip("scipy")
    even, log = regenerated(7, "even"), regenerated(7, "log")
    early = np.arange(1, 11) - 1
    mean = [f.sensitivity2 * np.mean(np.take(f.variances, early)) for f in (even, log)]
    assert mean[1] < 0.8 * mean[0]
    assert log.largest_variance > even.largest_variance
