//! Schedules against their definition.

use super::*;
use proptest::prelude::*;

/// The definition, literally: the pushes of `column` at steps 1 ..= `step`.
fn pushes_by_definition(schedule: &Schedule, width: u32, column: u32, step: u64) -> u64 {
    let (w, j) = (u64::from(width), u64::from(column));
    match *schedule {
        Schedule::RoundRobin { period, .. } => (1..=step)
            .filter(|t| t % period == 0 && (t / period - 1) % w == j)
            .count() as u64,
        Schedule::Punctual { .. } | Schedule::Batch { .. } => step,
        Schedule::Single { horizon } => u64::from(horizon.is_some_and(|horizon| step >= horizon)),
        Schedule::Geometric { growth, rounds } => {
            let (mut start, mut count) = (0_u64, 0);
            for _ in 0..rounds {
                let share = start * u64::from(growth.numerator);
                let length = w.max(share.div_ceil(u64::from(growth.denominator)));
                count += u64::from(start + ((j + 1) * length).div_ceil(w) <= step);
                start += length;
            }
            count
        }
    }
}

fn schedules() -> impl Strategy<Value = Schedule> {
    prop_oneof![
        (1..5_u64).prop_map(|period| Schedule::RoundRobin {
            horizon: 10_000,
            period
        }),
        Just(Schedule::Punctual { horizon: 10_000 }),
        (1..600_u64).prop_map(|horizon| Schedule::Single {
            horizon: (horizon > 100).then_some(horizon)
        }),
        (1..50_u32, 50..200_u32, 1..30_u64).prop_map(|(numerator, denominator, rounds)| {
            let growth = Growth {
                numerator,
                denominator,
            };
            Schedule::Geometric { growth, rounds }
        }),
    ]
}

proptest! {
    /// The definition: `advance`, one push at a time; from any state, for any room.
    #[test]
    fn pushes_taken_together_are_those_one_by_one(
        schedule in schedules(), width in 1..40_u32, start in 0..300_u64, before in 0..3_u64,
        rooms in prop::collection::vec((0..60_u64, 0..80_usize), 1..30),
    ) {
        let (mut first, before) = (start + 1, before.min(start));
        let mut together = schedule.cursor(start - before, width);
        first -= before;
        let mut single = together;
        for (number, room) in rooms {
            let column = together.progress().column;
            let mut steps = vec![0; room];
            let taken = together.take(first, number, &mut steps);
            for (at, &step) in (0..).zip(&steps[..taken]) {
                prop_assert_eq!(single.next_step(), first + u64::from(step));
                prop_assert!(u64::from(step) < number);
                prop_assert_eq!(single.advance(), column + at);
            }
            prop_assert_eq!(together, single);
            let is_full = taken == room.min((width - column) as usize);
            prop_assert!(is_full || single.next_step() - first >= number);
            // Only steps without a push are passed.
            first = (first + number).min(single.next_step());
        }
    }

    #[test]
    fn progress_and_cursor_follow_the_definition(
        schedule in schedules(), width in 1..40_u32, start in 0..300_u64,
    ) {
        let mut cursor = schedule.cursor(start, width);
        for step in start..start + 400 {
            while cursor.next_step() == step && step > start {
                cursor.advance();
            }
            prop_assert_eq!(cursor, schedule.cursor(step, width), "step {}", step);
            let progress = schedule.progress(step, width);
            if step % 37 == 0 {
                for column in 0..width {
                    let expected = pushes_by_definition(&schedule, width, column, step);
                    prop_assert_eq!(progress.pushes(column), expected);
                }
            }
        }
    }
}

proptest! {
    /// Definition: the first step at which the column has all of its pushes.
    #[test]
    fn published_steps_are_the_steps_of_the_last_pushes(
        schedule in schedules(), width in 1..12_u32, step in 0..400_u64,
    ) {
        let found = schedule.published_steps(step, width).unwrap();
        prop_assert_eq!(found.len(), width as usize);
        for (column, &last) in found.iter().enumerate() {
            let pushes = |step| pushes_by_definition(&schedule, width, column as u32, step);
            let first = (0..=step).find(|&earlier| pushes(earlier) == pushes(step));
            prop_assert_eq!(Some(last), first);
        }
    }
}

#[test]
fn no_column_is_pushed_more_often_than_there_are_leaves() {
    for (horizon, width) in [(1, 1), (10, 3), (12, 3), (1 << 20, 1000)] {
        let schedule = Schedule::round_robin(horizon);
        let leaves = schedule.leaves(width);
        assert_eq!(schedule.progress(horizon, width).pushes(0), leaves);
    }
    let schedule = Schedule::geometric();
    let end = schedule.progress(1 << 62, 1);
    assert!(end.pushes(0) <= schedule.leaves(1));
    assert!((2_600..4_096).contains(&end.rounds), "{end:?}");
}

/// What calibration and counters rely on, kind by kind.
#[test]
fn kinds_state_their_leaves_events_and_ends() {
    let (horizon, width) = (1_000, 7);
    let growth = DEFAULT_GROWTH;
    for (schedule, leaves, end, events, all) in [
        (Schedule::round_robin(horizon), 143, Some(horizon), 1, false),
        (
            Schedule::RoundRobin { horizon, period: 3 },
            48,
            Some(horizon),
            1,
            false,
        ),
        (Schedule::Geometric { growth, rounds: 9 }, 9, None, 1, false),
        (Schedule::geometric(), 4096, None, 1, false),
        (
            Schedule::Punctual { horizon },
            horizon,
            Some(horizon),
            1,
            true,
        ),
        (
            Schedule::Batch { horizon },
            horizon,
            Some(horizon),
            1 << 32,
            true,
        ),
        (
            Schedule::Single {
                horizon: Some(horizon),
            },
            1,
            Some(horizon),
            1,
            false,
        ),
        (Schedule::Single { horizon: None }, 1, None, 1, false),
    ] {
        assert_eq!(schedule.leaves(width), leaves, "{schedule:?}");
        assert_eq!(schedule.horizon(), end, "{schedule:?}");
        assert_eq!(schedule.events_per_step(), events, "{schedule:?}");
        assert_eq!(schedule.pushes_everything(), all, "{schedule:?}");
    }
}

/// Lag is at most max(width, 1 %) steps, plus rounding.
#[test]
fn geometric_lag_is_bounded() {
    let (schedule, width) = (Schedule::geometric(), 64);
    let mut cursor = schedule.cursor(0, width);
    let mut last = vec![0; width as usize];
    while cursor.next_step() < 1_000_000 {
        let step = cursor.next_step();
        let column = cursor.advance() as usize;
        let lag = step - last[column];
        let bound = u64::from(width).max(step.div_ceil(100)) + 1;
        assert!(lag <= bound, "column {column}, step {step}: {lag}");
        last[column] = step;
    }
}

#[test]
fn parameters_out_of_range_are_named() {
    let error = Schedule::round_robin(0).validate().unwrap_err().to_string();
    assert!(
        error.starts_with("horizon: expected an integer from 1 to"),
        "{error}"
    );
    assert!(
        Schedule::Punctual {
            horizon: LARGEST_HORIZON + 1
        }
        .validate()
        .is_err()
    );
    assert!(
        Schedule::RoundRobin {
            horizon: 1,
            period: 0
        }
        .validate()
        .is_err()
    );
    let growth = Growth {
        numerator: 1,
        denominator: 0,
    };
    assert!(
        Schedule::Geometric { growth, rounds: 1 }
            .validate()
            .is_err()
    );
    assert!(Schedule::geometric().validate().is_ok());
}

proptest! {
    /// A cursor moved by any number of steps equals a new one at that step.
    #[test]
    fn cursors_move_by_any_number_of_steps(
        schedule in schedules(), width in 1..40_u32, start in 0..600_u64, steps in 0..600_u64,
    ) {
        let before = schedule.cursor(start, width);
        let after = schedule.cursor(start + steps, width);
        prop_assert_eq!(before.moved_to(start + steps), after);
        if after.progress().rounds > before.progress().rounds {
            let mut back = before.one_round_before(&after);
            prop_assert_eq!(back.progress().rounds + 1, after.progress().rounds);
            prop_assert_eq!(back.progress().column, after.progress().column);
            for _ in 0..width {
                back.advance();
            }
            prop_assert_eq!(back, after);
        }
    }
}

/// From every step to every later one, also to the very step of a push and beyond the last round.
#[test]
fn geometric_cursors_stop_where_new_ones_do() {
    for width in 1..5 {
        for rounds in [1, 2, 7, 100] {
            let schedule = Schedule::Geometric {
                growth: DEFAULT_GROWTH,
                rounds,
            };
            for start in 0..60 {
                let before = schedule.cursor(start, width);
                for step in start..60 {
                    assert_eq!(before.moved_to(step), schedule.cursor(step, width));
                }
            }
        }
    }
}

/// Nothing is pending where every column was pushed at the current step; stated for the schedules
/// that push all columns together, and for no table with older pushes.
#[test]
fn nothing_is_pending_where_all_was_pushed_now() {
    for width in [1, 2, 5] {
        for (schedule, together) in [
            (Schedule::round_robin(9), false),
            (Schedule::geometric(), false),
            (Schedule::Punctual { horizon: 9 }, true),
            (Schedule::Batch { horizon: 9 }, true),
            (Schedule::Single { horizon: Some(9) }, true),
            (Schedule::Single { horizon: None }, true),
        ] {
            for step in 1..=9 {
                let pushed = schedule.published_steps(step, width).unwrap();
                let all_now = pushed.iter().all(|&pushed| pushed == step);
                let stated = schedule.nothing_pending(schedule.progress(step, width));
                assert_eq!(stated, together && all_now, "{schedule:?} {step}");
            }
        }
    }
}

#[test]
fn numbers_of_last_pushes_are_zero_where_there_is_none() {
    let of = |rounds, column| Progress { rounds, column }.last_pushes().numbers;
    assert_eq!(
        [of(0, 0), of(3, 0), of(0, 2), of(3, 2)],
        [[0, 0], [3, 0], [0, 1], [3, 4]]
    );
}
