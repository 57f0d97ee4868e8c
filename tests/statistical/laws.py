"""The rows of docs/testing.md: every law, its test, and what the test finds.

``python -m tests.statistical.laws`` prints the tables of the page.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special
from tests.native_specs import hitters_spec
from tests.statistical import power
from tests.statistical.declared import RATES
from tests.statistical.histograms import discrete_laplace, gaussian_tail, rounded_gaussian, worst
from tests.statistical.inventory import Row, tables
from tests.statistical.power import Found
from tests.statistical.test_discovery_noise import (
    DRAWS,
    EPOCHS,
    EPSILONS,
    asked_of,
    far,
    near_the_threshold,
    none_one_both,
    selected,
)
from tests.statistical.test_keys import VALUES
from tests.statistical.test_residuals import SMALL_NOISE
from tests.statistical.test_utility import CELLS as OVER_TIME
from tests.statistical.test_utility import eigenvalues
from tests.unit.heavy_hitters.test_discovery import SKETCH

from lazysketch import _native
from lazysketch.audit.controls import ATTACK_TRIALS
from lazysketch.audit.finding import ALARM
from lazysketch.testing import seeded_key

CELLS, OF_A_STREAM, CORE_DRAWS, SEEDS = 8192, 2400, 400_000, 40_000
DECISIONS = 5  # of the distinguisher, which share its risk
EACH = "test_each_push_and_each_pair_of_pushes"
UNIVERSAL = "rows_are_two_universal_on_structured_pairs"
COVER = "test_intervals_cover_and_are_not_far_too_wide"
DISTINCT = "test_intervals_cover_and_are_not_far_too_wide"
VALUES_COVER = "test_intervals_of_values_cover"
VALUES_WIDE = "test_intervals_of_values_are_not_far_too_wide"
LISTS = "test_intervals_of_lists_hold_and_are_not_far_too_wide"
LEVELS = "test_intervals_of_a_level_hold_and_are_not_far_too_wide"
NAMES = "test_names_are_published_as_often_as_claimed"
AUDIT = "test_the_library_raises_no_alarm"


def scale(law: str, test: str, rate: str, samples: int = CELLS, *, tests: int = 1) -> Row:
    """A test of the variance."""
    found = partial(power.of_variance, samples, RATES[rate].alpha / tests)
    return Row(law, test, rate, samples, "scale", found)


def relation(
    law: str, test: str, rate: str, samples: int = CELLS, *, claim: float = 0.0, tests: int = 1
) -> Row:
    """A test of a correlation."""
    found = partial(power.of_covariance, samples, RATES[rate].alpha / tests, claim)
    return Row(law, test, rate, samples, "correlation", found)


def share(law: str, test: str, rate: str, samples: int, p: float, *, tests: int = 1) -> Row:
    """A test of the probability of an outcome."""
    found = partial(power.of_share, samples, RATES[rate].alpha / tests, p)
    return Row(f"{law}: {p:.3g}", test, rate, samples, "share", found)


def at_most(law: str, test: str, rate: str, samples: int, most: float) -> Row:
    """A test of too many misses."""
    found = partial(power.of_misses, samples, RATES[rate].alpha, most=most)
    return Row(f"{law}: at most {most:.0%}", test, rate, samples, "misses", found)


def at_least(law: str, test: str, rate: str, samples: int, least: float) -> Row:
    """A test of too few misses."""
    found = partial(power.of_misses, samples, RATES[rate].alpha, most=1 - 1e-12, least=least)
    return Row(f"{law}: at least {least:.0%}", test, rate, samples, "misses", found)


def rows() -> list[Row]:
    """All rows, in the order of the page."""
    return [*core(), *sums(), *composed(), *names(), *intervals(), *audited()]


# fmt: off


def core() -> Iterable[Row]:
    """Draws, hash functions, keys."""
    def pearson(histograms: Iterable[power.Probabilities]) -> Found:
        one_side = RATES["core draws"].alpha / 2
        return worst([power.of_pearson(CORE_DRAWS, one_side, each) for each in histograms])

    yield Row("rounded Gaussian draws, single and in batches, sigma 0.4 to 2^48",
              "draws_follow_the_rounded_gaussian", "core draws", CORE_DRAWS, "scale",
              lambda: pearson(map(rounded_gaussian, (0.4, 1.0, 7.3, 52.9, 5e4, 1e9))))
    yield Row("their tails, beyond 2.9 to 9.9 deviations", "tails_follow_the_gaussian",
              "core draws", CORE_DRAWS, "scale",
              lambda: pearson(map(gaussian_tail, (8, 21, 40, 75))))
    yield Row("discrete Laplace draws, epsilon 0.002 to 3", "draws_follow_the_distribution",
              "core Laplace", CORE_DRAWS, "scale",
              lambda: pearson(map(discrete_laplace, (1 / 512, 0.02, 0.4, 1.0, 3.0))))
    yield share("hash functions, one bucket of 16", UNIVERSAL, "core hashes", SEEDS, 1 / 16)
    yield share("hash functions, one sign", UNIVERSAL, "core hashes", SEEDS, 1 / 2)
    yield share("hash functions, one bucket in two rows", UNIVERSAL, "core hashes", SEEDS, 1 / 256)
    yield share("keys, ids and hash seeds, each bit", "test_every_bit_is_a_fair_coin", "keys",
                VALUES, 1 / 2, tests=511)
    yield Row("draws of two cells, ids, keys or parameters", "test_one_parameter_changes_all_draws",
              "hygiene", 768, "correlation",
              lambda: Found(*(side * (6.5 + 3.1) / math.sqrt(768) for side in (-1, 1))))
    yield Row("draws and their stated sigma",
              "test_draws_have_the_declared_sigma_and_are_repeatable", "hygiene", 65_536, "scale",
              lambda: power.of_tolerance(65_536, 0.034))


def small_noise() -> Found:
    """Of one draw: the release of one leaf."""
    case = SMALL_NOISE[2]

    def probabilities(factor: float) -> NDArray[np.float64]:
        cumulated = special.ndtr((np.arange(-8, 8) + 0.5) / (factor * case.sigma))
        return np.diff(np.concatenate([[0.0], cumulated, [1.0]]))

    return power.of_counts(case.width, RATES["residuals"].alpha, probabilities)


def sums() -> Iterable[Row]:
    """Sums along a path: every kind, mechanism and schedule."""
    alpha = RATES["residuals"].alpha
    yield scale("released cell: every kind, mechanism, schedule and push", EACH, "residuals")
    yield Row("its shape alone", EACH, "residuals", CELLS, "scale",
              lambda: power.of_shape(CELLS, alpha))
    yield Row("its mean, in deviations", EACH, "residuals", CELLS, "shift",
              lambda: power.of_mean(CELLS, alpha))
    yield relation("two pushes, claimed correlation 0", EACH, "residuals")
    yield relation("two pushes, claimed correlation 0.7", EACH, "residuals", claim=0.7)
    yield scale("other epsilons and relations, padded leaves", "test_other_parameters", "residuals")
    yield scale("all 16 pushes of a cell together", "test_all_pushes_of_a_cell_jointly",
                "residuals", 16 * CELLS)
    yield relation("two nodes, after whitening", "test_all_pushes_of_a_cell_jointly", "residuals",
                   tests=120)
    yield relation("any two of 128 cells", "test_cells_are_independent", "residuals", 256,
                   tests=8128)
    yield relation("neighbouring cells and rows", "test_neighbouring_cells_of_a_wide_table",
                   "residuals", 2048)
    yield relation("two sketches under one master key", "test_two_sketches_are_independent",
                   "residuals")
    yield Row("every probability at a sigma near 1", "test_the_exact_distribution_of_small_noise",
              "residuals", SMALL_NOISE[2].width, "scale", small_noise)
    yield share("odd releases", "test_even_and_odd_releases_are_equally_frequent", "residuals",
                131_072, 1 / 2)
    yield scale("released cell of a stream, each push", "test_residuals_of_a_stream", "streams",
                OF_A_STREAM)
    yield Row("its mean along the count", "test_residuals_of_a_stream", "streams", CELLS, "shift",
              lambda: power.of_mean(CELLS, RATES["streams"].alpha))
    yield scale("optimised rows, from the bytes of their tables",
                "test_each_push_agrees_with_its_rows", "tree")


def measured_noise() -> Found:
    """A tolerance of 3 % of the root mean square over time, by Laurent and Massart."""
    weights = eigenvalues("binary")
    total, x = OVER_TIME * weights.sum(), -math.log(1 - power.FOUND)
    less = 2 * math.sqrt(OVER_TIME * x) * float(np.linalg.norm(weights))
    more = less + 2 * float(weights.max()) * x
    # The digits of the expectation and the numeric account: 0.6 %.
    return Found(0.97 / 1.006 / math.sqrt(1 + more / total),
                 1.03 * 1.006 / math.sqrt(1 - less / total))


def composed() -> Iterable[Row]:
    """What is made of several tables, and noise over time."""
    yield scale("merged releases", "test_merged_releases", "composed noise")
    yield scale("windows by steps, by time, by the clock", "test_windows", "composed noise")
    yield scale("sketch of heavy hitters", "test_heavy_hitters", "composed noise")
    yield scale("levels of a hierarchy", "test_levels_of_a_hierarchy", "composed noise")
    yield scale("sliding windows", "test_noise_of_windows", "sliding windows")
    yield relation("two windows, levels or parts", "test_windows", "composed noise")
    yield Row("noise over time against the plan", "test_measured_noise", "utility",
              205 * OVER_TIME, "scale", measured_noise)


@cache
def facts_of(variant: str) -> dict[str, Any]:
    """What the core states of the tests of names."""
    sketch = _native.HeavySketch(hitters_spec(SKETCH, asked_of(variant)), key=seeded_key(1))
    return dict(sketch._discovery_facts)


def published(variant: str, *, rare: bool) -> Found:
    """Two names of an epoch: none, one or both published."""
    facts = facts_of(variant)
    epsilon, threshold = facts["rates"][0], facts["threshold"]
    count = 1 if rare else near_the_threshold(facts)

    def law(factor: float) -> Any:
        if variant == "dictionary":
            return selected(facts, count, factor=factor)
        return none_one_both(epsilon / factor, needed=threshold - count, shared=True)

    return power.of_counts(EPOCHS, RATES["discovery noise"].alpha, law)


def far_draws() -> Found:
    """The worst of the tested epsilons."""
    def found(epsilon: float) -> Found:
        alpha = RATES["discovery noise"].alpha
        return power.of_counts(DRAWS, alpha, lambda factor: far(epsilon / factor, epsilon))

    return worst([found(epsilon) for epsilon in EPSILONS])


def names() -> Iterable[Row]:
    """Discovery."""
    yield Row("noise of names, under random seeds", "test_draws_are_discrete_laplace",
              "discovery noise", DRAWS, "scale", far_draws)
    for variant in ("dictionary", "misra-gries"):
        for rare, law in ((False, "names near the threshold"), (True, "names of one event")):
            yield Row(f"{law}, {variant}", NAMES, "discovery noise", EPOCHS, "scale",
                      partial(published, variant, rare=rare))
    yield at_most("runs that miss an item at the detection threshold",
                  "test_the_detection_threshold_is_discovered", "recall", 400, 0.05)
    yield at_least("runs that miss 0.6 of it", "test_a_smaller_share_is_missed", "recall", 400, 0.5)


def intervals() -> Iterable[Row]:
    """Coverage."""
    yield at_most("intervals that miss", COVER, "coverage", 400, 0.1)
    yield at_least("intervals of half the width that miss", COVER, "coverage", 400, 0.25)
    yield at_most("ranked lists with a miss", LISTS, "ranked lists", 120, 0.05)
    yield at_least("ranked lists of 0.3 of the width with a miss", LISTS, "ranked lists", 120, 0.3)
    yield at_most("counts of distinct items that miss", DISTINCT, "distinct", 200, 0.05)
    yield at_least("counts of distinct items of 0.3 of the width that miss", DISTINCT, "distinct",
                   200, 0.3)
    yield at_most("answers on values that miss", VALUES_COVER, "distribution", 200, 0.05)
    yield at_least("answers on values of 0.3 of the width that miss", VALUES_WIDE, "distribution",
                   200, 0.3)
    yield at_most("answers on ranges of keys that miss", "test_intervals_of_ranges_cover", "ranges",
                  200, 0.06)
    yield at_least("answers on ranges of keys of 0.3 of the width that miss",
                   "test_intervals_of_ranges_are_not_far_too_wide", "ranges", 200, 0.3)
    yield at_most("windows of ranges that miss", "test_intervals_of_windows_cover",
                  "windows of ranges and sums", 200, 0.06)
    yield at_most("windows of sums that miss", "test_intervals_of_windows_cover",
                  "windows of ranges and sums", 200, 0.05)
    yield at_least("windows of ranges of 0.3 of the width that miss",
                   "test_intervals_of_windows_are_not_far_too_wide",
                   "windows of ranges and sums", 200, 0.3)
    yield at_least("windows of sums of 0.3 of the width that miss",
                   "test_intervals_of_windows_are_not_far_too_wide",
                   "windows of ranges and sums", 200, 0.2)
    yield at_most("levels of a hierarchy with a miss", LEVELS, "hierarchies", 50, 0.2)
    yield at_least("levels of 0.2 of the width with a miss", LEVELS, "hierarchies", 50, 0.6)
    yield at_most("windows with a false change", "test_intervals_hold_and_a_change_is_detected",
                  "changes", 100, 0.2)
    yield at_least("windows in which a rise is found",
                   "test_intervals_hold_and_a_change_is_detected", "changes", 100, 0.7)
    yield at_most("sliding windows with a miss", "test_intervals_of_windows_cover",
                  "sliding windows", 100, 0.2)
    yield at_least("sliding windows of 0.3 of the width with a miss",
                   "test_intervals_of_windows_cover", "sliding windows", 100, 0.5)
    yield at_most("runs of readings with a false alarm", "test_alarms_are_as_rare_as_stated",
                  "sliding windows", 100, 0.2)
    yield at_least("runs of readings in which a count is reported",
                   "test_alarms_are_as_rare_as_stated", "sliding windows", 100, 0.7)


def attack(trials: int) -> Found:
    """The factor of sigma at which neighbours are as far apart as the attack can show."""
    found = power.of_distinguisher(trials, claimed=3.0, risk=ALARM / 2 / DECISIONS)
    return Found(3.0 / found.above, 2.0)


def audited() -> Iterable[Row]:
    """Checks of `lazysketch audit`, each at the alarm rate over all of its tests."""
    yield scale("audit, `distribution`, released cell", AUDIT, "audit", tests=33)
    pairs = "audit, `distribution`, any two of 16 pushes, whitened"
    yield relation(pairs, AUDIT, "audit", tests=152)
    yield share("audit, `low-bits`, odd releases", AUDIT, "audit", 32_768, 1 / 2, tests=3)
    yield share("audit, `discovery`, names 4 below the threshold", AUDIT, "audit", 96_000,
                0.05, tests=18)
    yield share("audit, `discovery`, names of one event", AUDIT, "audit", 320_000, 0.05, tests=33)
    yield scale("audit, `windows`, cell of a window", AUDIT, "audit", tests=36)
    yield relation("audit, `windows`, two windows", AUDIT, "audit", tests=36)
    yield relation("audit, `hierarchies`, two levels", AUDIT, "audit", tests=20)
    yield scale("audit, `people`, cell of a table", AUDIT, "audit", tests=13)
    kinds = "audit, `distinct` and `values`"
    yield scale(f"{kinds}, cell of 512 tables", AUDIT, "audit", tests=282)
    yield relation(f"{kinds}, two cells", AUDIT, "audit", 512, tests=282)
    yield Row("audit, `distinguisher` at mu = 3", AUDIT, "audit", 3000, "scale",
              lambda: attack(3000))
    yield Row("audit, control of 2 d for 4 d (-29 %)", "test_every_planted_bug_raises_an_alarm",
              "audit", ATTACK_TRIALS, "scale", lambda: attack(ATTACK_TRIALS))


# fmt: on

if __name__ == "__main__":
    sys.stdout.write(tables(rows()))
