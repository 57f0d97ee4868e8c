//! Which names are best taken out for estimates.
//!
//! Those without which the errors of a row are smallest that did not know of them. Source: M. Stone
//! 1974 (cross-validation).

use super::care::Care;
use super::cells::Extrapolated;
use super::choice::{Chosen, Likely};
use super::fit::Fitted;
use super::listed::{Listed, is_short};
use crate::{Result, memory};
use std::ops::Range;

/// Largest spread of the errors, relative to that before, with which it pays to take names out.
const PAYS: f64 = 0.97;
/// The same if that is so clear that no row is asked; and what noise alone has to leave to gain before
/// names are looked for.
const CLEARLY_PAYS: f64 = 0.9;
/// Twice the deviation of the range of one normal value, relative to that range: of n values it is
/// smaller by the root of n.
const UNSURE: f64 = 2.33;
/// The part of a list that has occurred from which the others may be taken out too.
const NEARLY_ALL: f64 = 0.8;
/// Range of the middle half of a normal distribution, in standard deviations.
const MIDDLE_HALF: f64 = 1.349;
/// Cells of the rows by which this is decided, at least.
const TRIED: usize = 1024;

/// The names that are best taken out.
#[derive(Debug)]
pub(super) enum Best {
    /// None.
    Nothing,
    /// Those that are taken out for intervals.
    AsForIntervals,
    These(Box<Chosen>),
}

/// Whether nothing is best, whichever names they are.
pub(super) fn nothing_pays(names: usize, facts: &Extrapolated) -> Result<bool> {
    if names < 2 || facts.depth < 2 {
        return Ok(true);
    }
    if facts.depth == 2 || names > facts.table.len() || all_cost_nothing(names, facts) {
        return Ok(false);
    }
    let [noise, _] = least_ranges(names, facts);
    // Few cells may have a small range by chance.
    let cells = (tried_rows(facts).len() * facts.width) as f64;
    let surely_pays = CLEARLY_PAYS + UNSURE / cells.sqrt();
    Ok(noise > surely_pays * range_as_it_is(facts)?)
}

/// What is best for a list, if [`nothing_pays`] does not say it.
pub(super) fn best_of(listed: &Listed) -> Result<Best> {
    let (names, facts) = (listed.names(), &listed.facts);
    if names < 2 {
        return Ok(Best::Nothing); // one name, more than once
    }
    if names > facts.table.len() || facts.depth > 2 && all_cost_nothing(names, facts) {
        // Few names of a long list are taken out, and no weak ones: that costs nothing either.
        return Ok(Best::AsForIntervals);
    }
    if facts.depth == 2 {
        if names > facts.width / 2 {
            return Ok(Best::Nothing);
        }
        return if_it_pays(listed, &Likely::of(listed, None)?);
    }
    let likely = Likely::of(listed, None)?;
    let fitted = &likely.chosen.fitted;
    if lowers(CLEARLY_PAYS, fitted, listed) {
        let occurred = fitted.number();
        if occurred as f64 >= NEARLY_ALL * names as f64 {
            return all(listed, &likely.chosen).map(these);
        }
        let deviation = fitted.spread / own_share(fitted).sqrt();
        let [_, least_of_all] = least_ranges(names, facts);
        if range_beyond(occurred, deviation, facts) <= PAYS * least_of_all {
            return likely.fitted(listed).map(these);
        }
    }
    best_for_unknown_rows(listed, &likely)
}

/// What is best for rows that did not take part in the choice: nothing, the names that have occurred
/// or all.
fn best_for_unknown_rows(listed: &Listed, likely: &Likely) -> Result<Best> {
    let rows = tried_rows(&listed.facts);
    let number = rows.len() as f64;
    let (mut by_occurred, mut by_all) = (0.0, f64::INFINITY);
    let mut tried = memory::room_for(rows.len())?;
    for row in rows {
        let others = listed.without_row(row)?;
        let found = Likely::of(&others, Some((likely, listed)))?;
        by_occurred += range_of_row(listed, row, &others, &found.chosen)? / number;
        tried.push((row, others, found));
    }
    let none = range_as_it_is(&listed.facts)?;
    let [_, least_of_all] = least_ranges(listed.names(), &listed.facts);
    if least_of_all <= by_occurred.min(PAYS * none) {
        by_all = 0.0;
        for (row, others, found) in &tried {
            let chosen = all(others, &found.chosen)?;
            by_all += range_of_row(listed, *row, others, &chosen)? / number;
        }
    }
    if by_all.min(by_occurred) > PAYS * none {
        Ok(Best::Nothing)
    } else if by_all <= by_occurred {
        all(listed, &likely.chosen).map(these)
    } else {
        if_it_pays(listed, likely)
    }
}

/// The names that have occurred, if the errors that they leave are smaller.
fn if_it_pays(listed: &Listed, likely: &Likely) -> Result<Best> {
    let chosen = likely.fitted(listed)?;
    if lowers(PAYS, &chosen.fitted, listed) {
        Ok(these(chosen))
    } else {
        Ok(Best::Nothing)
    }
}

fn these(chosen: Chosen) -> Best {
    Best::These(Box::new(chosen))
}

/// All names, whose counts are looked for from those that are known.
fn all(listed: &Listed, known: &Chosen) -> Result<Chosen> {
    Chosen::all(listed, Some(known), Care::Fine)
}

/// Whether it costs next to nothing to take out all names of a short list, even those that never
/// occurred.
fn all_cost_nothing(names: usize, facts: &Extrapolated) -> bool {
    let [noise, least_of_all] = least_ranges(names, facts);
    is_short(names, facts) && PAYS * least_of_all <= noise
}

/// Whether what is left spreads less than this part of the table.
fn lowers(part: f64, fitted: &Fitted, listed: &Listed) -> bool {
    fitted.spread <= part * own_share(fitted) * listed.background.spread
}

/// What each fitted count leaves of the errors in its own cells, even of an absent name.
pub(super) fn own_share(fitted: &Fitted) -> f64 {
    1.0 - fitted.number() as f64 / fitted.errors.len() as f64
}

/// The rows by which a choice is tried; of narrow tables, whose rows have few cells, more. A list is in
/// the order of the first rows: without the last ones it still is.
fn tried_rows(facts: &Extrapolated) -> Range<usize> {
    let number = (TRIED / facts.width).clamp(1, facts.depth);
    facts.depth - number..facts.depth
}

/// What noise alone leaves of the range of a row: in any case, and if the other rows take out all
/// names.
fn least_ranges(names: usize, facts: &Extrapolated) -> [f64; 2] {
    let all = match 2 * names > facts.table.len() {
        true => f64::INFINITY,
        false => range_beyond(names, facts.noise, facts),
    };
    [MIDDLE_HALF * facts.noise, all]
}

/// The range of a row if the other rows take out some names and errors have this deviation. The
/// variance of a count that they fit is that of a regression with random cells: that of the errors over
/// the number of rows and over the part of their cells that is left for errors.
fn range_beyond(names: usize, deviation: f64, facts: &Extrapolated) -> f64 {
    let (per_column, others) = (names as f64 / facts.width as f64, (facts.depth - 1) as f64);
    let left = 1.0 - per_column / others;
    if left <= 0.0 {
        return f64::INFINITY;
    }
    MIDDLE_HALF * deviation * (1.0 + per_column / (others * left)).sqrt()
}

/// The mean range of the rows by which a choice is tried.
fn range_as_it_is(facts: &Extrapolated) -> Result<f64> {
    let rows = tried_rows(facts);
    let number = rows.len() as f64;
    let mut sum = 0.0;
    for row in rows {
        sum += range_of(&mut memory::copied(facts.row(row))?);
    }
    Ok(sum / number)
}

/// The range of a row without the counts of names that the others chose.
fn range_of_row(listed: &Listed, row: usize, others: &Listed, chosen: &Chosen) -> Result<f64> {
    let depth = listed.facts.depth;
    let first = row * listed.facts.width;
    let mut errors = memory::copied(listed.facts.row(row))?;
    let mut counts = chosen.counts();
    let names = listed.list.chunks_exact(depth);
    for (own, known) in names.zip(others.list.chunks_exact(depth - 1)) {
        let cell = own[row];
        errors[cell.at as usize - first] -= counts.of(known) * f64::from(cell.sign);
    }
    Ok(range_of(&mut errors))
}

/// The range of the middle half of values.
fn range_of(values: &mut [f64]) -> f64 {
    let quarter = values.len() / 4;
    let last = values.len() - 1 - quarter;
    let (below, high, _) = values.select_nth_unstable_by(last, f64::total_cmp);
    let high = *high;
    if below.len() <= quarter {
        return 0.0; // a single value
    }
    let (_, low, _) = below.select_nth_unstable_by(quarter, f64::total_cmp);
    high - *low
}

#[cfg(test)]
mod tests {
    use super::super::cells::{Background, Cell, mixed};
    use super::*;
    use std::sync::Arc;

    /// A table of names with this count each and of noise with the deviation 9.
    fn table(signed: bool, [depth, width, names]: [usize; 3], count: f64) -> Listed {
        let mut state = 7_u64;
        let mut draw = |end: usize| {
            state = mixed(state);
            ((u128::from(state) * end as u128) >> 64) as usize
        };
        let (mut table, mut list) = (vec![0.0; depth * width], Vec::new());
        for _ in 0..names {
            for row in 0..depth {
                let at = row * width + draw(width);
                let sign = if signed && draw(2) == 1 { -1.0 } else { 1.0 };
                table[at] += count * f64::from(sign);
                list.push(Cell {
                    at: at as u32,
                    sign,
                });
            }
        }
        // The sum of twelve uniform numbers has the variance 12 / 12.
        let mut normal = || (0..12).map(|_| draw(1 << 20) as f64).sum::<f64>() / 1_048_576.0 - 6.0;
        table.iter_mut().for_each(|value| *value += 9.0 * normal());
        let facts = Extrapolated {
            signed,
            depth,
            width,
            table,
            noise: 9.0,
        };
        Listed {
            background: Background::of(&facts).unwrap(),
            list,
            facts: Arc::new(facts),
        }
    }

    #[test]
    fn what_noise_leaves_of_a_range_is_hardly_more_than_what_is_found() {
        for (signed, shape) in [
            (true, [3, 4096, 1000]),
            (true, [4, 4096, 4000]),
            (true, [3, 4096, 5000]),
            (false, [5, 4096, 2000]),
        ] {
            let whole = table(signed, shape, 500.0);
            let others = whole.without_row(0).unwrap();
            let all = Chosen::all(&others, None, Care::Exact).unwrap();
            let found = range_of_row(&whole, 0, &others, &all).unwrap();
            let [noise, predicted] = least_ranges(whole.names(), &whole.facts);
            // A range of 4,096 values is known to 2 %.
            let part = predicted / found;
            assert!(
                (0.8..1.06).contains(&part),
                "{shape:?}: {predicted} {found}"
            );
            assert!(noise < predicted);
        }
    }

    /// Noise leaves nine tenths of the range, and somewhat more: a range of 1,024 values is known to
    /// 4 %, one of 65,536 to half of a percent.
    #[test]
    fn names_are_looked_for_if_only_a_few_cells_say_that_none_pays() {
        for (width, expected) in [(1 << 10, false), (1 << 16, true)] {
            let listed = table(true, [3, width, width * 13 / 100], 12.0);
            let (names, facts) = (listed.names(), &listed.facts);
            let part = MIDDLE_HALF * facts.noise / range_as_it_is(facts).unwrap();
            assert!((0.91..0.96).contains(&part), "{width}: {part}");
            assert_eq!(nothing_pays(names, facts).unwrap(), expected, "{width}");
        }
    }
}
