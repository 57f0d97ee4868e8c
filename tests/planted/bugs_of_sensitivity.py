"""Wrong sensitivities and wrong calibrations: noise too small for the stated guarantee."""

from __future__ import annotations

from typing import Final

from tests.planted.edits import edited, together
from tests.planted.planted_bug import PlantedBug

__all__ = ["BUGS_OF_CALIBRATION", "BUGS_OF_SENSITIVITY"]

_RELATIONS: Final = "lazysketch.privacy.relations"
_CALIBRATION: Final = "lazysketch.privacy.calibration"
_GAUSSIAN: Final = "lazysketch.privacy.gaussian"
_SPEC: Final = "lazysketch.specification.table_spec"
_HITTERS: Final = "lazysketch.heavy_hitters.hitters_spec"

BUGS_OF_SENSITIVITY: Final = (
    PlantedBug(
        name="substitution-as-zero-out",
        subject="sensitivity",
        claim="An event that becomes another one is calibrated like one that disappears.",
        caught_by="tests/unit/privacy/test_relations.py::"
        "test_brute_force_attains_the_sensitivity[count-min-substitution-1]",
        patch=edited(
            f"{_RELATIONS}:table_sensitivity2", ("if not substitution:", "if substitution or rows:")
        ),
    ),
    PlantedBug(
        name="count-sketch-two-d",
        subject="sensitivity",
        claim="A Count Sketch has the paper's 2 d: opposite signs in one bucket are forgotten.",
        caught_by="tests/unit/privacy/test_relations.py::"
        "test_brute_force_attains_the_sensitivity[count-sketch-substitution-1]",
        patch=edited(f"{_RELATIONS}:table_sensitivity2", ("return 4 * rows", "return 2 * rows")),
    ),
    PlantedBug(
        name="counters-ignore-max-changes",
        subject="sensitivity",
        claim="Counters that take vectors are calibrated for one counter that changes.",
        caught_by="tests/unit/privacy/test_relations.py::test_counters_by_brute_force[2-zero-out]",
        patch=edited(
            f"{_RELATIONS}:table_sensitivity2",
            ("max(2 if substitution else 1, changes)", "2 if substitution else 1"),
        ),
    ),
    PlantedBug(
        name="counters-ignore-single-events",
        subject="sensitivity",
        claim="Counters are calibrated for max_changes, although one substitution changes two.",
        caught_by="tests/unit/privacy/test_relations.py::"
        "test_counters_by_brute_force[1-substitution]",
        patch=edited(
            f"{_RELATIONS}:table_sensitivity2",
            ("max(2 if substitution else 1, changes)", "changes"),
        ),
    ),
    PlantedBug(
        name="changed-cells-of-one-stream",
        subject="sensitivity",
        claim="The numeric account counts the cells of one event where a substitution has two.",
        caught_by="tests/unit/privacy/test_relations.py::"
        "test_brute_force_attains_the_sensitivity[count-min-substitution-1]",
        patch=edited(
            f"{_RELATIONS}:changed_cells",
            ('2 if checked_relation(relation) == "substitution" else 1', "1"),
        ),
    ),
    PlantedBug(
        name="root-rounded-to-nearest",
        subject="sensitivity",
        claim="The square root of the sensitivity is rounded to nearest, half the time downwards.",
        caught_by="tests/unit/privacy/test_relations.py::"
        "test_square_roots_are_rounded_up_and_close[3]",
        patch=edited(
            f"{_RELATIONS}:square_root_up",
            ("root = math.sqrt(square)", "return math.sqrt(square)"),
        ),
    ),
    PlantedBug(
        name="max-weight-ignored",
        subject="sensitivity",
        claim="Noise does not grow with max_weight.",
        caught_by="tests/unit/privacy/test_calibration.py::test_sensitivity_is_rounded_up[product0-7-3]",
        patch=edited(f"{_CALIBRATION}:calibrate", ("(weight * events) ** 2", "events**2")),
    ),
    PlantedBug(
        name="max-weight-by-its-root",
        subject="sensitivity",
        claim="Noise grows with the square root of max_weight: the square is forgotten.",
        caught_by="tests/unit/privacy/test_calibration.py::test_sensitivity_is_rounded_up[product0-7-3]",
        patch=edited(f"{_CALIBRATION}:calibrate", ("(weight * events) ** 2", "weight * events**2")),
    ),
    PlantedBug(
        name="events-per-user-ignored",
        subject="sensitivity",
        claim="Group privacy is left out: noise does not grow with max_events_per_user.",
        caught_by="tests/unit/privacy/test_calibration.py::test_sensitivity_is_rounded_up[product0-7-3]",
        patch=edited(f"{_CALIBRATION}:calibrate", ("(weight * events) ** 2", "weight**2")),
    ),
    PlantedBug(
        name="events-per-user-by-their-root",
        subject="sensitivity",
        claim="Events of one person add up like independent noise, by a square root.",
        caught_by="tests/unit/privacy/test_calibration.py::test_sensitivity_is_rounded_up[product0-7-3]",
        patch=edited(f"{_CALIBRATION}:calibrate", ("(weight * events) ** 2", "weight**2 * events")),
    ),
    PlantedBug(
        name="one-node-instead-of-the-tree",
        subject="sensitivity",
        claim="The sensitivity of the mechanism is left out, as if a cell were published once.",
        caught_by="tests/statistical/test_calibration_end_to_end.py::"
        "test_vectors_that_differ_in_several_counters[binary]",
        patch=edited(f"{_CALIBRATION}:calibrate", ("table2 * mechanism2 *", "table2 *")),
    ),
    PlantedBug(
        name="table-forgets-its-weights",
        subject="sensitivity",
        claim="A table is calibrated for weight 1 whatever max_weight it accepts.",
        caught_by="tests/unit/specification/test_table_spec.py::test_replace_calibrates_anew",
        patch=edited(
            f"{_SPEC}:TableSpec._calibrated", ("max_weight=self.max_weight", "max_weight=1")
        ),
    ),
    PlantedBug(
        name="part-of-the-budget-keeps-its-noise",
        subject="sensitivity",
        claim="A description with other privacy keeps the noise of the old one.",
        caught_by="tests/unit/specification/test_table_spec.py::test_replace_calibrates_anew",
        patch=edited(
            f"{_SPEC}:TableSpec.with_privacy",
            (
                "return replace(self, epsilon=epsilon, delta=delta)",
                (
                    "changed = copy(self)\n"
                    '    changed._store("epsilon", epsilon)\n'
                    '    changed._store("delta", delta)\n'
                    "    return changed"
                ),
            ),
        ),
    ),
    PlantedBug(
        name="moved-event-not-paid-for",
        subject="sensitivity",
        claim="A window of 64 slices has a table of 64 leaves, where a move is worth 2.12 events.",
        caught_by="tests/unit/windows/test_sensitivity.py::"
        "test_a_move_is_worth_two_events_at_most[tree-5]",
        patch=edited(
            "lazysketch.windows.cuts:leaves_of",
            ("table + 1 if table > 16 and 16 * slices > 15 * table else slices", "slices"),
        ),
    ),
    PlantedBug(
        name="moved-event-at-the-end-of-a-deep-tree",
        subject="sensitivity",
        claim="A window of 768 slices has a deep tree of 768 leaves: a move is worth 2.007 events.",
        caught_by="tests/unit/windows/test_sensitivity.py::"
        "test_a_move_is_worth_two_events_in_deep_trees[768]",
        patch=edited("lazysketch.windows.cuts:leaves_of", ("slices in _TOO_NEAR", "False")),
    ),
    PlantedBug(
        name="names-of-one-event",
        subject="sensitivity",
        claim="Discovery protects one event of a person, whatever max_events_per_user says.",
        caught_by="tests/unit/heavy_hitters/test_heavy_hitters.py::"
        "test_the_guarantee_is_the_one_asked_for[3-substitution]",
        patch=edited(
            f"{_HITTERS}:HeavyHittersSpec.discovering",
            ("events = table.max_events_per_user", "events = 1"),
        ),
    ),
    PlantedBug(
        name="names-under-zero-out",
        subject="sensitivity",
        claim="Discovery is calibrated for an event that disappears under both relations.",
        caught_by="tests/unit/heavy_hitters/test_heavy_hitters.py::"
        "test_the_guarantee_is_the_one_asked_for[1-substitution]",
        patch=edited(
            f"{_HITTERS}:HeavyHittersSpec.discovering",
            ('relation="zero-out" if bound else table.relation', 'relation="zero-out"'),
        ),
    ),
    PlantedBug(
        name="batches-in-a-dictionary",
        subject="sensitivity",
        claim="Discovery of batches keeps a dictionary of one name per step, not per event.",
        caught_by="tests/unit/heavy_hitters/test_heavy_hitters.py::"
        "test_batches_share_a_step_and_need_a_discovery_epoch",
        patch=edited(
            f"{_HITTERS}:HeavyHittersSpec.discovering",
            ("batches=isinstance(table.schedule, Batch)", "batches=False"),
        ),
    ),
    PlantedBug(
        name="plan-for-one-event",
        subject="sensitivity",
        claim="A plan leaves out max_events_per_user, and so does the sketch made from it.",
        caught_by="tests/unit/planning/test_planning.py::"
        "test_a_plan_keeps_the_privacy_that_was_asked_for[zero-out]",
        patch=edited(
            "lazysketch.planning.design:Design.spec",
            ("max_events_per_user=self.request.max_events_per_user", "max_events_per_user=1"),
        ),
    ),
    PlantedBug(
        name="plan-prints-another-relation",
        subject="sensitivity",
        claim="The command that a plan prints counts under zero-out where substitution was asked.",
        caught_by="tests/unit/planning/test_planning.py::"
        "test_a_plan_keeps_the_privacy_that_was_asked_for[substitution]",
        patch=edited(
            "lazysketch.planning.sketch_plan:Plan.command",
            (
                (
                    'if self.relation != "substitution":\n'
                    '        options.append(f"--relation {self.relation}")'
                ),
                'options.append("--relation zero-out")',
            ),
        ),
    ),
)

BUGS_OF_CALIBRATION: Final = (
    PlantedBug(
        name="numeric-epsilon-left-out",
        subject="accounting",
        claim="The error of the draws' probabilities does not reduce epsilon.",
        caught_by="tests/unit/privacy/test_calibration.py::"
        "test_noise_covers_what_numerics_leave[changes0]",
        patch=edited(
            f"{_CALIBRATION}:_smallest_sigma",
            ("account.epsilon - account.epsilon_numeric(sigma)", "account.epsilon"),
        ),
    ),
    PlantedBug(
        name="numeric-delta-left-out",
        subject="accounting",
        claim="Tails and permutation do not reduce delta.",
        caught_by="tests/unit/privacy/test_calibration.py::"
        "test_noise_covers_what_numerics_leave[changes0]",
        patch=edited(
            f"{_CALIBRATION}:_smallest_sigma",
            ("account.delta - account.delta_numeric(sigma)", "account.delta"),
        ),
    ),
    PlantedBug(
        name="permutation-taken-for-a-function",
        subject="accounting",
        claim="AES is taken for a random function: the term of the permutation is left out.",
        caught_by="tests/unit/specification/test_table_spec.py::"
        "test_the_numeric_account_has_every_draw_of_the_table[1-substitution]",
        patch=edited(
            f"{_CALIBRATION}:_Account.tails",
            ("(changed + aimed + switching)", "(changed + aimed)"),
        ),
    ),
    PlantedBug(
        name="permutation-of-one-cell",
        subject="accounting",
        claim="The term of the permutation counts the draws of one cell, not of the table.",
        caught_by="tests/unit/specification/test_table_spec.py::"
        "test_the_numeric_account_has_every_draw_of_the_table[1-substitution]",
        patch=edited(
            f"{_SPEC}:TableSpec._calibrated",
            ("self.depth * self.width * mechanism.draws", "mechanism.draws"),
        ),
    ),
    PlantedBug(
        name="bisection-returns-the-wrong-end",
        subject="accounting",
        claim="The search for the smallest noise returns the largest value that is too small.",
        caught_by="tests/unit/privacy/test_calibration.py::"
        "test_noise_covers_what_numerics_leave[changes0]",
        patch=edited(f"{_GAUSSIAN}:smallest_sufficient", ("return enough", "return too_small")),
    ),
    PlantedBug(
        name="delta-by-the-plain-formula",
        subject="accounting",
        claim="delta is a difference of two rounded numbers, which is wrong where it is small.",
        caught_by="tests/unit/privacy/test_calibration.py::"
        "test_gaussian_delta_is_a_close_upper_bound[0.1-100.0]",
        patch=edited(
            f"{_GAUSSIAN}:_gaussian_delta",
            (
                "density * _mills_difference(a, mu) * (1.0 + _MARGIN)",
                (
                    "0.5 * math.erfc(a / math.sqrt(2.0)) - 0.5 * math.exp(epsilon) "
                    "* math.erfc((centre + 0.5 * mu) / math.sqrt(2.0))"
                ),
            ),
        ),
    ),
    PlantedBug(
        name="delta-without-margin",
        subject="accounting",
        claim="The computed delta is the nearest number, which may be below the exact one.",
        caught_by="tests/unit/privacy/test_calibration.py::"
        "test_gaussian_delta_is_a_close_upper_bound[1.0-1e-09]",
        patch=edited(f"{_GAUSSIAN}:_gaussian_delta", (" * (1.0 + _MARGIN)", "")),
    ),
    PlantedBug(
        name="classical-for-any-epsilon",
        subject="accounting",
        claim="The classical formula is accepted for epsilon of 1 and more, where it is unproven.",
        caught_by="tests/unit/privacy/test_calibration.py::"
        "test_classical_needs_epsilon_below_one[1.0]",
        patch=edited(f"{_CALIBRATION}:calibrate", (" and epsilon >= 1.0", " and epsilon > 100.0")),
    ),
    PlantedBug(
        name="smaller-of-both-formulas",
        subject="accounting",
        claim="The calibration takes the smaller noise of the analytic and the classical formula.",
        caught_by="tests/unit/privacy/test_calibration.py::"
        "test_multiplier_is_sufficient_and_tight[8.0-0.001]",
        patch=edited(
            f"{_GAUSSIAN}:noise_multiplier",
            (
                "return smallest_sufficient(too_small, enough, sufficient)",
                (
                    "analytic = smallest_sufficient(too_small, enough, sufficient)\n"
                    "    return min(analytic, classical_noise_multiplier(epsilon, delta))"
                ),
            ),
        ),
    ),
    PlantedBug(
        name="delta-of-discovery-not-subtracted",
        subject="accounting",
        claim="The counts get all of delta although names spend half of it.",
        caught_by="tests/unit/heavy_hitters/test_heavy_hitters.py::"
        "test_the_guarantee_is_the_one_asked_for[1-substitution]",
        patch=edited(
            "lazysketch.heavy_hitters.joint_privacy:split_of",
            ("_rest(delta, names_delta)", "delta"),
        ),
    ),
    PlantedBug(
        name="epsilon-of-discovery-not-subtracted",
        subject="accounting",
        claim="The counts get all of epsilon although names spend a quarter of it.",
        caught_by="tests/unit/heavy_hitters/test_heavy_hitters.py::"
        "test_the_guarantee_is_the_one_asked_for[1-substitution]",
        patch=edited(
            "lazysketch.heavy_hitters.joint_privacy:split_of",
            ("_rest(epsilon, names_epsilon)", "epsilon"),
        ),
    ),
    PlantedBug(
        name="every-level-has-the-whole-budget",
        subject="accounting",
        claim="Each level of a hierarchy gets all of epsilon for its counts.",
        caught_by="tests/unit/heavy_hitters/test_levels_privacy.py::"
        "test_a_planted_calibration_is_noticed",
        patch=edited(
            "lazysketch.heavy_hitters.levels_privacy:splits_of_levels",
            ("sketch_epsilon=found[part]", "sketch_epsilon=epsilon"),
        ),
    ),
    PlantedBug(
        name="every-level-has-all-names",
        subject="accounting",
        claim="Each level of a hierarchy gets all of the budget of discovery.",
        caught_by="tests/unit/heavy_hitters/test_levels_privacy.py::"
        "test_all_levels_together_keep_the_promise[substitution-None-8.0]",
        patch=edited(
            "lazysketch.heavy_hitters.levels_privacy:splits_of_levels",
            ("whole.discovery_epsilon * part", "whole.discovery_epsilon"),
            ("whole.discovery_delta * part", "whole.discovery_delta"),
        ),
    ),
    PlantedBug(
        name="weights-of-levels-not-normalised",
        subject="accounting",
        claim="The weights of levels are divided by the largest one, not by their sum.",
        caught_by="tests/unit/heavy_hitters/test_levels_privacy.py::"
        "test_parts_of_levels_add_up_to_at_most_one",
        patch=edited(
            "lazysketch.heavy_hitters.levels_privacy:checked_level_weights",
            ("weight / math.fsum(given) * down", "weight / max(given) * down"),
        ),
    ),
    PlantedBug(
        name="one-level-left-out",
        subject="accounting",
        claim="The coarsest level of a hierarchy is composed with no other one: it is free.",
        caught_by="tests/unit/heavy_hitters/test_levels_privacy.py::"
        "test_a_planted_calibration_is_noticed",
        patch=together(
            edited(
                "lazysketch.heavy_hitters.levels_privacy:checked_level_weights",
                ("weight / math.fsum(given) * down", "weight / math.fsum(given[1:] or given)"),
            ),
            edited(
                "lazysketch.heavy_hitters.levels_privacy:splits_of_levels",
                ("compose(*described)", "compose(*(described[1:] or described))"),
            ),
        ),
    ),
)
