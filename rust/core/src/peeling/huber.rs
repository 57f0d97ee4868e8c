//! The change of one count that lowers the loss of its cells most. Source: P. Huber 1964.

use super::cells::Cell;

/// Weight of the square of a count, which decides between names with equal cells.
const RIDGE: f64 = 1e-6;
/// Pieces of the loss that are tried before all of them are put in order.
const TRIED: usize = 6;
/// Where the loss becomes linear, in spreads: below and above, without and with signs.
const BELOW: f64 = 2.0;
const ABOVE: f64 = 1.5;
const BOTH: f64 = 2.5;
/// Rows up to which little room is cleared for their errors.
const FEW: usize = 8;

/// Where the loss of errors with this spread becomes linear, below and above.
pub(super) fn clips_of(spread: f64, signed: bool) -> (f64, f64) {
    if signed {
        (BOTH * spread, BOTH * spread)
    } else {
        (BELOW * spread, ABOVE * spread)
    }
}

/// The change of one count that minimises the loss of its cells.
pub(super) fn best_change(own: &[Cell], count: f64, errors: &[f64], clips: (f64, f64)) -> f64 {
    let (mut few, mut many);
    let (own_errors, ends) = if own.len() <= FEW {
        few = ([0.0; FEW], [0.0; 2 * FEW]);
        (&mut few.0[..own.len()], &mut few.1[..2 * own.len()])
    } else {
        many = ([0.0; 64], [0.0; 128]);
        (&mut many.0[..own.len()], &mut many.1[..2 * own.len()])
    };
    for (cell, error) in own.iter().zip(&mut *own_errors) {
        *error = errors[cell.at as usize] * f64::from(cell.sign);
    }
    near(own_errors, count, clips).unwrap_or_else(|| anywhere(own_errors, count, ends, clips))
}

/// The change, if it is found by a few steps from none: each goes to where the slope would be 0 if
/// the loss of each error went on as it is (Newton's method, exact where no error changes its piece).
#[inline]
fn near(own_errors: &[f64], count: f64, (below, above): (f64, f64)) -> Option<f64> {
    let (mut change, mut pieces) = (0.0, None);
    for _ in 0..TRIED {
        let (mut inside, mut high, mut sum) = (0_u64, 0_u64, -RIDGE * count);
        for (at, error) in own_errors.iter().enumerate() {
            let rest = error - change;
            let clipped = rest.clamp(-below, above);
            let is_inside = clipped == rest;
            inside |= u64::from(is_inside) << at;
            high |= u64::from(rest > above) << at;
            sum += if is_inside { *error } else { clipped };
        }
        if pieces == Some((inside, high)) {
            return Some(change);
        }
        if inside == 0 {
            return None;
        }
        pieces = Some((inside, high));
        change = sum / (f64::from(inside.count_ones()) + RIDGE);
    }
    None
}

/// The change, from the slopes at the ends of all pieces.
fn anywhere(own_errors: &[f64], count: f64, ends: &mut [f64], (below, above): (f64, f64)) -> f64 {
    // The slope of the loss grows with the change and is linear between these ends.
    for (error, ends) in own_errors.iter().zip(ends.chunks_exact_mut(2)) {
        (ends[0], ends[1]) = (error - above, error + below);
    }
    ends.sort_unstable_by(f64::total_cmp);
    let slope = |change: f64| {
        let losses = own_errors
            .iter()
            .map(|error| (error - change).clamp(-below, above));
        RIDGE * (count + change) - losses.sum::<f64>()
    };
    let after = ends.partition_point(|&end| slope(end) < 0.0);
    if after == 0 || after == ends.len() {
        return ends[after.min(ends.len() - 1)];
    }
    let (low, high) = (ends[after - 1], ends[after]);
    let (at_low, at_high) = (slope(low), slope(high));
    low + (high - low) * at_low / (at_low - at_high)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Loss of a change, by its definition.
    fn loss(own: &[Cell], count: f64, errors: &[f64], clips: (f64, f64), change: f64) -> f64 {
        let huber = |error: f64| {
            let clip = if error < 0.0 { clips.0 } else { clips.1 };
            let size = error.abs();
            if size <= clip {
                size * size / 2.0
            } else {
                clip * (size - clip / 2.0)
            }
        };
        let cells = own.iter().map(|cell| {
            let sign = f64::from(cell.sign);
            huber(errors[cell.at as usize] * sign - change)
        });
        cells.sum::<f64>() + RIDGE / 2.0 * (count + change).powi(2)
    }

    fn cells_of(signs: &[f32]) -> Vec<Cell> {
        let cells = signs.iter().enumerate();
        cells
            .map(|(at, &sign)| Cell {
                at: at as u32,
                sign,
            })
            .collect()
    }

    #[test]
    fn a_change_minimises_the_loss() {
        let errors = [3.0, -50.0, 7.5, 40.0, 0.25];
        for signs in [[1.0; 5], [1.0, -1.0, -1.0, 1.0, -1.0]] {
            let own = cells_of(&signs);
            for clips in [(2.0, 1.5), (20.0, 15.0), (200.0, 200.0)] {
                let found = best_change(&own, 10.0, &errors, clips);
                let least = loss(&own, 10.0, &errors, clips, found);
                for nearby in -4000..4000 {
                    let other = f64::from(nearby) / 50.0;
                    assert!(
                        loss(&own, 10.0, &errors, clips, other) >= least - 1e-9,
                        "{clips:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn both_ways_lead_to_one_change() {
        let mut found = 0;
        for at in 0..4_000_u64 {
            let error = |row: u64| (super::super::cells::mixed(at * 8 + row) % 400) as f64 - 200.0;
            let errors: Vec<f64> = (0..2 + at % 5).map(error).collect();
            let (clips, count) = ((70.0, 40.0), at as f64 - 2_000.0);
            let mut ends = vec![0.0; 2 * errors.len()];
            if let Some(change) = near(&errors, count, clips) {
                let wanted = anywhere(&errors, count, &mut ends, clips);
                assert!((change - wanted).abs() < 1e-9, "{change} for {wanted}");
                found += 1;
            }
        }
        assert!(found > 2_000, "{found}");
    }
}
