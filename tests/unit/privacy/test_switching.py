"""What draws of a block cipher, a permutation, cost: docs/theory.md, Lemma 5a."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest

import lazysketch as ls
from lazysketch.privacy.calibration import _Account, _switching_of_draws


def bound(values: int, draws: int, blocks: int) -> float:
    """The bound of the lemma."""
    product = (values - 1) * draws * (draws - 1)
    return 0.5 * math.sqrt(product / ((blocks - 1) * (blocks - draws + 1)))


def advantage(composition: tuple[int, ...], draws: int) -> Fraction:
    """How well any test tells a sample without replacement from one with it."""
    blocks, found = sum(composition), Fraction(0)
    for drawn in itertools.product(*(range(draws + 1) for _ in composition)):
        if sum(drawn) != draws:
            continue
        without = Fraction(
            math.prod(
                math.comb(all_of, some) for all_of, some in zip(composition, drawn, strict=True)
            ),
            math.comb(blocks, draws),
        )
        ways = math.factorial(draws) // math.prod(math.factorial(some) for some in drawn)
        shares = [
            Fraction(one, blocks) ** some for one, some in zip(composition, drawn, strict=True)
        ]
        found += abs(without - ways * math.prod(shares))
    return found / 2


def test_draws_of_a_permutation_are_nearly_independent() -> None:
    """All compositions of urns of up to 10 blocks with 2 or 3 values, and all numbers of draws."""
    nearest = 0.0
    for blocks, values in itertools.product(range(2, 11), (2, 3)):
        for composition in itertools.product(range(1, blocks), repeat=values):
            if sum(composition) != blocks or list(composition) != sorted(composition):
                continue
            for draws in range(2, blocks + 1):
                found, most = float(advantage(composition, draws)), bound(values, draws, blocks)
                assert found <= most
                nearest = max(nearest, found / most)
    assert nearest > 0.5, "the bound is not far from what there is"


@pytest.mark.parametrize("draws", [2**20, 2**49, 2**64, 3 * 2**100])
@pytest.mark.parametrize("sigma", [0.5, 9.0, 21_219.3])
def test_the_account_is_the_bound_of_the_lemma(draws: int, sigma: float) -> None:
    """That of the most values that draws of 13.2 sigma can have, rounded up."""
    values = 2 * math.floor(13.2 * sigma + 1.0) + 1
    with localcontext() as context:
        context.prec = 60
        product = Decimal(values - 1) * draws * (draws - 1)
        exact = (product / ((2**128 - 1) * Decimal(2**128 - draws + 1))).sqrt() / 2
    found = Decimal(_switching_of_draws(draws, sigma))
    assert exact <= found <= exact * Decimal(2 if sigma < 1 else "1.1")
    assert _switching_of_draws(2**128, sigma) == math.inf


def test_few_draws_keep_the_account_that_they_had() -> None:
    """The noise of stores and releases follows from the simple bound wherever that serves."""
    account = _Account(1.0, 1e-8, changed_draws=1, draws=2**44)
    simple = (1.0 + math.e) * 2.0 ** (2 * 44 - 129)
    rest = (1.0 + math.e) * (2.1e-21 + 2**44 * (3.9e-28 + 2.1e-21 * 2.0**-37 * 100.0))
    assert account.tails(100.0) == pytest.approx(simple + rest, rel=1e-12)


def test_a_large_table_without_a_horizon_has_a_small_delta() -> None:
    """2^49 draws: by repetitions of blocks alone they would cost 17 times what is allowed."""
    with ls.Ranges(bits=32, epsilon=1.0, delta=1e-8) as counted:
        noise = counted.spec.noise
        assert noise.delta_numeric < 1e-10 < (1.0 + math.e) * 2.0 ** (2 * 49 - 129)
        with_horizon = ls.Ranges(bits=32, epsilon=1.0, delta=1e-8, horizon=2**28).spec.noise
        assert noise.noise_multiplier == pytest.approx(with_horizon.noise_multiplier, rel=1e-3)
