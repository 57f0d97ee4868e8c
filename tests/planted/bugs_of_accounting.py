"""Guarantees that state less than was spent, and NOT PRIVATE where it is forgotten."""

from __future__ import annotations

from typing import Final

from tests.planted.edits import edited
from tests.planted.planted_bug import PlantedBug

__all__ = ["BUGS_OF_ACCOUNTING"]

_ACCOUNTING: Final = "lazysketch.privacy.accounting"
_ADAPTIVE: Final = "lazysketch.privacy.adaptive"
_CALIBRATION: Final = "lazysketch.privacy.calibration"
_CHARGES: Final = "lazysketch.privacy.charges"
_COMPOSITION: Final = "lazysketch.privacy.composition"
_COUNTS: Final = "lazysketch.privacy.composed_counts"
_CURVE: Final = "lazysketch.privacy.curve"
_PARTS: Final = "lazysketch.releases.parts"
_RELEASE: Final = "lazysketch.releases.release"
_SPEC: Final = "lazysketch.specification.table_spec"

BUGS_OF_ACCOUNTING: Final = (
    PlantedBug(
        name="composition-takes-the-maximum",
        subject="accounting",
        claim="Several sketches together have the guarantee of the worst of them.",
        caught_by="tests/unit/privacy/test_composition.py::"
        "test_k_equal_sketches_cost_the_square_root_of_k",
        patch=edited(
            f"{_COMPOSITION}:Composition.mu",
            (
                "math.hypot(*(part.mu for part in self.parts_to_compose))",
                "max(part.mu for part in self.parts_to_compose)",
            ),
        ),
    ),
    PlantedBug(
        name="names-left-out-of-a-total",
        subject="accounting",
        claim="A composition counts the tables of heavy hitters, and not their names.",
        caught_by="tests/unit/privacy/test_charges.py::test_a_year_of_daily_runs_has_a_total",
        patch=edited(f"{_COMPOSITION}:compose", ("isinstance(each, PlainPart)", "False")),
    ),
    PlantedBug(
        name="pair-with-half-its-mu",
        subject="accounting",
        claim="A pair (epsilon, 0) counts as mu = Phi^-1(e^epsilon / (1 + e^epsilon)).",
        caught_by="tests/unit/privacy/test_charges.py::"
        "test_the_gaussian_mechanism_lies_below_the_trade_off_and_touches_it[1.0]",
        patch=edited(f"{_CHARGES}:_pure_mu", ("mu / math.sqrt(8.0)", "mu / math.sqrt(2.0)")),
    ),
    PlantedBug(
        name="pair-with-epsilon-as-its-mu",
        subject="accounting",
        claim="A pair (epsilon, delta) adds epsilon^2 / 4, the least that its loss may vary.",
        caught_by="tests/unit/privacy/test_charges.py::"
        "test_pairs_compose_to_no_less_than_exact_responses",
        patch=edited(f"{_CHARGES}:_of_pair", ("pure_mu(epsilon) ** 2", "epsilon ** 2 / 4")),
    ),
    PlantedBug(
        name="deltas-of-pairs-left-out",
        subject="accounting",
        claim="The deltas of pairs do not add up.",
        caught_by="tests/unit/privacy/test_charges.py::test_a_year_of_daily_runs_has_a_total",
        patch=edited(f"{_CHARGES}:Charge._bound", ("(ideal + self.delta)", "ideal")),
    ),
    PlantedBug(
        name="composed-pairs-take-the-maximum",
        subject="accounting",
        claim="The pair that always holds has the largest epsilon and delta, not their sums.",
        caught_by="tests/unit/privacy/test_composition.py::test_numerics_of_all_parts_are_covered",
        patch=edited(
            f"{_COUNTS}:_composed",
            ("math.fsum(part.epsilon for", "max(part.epsilon for"),
            ("math.fsum(part.delta for", "max(part.delta for"),
        ),
    ),
    PlantedBug(
        name="composed-numerics-left-out",
        subject="accounting",
        claim="A composition has ideal noise: numeric parts of its members are left out.",
        caught_by="tests/unit/privacy/test_composition.py::test_numerics_of_all_parts_are_covered",
        patch=edited(
            f"{_COUNTS}:_composed",
            ("slack * math.fsum(curve.epsilon_numeric for curve in curves)", "0.0"),
            ("slack * math.fsum(curve.tail for curve in curves)", "0.0"),
        ),
    ),
    PlantedBug(
        name="nested-compositions-count-once",
        subject="accounting",
        claim="A composition within a composition counts as its first part.",
        caught_by="tests/unit/privacy/test_composition.py::"
        "test_k_equal_sketches_cost_the_square_root_of_k",
        patch=edited(
            "lazysketch.privacy.composable:mechanisms_of",
            (
                "yield from _mechanisms(part.parts_to_compose, of=part)",
                "yield from part.parts_to_compose[:1]",
            ),
        ),
    ),
    PlantedBug(
        name="composition-protects-the-largest-group",
        subject="accounting",
        claim="A composition states the largest number of protected events of its parts.",
        caught_by="tests/unit/privacy/test_composition.py::"
        "test_a_composition_promises_what_every_part_promises",
        patch=edited(
            f"{_COMPOSITION}:Composition.max_events_per_user",
            ("min((part.max_events_per_user", "max((part.max_events_per_user"),
        ),
    ),
    PlantedBug(
        name="composition-protects-the-largest-weight",
        subject="accounting",
        claim="The text of a composition promises the largest weight of its parts.",
        caught_by="tests/unit/privacy/test_composition.py::"
        "test_a_composition_promises_what_every_part_promises",
        patch=edited(
            f"{_COMPOSITION}:Composition.max_weight",
            ("min((part.max_weight", "max((part.max_weight"),
        ),
    ),
    PlantedBug(
        name="not-private-parts-compose",
        subject="accounting",
        claim="A part without a guarantee is composed as if it had one.",
        caught_by="tests/unit/privacy/test_composition.py::"
        "test_parts_that_do_not_compose_are_refused",
        patch=edited(
            "lazysketch.privacy.composable:check_together", ("if not part.private:", "if False:")
        ),
    ),
    PlantedBug(
        name="relations-compose",
        subject="accounting",
        claim="Guarantees for different neighbouring streams are composed.",
        caught_by="tests/unit/privacy/test_composition.py::"
        "test_parts_that_do_not_compose_are_refused",
        patch=edited(
            "lazysketch.privacy.composable:check_together",
            ("len(relations) > 1", "len(relations) > 2"),
        ),
    ),
    PlantedBug(
        name="claim-without-its-noise",
        subject="accounting",
        claim="A description may claim more than its noise gives.",
        caught_by="tests/unit/privacy/test_accounting.py::test_a_claim_beyond_the_noise_is_refused",
        patch=edited(
            f"{_ACCOUNTING}:Privacy._check_guarantee", ("if reached >", "if 0.0 * reached >")
        ),
    ),
    PlantedBug(
        name="curve-without-tails",
        subject="accounting",
        claim="delta at another epsilon leaves out the draws' tails.",
        caught_by="tests/unit/privacy/test_curve.py::"
        "test_a_planted_curve_without_its_tail_is_caught",
        patch=edited(
            f"{_CURVE}:GaussianCurve._bound", ("(1.0 + math.exp(epsilon)) * self.tail", "0.0")
        ),
    ),
    PlantedBug(
        name="curve-without-numerics",
        subject="accounting",
        claim="delta at another epsilon leaves out the errors of the draws' probabilities.",
        caught_by="tests/unit/privacy/test_composition.py::test_numerics_of_all_parts_are_covered",
        patch=edited(
            f"{_CURVE}:GaussianCurve._bound", ("epsilon - self.epsilon_numeric", "epsilon")
        ),
    ),
    PlantedBug(
        name="curve-returns-the-wrong-end",
        subject="accounting",
        claim="epsilon at another delta is the largest value that is too small.",
        caught_by="tests/unit/privacy/test_curve.py::test_round_trip_errs_towards_privacy",
        patch=edited(
            f"{_CURVE}:GaussianCurve.epsilon_at",
            ("return min(enough, known)", "return min(too_small, known)"),
        ),
    ),
    PlantedBug(
        name="total-without-discovery",
        subject="accounting",
        claim="The guarantee of a run that found names is that of its counts.",
        caught_by="tests/unit/heavy_hitters/test_heavy_hitters.py::"
        "test_the_guarantee_is_the_one_asked_for[1-substitution]",
        patch=edited(
            "lazysketch.heavy_hitters.hitters_spec:HeavyHittersSpec.privacy_of",
            ("counts.epsilon + names.epsilon", "counts.epsilon"),
            ("counts.delta + names.delta", "counts.delta"),
        ),
    ),
    PlantedBug(
        name="total-of-levels-without-discovery",
        subject="accounting",
        claim="The guarantee of a hierarchy is that of its counts.",
        caught_by="tests/unit/heavy_hitters/test_levels_privacy.py::"
        "test_all_levels_together_keep_the_promise[substitution-None-8.0]",
        patch=edited(
            "lazysketch.heavy_hitters.levels_privacy:LevelsPrivacy.of",
            ("whole.sketch_epsilon + whole.discovery_epsilon", "whole.sketch_epsilon"),
            ("whole.sketch_delta + whole.discovery_delta", "whole.sketch_delta"),
        ),
    ),
    PlantedBug(
        name="merged-release-states-one-part",
        subject="accounting",
        claim="A merged release states the guarantee of one of its parts.",
        caught_by="tests/unit/releases/test_release.py::test_merging_adds[CountMin]",
        patch=edited(f"{_RELEASE}:Release._only_part", ("len(self._parts) == 1", "self._parts")),
    ),
    PlantedBug(
        name="merge-forgets-a-part",
        subject="accounting",
        claim="A merged release lists the first of its parts only.",
        caught_by="tests/unit/releases/test_release.py::test_merging_adds[CountMin]",
        patch=edited(
            "lazysketch.releases.parts:parts_of", ("in release.parts)", "in release.parts[:1])")
        ),
    ),
    PlantedBug(
        name="run-promises-its-counts-only",
        subject="accounting",
        claim="A saved release states what its counts spent, without the names of the run.",
        caught_by="tests/unit/releases/test_run_promise.py::test_names_are_part_of_the_promise",
        patch=edited(
            "lazysketch.releases.run_promise:facts_of", ("part.epsilon, part.delta)", "0.0, 0.0)")
        ),
    ),
    PlantedBug(
        name="runs-of-several-days-count-once",
        subject="accounting",
        claim="Releases of different runs are taken for releases of one run.",
        caught_by="tests/unit/releases/test_run_promise.py::"
        "test_a_person_in_several_runs_has_all_their_promises",
        patch=edited(
            "lazysketch.privacy.composable:mechanisms_of", ("run not in runs", "not runs")
        ),
    ),
    PlantedBug(
        name="observer-without-delta",
        subject="accounting",
        claim="What an observer may conclude follows from epsilon alone.",
        caught_by="tests/unit/privacy/test_observer.py::"
        "test_no_observer_of_finite_outputs_does_better",
        patch=edited(
            "lazysketch.privacy.observer:posterior",
            ("epsilon - math.log1p(-delta / most)", "epsilon"),
        ),
    ),
    PlantedBug(
        name="not-private-lost-among-equal-parts",
        subject="accounting",
        claim="Parts with equal noise share a description, with the reasons of the first of them.",
        caught_by="tests/unit/releases/test_release.py::test_not_private_is_inherited",
        patch=edited(
            f"{_PARTS}:_part_of",
            (
                "        described,\n",
                "        _part_with.__dict__.setdefault(parameters, described),\n",
            ),
        ),
    ),
    PlantedBug(
        name="not-private-lost-in-a-file",
        subject="accounting",
        claim="A release that is read drops the reasons why it is not private.",
        caught_by="tests/unit/releases/test_release.py::test_not_private_is_inherited",
        patch=edited(
            f"{_PARTS}:_privacy_of",
            ("private=not reasons", "private=True"),
            ("not_private_because=reasons,\n    )", "not_private_because=(),\n    )"),
        ),
    ),
    PlantedBug(
        name="not-private-lost-in-a-merge",
        subject="accounting",
        claim="A merged release gives the reasons of its first part only.",
        caught_by="tests/unit/releases/test_release.py::test_not_private_is_inherited",
        patch=edited(
            f"{_RELEASE}:Release.not_private_because",
            ("for part in self._parts for", "for part in self._parts[:1] for"),
        ),
    ),
    PlantedBug(
        name="one-private-part-suffices",
        subject="accounting",
        claim="A merged release is private if one of its parts is.",
        caught_by="tests/unit/releases/test_release.py::test_not_private_is_inherited",
        patch=edited(f"{_RELEASE}:Release.private", ("return all(", "return any(")),
    ),
    PlantedBug(
        name="file-protects-one-event",
        subject="accounting",
        claim="A release that is read divides its noise by the sensitivity of a single event.",
        caught_by="tests/unit/releases/test_release.py::"
        "test_the_bounds_of_events_are_those_of_the_sketch[substitution-LazyCountMin]",
        patch=edited(
            f"{_PARTS}:_privacy_of",
            ('noise["max_weight"] * events', 'noise["max_weight"]'),
        ),
    ),
    PlantedBug(
        name="windows-forget-the-seed",
        subject="accounting",
        claim="Windows under a seeded key call themselves private.",
        caught_by="tests/unit/windows/test_refusals.py::test_windows_have_one_life",
        patch=edited(
            "lazysketch.windows.window_tables:WindowTables.make",
            ("self._reasons = table.not_private_because", "pass"),
        ),
    ),
    PlantedBug(
        name="levels-forget-the-seed",
        subject="accounting",
        claim="A hierarchy under a seeded key calls itself private.",
        caught_by="tests/unit/heavy_hitters/test_hierarchical.py::test_life_and_marks",
        patch=edited(
            "lazysketch.heavy_hitters.published_levels:PublishedLevels.not_private_because",
            ("for one in self._tables for", "for one in self._tables[:0] for"),
        ),
    ),
    PlantedBug(
        name="noise-of-integers-taken-for-real-numbers",
        subject="accounting",
        claim="What is known before an event does not restrict the noise: integers are ignored.",
        caught_by="tests/unit/privacy/test_adaptive.py::test_no_lattice_exceeds_the_bound[0.34-3.0]",
        patch=edited(
            f"{_ADAPTIVE}:_cost",
            ("left = square - smoothing / noise.depth", "left = square"),
            ("noise.depth * ratio", "0.0 * ratio"),
        ),
    ),
    PlantedBug(
        name="smoothing-for-free",
        subject="accounting",
        claim="Noise keeps its whole variance although a part of it fills the gaps of the lattice.",
        caught_by="tests/unit/privacy/test_adaptive.py::test_no_lattice_exceeds_the_bound[0.34-3.0]",
        patch=edited(
            f"{_ADAPTIVE}:_cost",
            ("left = square - smoothing / noise.depth", "left = square"),
        ),
    ),
    PlantedBug(
        name="tails-of-one-event-only",
        subject="accounting",
        claim="An adversary who waits for an extreme draw has only the draws of one event.",
        caught_by="tests/unit/privacy/test_adaptive.py::test_aimed_draws_in_the_tail_are_counted",
        patch=edited(
            f"{_CALIBRATION}:_Account.tails",
            ("changed + aimed + switching", "changed + switching"),
        ),
    ),
    PlantedBug(
        name="switching-of-draws-with-two-values",
        subject="accounting",
        claim="Draws of noise are told from independent ones as if they were single bits.",
        caught_by="tests/unit/privacy/test_switching.py::"
        "test_the_account_is_the_bound_of_the_lemma[21219.3-562949953421312]",
        patch=edited(
            f"{_CALIBRATION}:_switching_of_draws",
            ("values = 2.0 * _LARGEST_DEVIATION * sigma + 3.0", "values = 1.0"),
        ),
    ),
    PlantedBug(
        name="calibrated-for-events-fixed-in-advance",
        subject="accounting",
        claim="Noise is calibrated as if the event had been fixed before anything was published.",
        caught_by="tests/unit/privacy/test_adaptive.py::"
        "test_what_is_calibrated_holds_for_an_event_chosen_from_releases[1.0]",
        patch=edited(
            f"{_CALIBRATION}:_smallest_sigma",
            (
                "multiplier, smoothing = least_noise(account.epsilon, account.delta, depth)",
                (
                    "from lazysketch.privacy.gaussian import noise_multiplier\n"
                    "    multiplier = noise_multiplier(account.epsilon, account.delta)"
                ),
            ),
            (
                (
                    "bounds = [smoothed({IntegerNoise(m, depth): 1}, smoothing) "
                    "for m in (below, nearest)]"
                ),
                "return noise_multiplier(epsilon, delta) <= below",
            ),
        ),
    ),
    PlantedBug(
        name="one-row-taken-for-many",
        subject="accounting",
        claim="The noise of a table is bounded as if the event changed 64 rows.",
        caught_by="tests/unit/privacy/test_adaptive.py::"
        "test_the_calibrated_pair_is_that_of_the_bound",
        patch=edited(
            f"{_SPEC}:TableSpec._calibrated",
            ("_per_cell,\n        depth=self._sharing_rows", "_per_cell,\n        depth=64"),
        ),
    ),
    PlantedBug(
        name="composed-rows-forgotten",
        subject="accounting",
        claim="The numeric parts of a composition follow from another bound than the calibration.",
        caught_by="tests/unit/privacy/test_composition.py::test_numerics_of_all_parts_are_covered",
        patch=edited(
            f"{_COUNTS}:_composed",
            ("part.noise_multiplier, depth=part.depth", "part.noise_multiplier"),
        ),
    ),
)
