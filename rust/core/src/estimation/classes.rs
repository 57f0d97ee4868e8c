//! Groups of columns whose cells have one error distribution.
//!
//! Columns that were pushed later hold more collisions, and the noise differs between push numbers.
//! A *class* has one variance of the noise to a twentieth, and published steps within an eighth of
//! each other.
//! Classes that are neighbours in age form a *group* until it has enough cells for a density. In a
//! group of several classes, the errors of a class with more than the mean variance are taken as
//! wider by a *stretch*.

use crate::{Result, memory};
use std::ops::Range;

/// Fewest cells of a group, if the table has as many.
const FEWEST_CELLS: usize = 512;
/// Most groups, so that few combinations of rows occur.
const MOST_GROUPS: usize = 8;
/// Part by which a step may seem larger or smaller when its age is rounded, and much more.
const ROUNDED: f64 = 1e-12;
const LOG_OF_AN_EIGHTH: f64 = 0.117_783_035_656_383_45; // ln(1.125)
/// Ratio of the variances of neighbouring classes, as a logarithm.
const LOG_OF_A_TWENTIETH: f64 = 0.048_790_164_169_432; // ln(1.05)

/// What a column shares with the others of its class.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub(super) struct Class {
    age: f64,
    pub(super) variance: f64,
}

impl Class {
    /// The class of a column; `None` before its first push.
    pub(super) fn of(published: f64, variance: f64) -> Option<Self> {
        (published > 0.0).then(|| Self {
            age: (published.max(1.0).ln() / LOG_OF_AN_EIGHTH).floor(),
            variance: rounded(variance),
        })
    }

    /// Published steps that are surely of this age, however logarithms are rounded.
    fn steps(self) -> Range<f64> {
        let first = |age: f64| (age * LOG_OF_AN_EIGHTH).exp();
        first(self.age) * (1.0 + ROUNDED)..first(self.age + 1.0) * (1.0 - ROUNDED)
    }

    fn order(&self, other: &Self) -> std::cmp::Ordering {
        let age = self.age.total_cmp(&other.age);
        age.then(self.variance.total_cmp(&other.variance))
    }
}

/// Neighbouring columns of one class.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Run {
    /// None before their first push.
    pub(super) class: Option<Class>,
    pub(super) columns: usize,
}

/// The classes of columns, in order. Neighbours mostly have one: it is found once for a run of them.
pub(super) fn runs_of(published: &[f64], variance: &[f64]) -> Result<Vec<Run>> {
    let mut runs: Vec<Run> = Vec::new();
    let (mut last, mut known) = (0.0_f64, 0.0..0.0);
    for (&step, &noise) in published.iter().zip(variance) {
        if let Some(run) = runs.last_mut()
            && noise.to_bits() == last.to_bits()
            && known.contains(&step)
        {
            run.columns += 1;
            continue;
        }
        let class = Class::of(step, noise);
        (last, known) = (noise, class.map_or(0.0..0.0, |class| class.steps()));
        match runs.last_mut() {
            Some(run) if run.class == class => run.columns += 1,
            _ => memory::push(&mut runs, Run { class, columns: 1 })?,
        }
    }
    Ok(runs)
}

/// A variance that stands for those within a fortieth of it.
fn rounded(variance: f64) -> f64 {
    match variance > 0.0 {
        true => ((variance.ln() / LOG_OF_A_TWENTIETH).round() * LOG_OF_A_TWENTIETH).exp(),
        false => 0.0,
    }
}

/// A class with the number of its columns, and its group.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Member {
    pub(super) class: Class,
    pub(super) columns: usize,
    pub(super) group: usize,
}

/// The classes of a table in order, with their groups.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Members(pub(super) Vec<Member>);

impl Members {
    /// Counts columns per class, and forms the groups.
    pub(super) fn of(runs: &[Run], depth: usize) -> Self {
        let mut members = Self::default();
        for run in runs {
            if let Some(class) = run.class {
                members.add(class, run.columns);
            }
        }
        members.form_groups(depth);
        members
    }

    /// Where a class is, or would be inserted.
    pub(super) fn find(&self, class: &Class) -> std::result::Result<usize, usize> {
        self.0.binary_search_by(|member| member.class.order(class))
    }

    /// Adds columns; the groups are to be formed again.
    pub(super) fn add(&mut self, class: Class, columns: usize) {
        match self.find(&class) {
            Ok(at) => self.0[at].columns += columns,
            Err(at) => self.0.insert(
                at,
                Member {
                    class,
                    columns,
                    group: 0,
                },
            ),
        }
    }

    /// Removes a column; the groups are to be formed again.
    pub(super) fn remove(&mut self, class: Class) {
        if let Ok(at) = self.find(&class) {
            self.0[at].columns -= 1;
            if self.0[at].columns == 0 {
                self.0.remove(at);
            }
        }
    }

    /// Forms groups of neighbouring classes with enough cells each.
    pub(super) fn form_groups(&mut self, depth: usize) {
        let columns: usize = self.0.iter().map(|member| member.columns).sum();
        let wanted = FEWEST_CELLS.div_ceil(depth).max(columns / MOST_GROUPS);
        let (mut group, mut gathered, mut rest) = (0, 0, columns);
        for member in &mut self.0 {
            member.group = group;
            gathered += member.columns;
            rest -= member.columns;
            // The last group takes classes that would be too few on their own.
            if gathered >= wanted && rest >= wanted {
                (group, gathered) = (group + 1, 0);
            }
        }
    }

    /// Number of groups.
    pub(super) fn groups(&self) -> usize {
        self.0.last().map_or(0, |member| member.group + 1)
    }

    /// The mean variance of the noise in a group.
    pub(super) fn mean_variance(&self, group: usize) -> f64 {
        let (mut sum, mut columns) = (0.0, 0);
        for member in self.0.iter().filter(|member| member.group == group) {
            sum += member.class.variance * member.columns as f64;
            columns += member.columns;
        }
        sum / columns.max(1) as f64
    }

    /// True if every class is in the same group in both.
    pub(super) fn same_groups(&self, other: &Self) -> bool {
        let same =
            |(one, two): (&Member, &Member)| one.class == two.class && one.group == two.group;
        self.0.len() == other.0.len() && self.0.iter().zip(&other.0).all(same)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(ages: &[(f64, usize)]) -> Vec<Run> {
        let runs = ages.iter().map(|&(steps, columns)| Run {
            class: Class::of(steps, 1.0),
            columns,
        });
        runs.collect()
    }

    /// Steps one after the other and far apart, at both ends of every age, before the first push and
    /// below 1; variances that change with them or within an age.
    #[test]
    fn runs_are_the_classes_of_columns_one_by_one() {
        let mut published: Vec<f64> = (0..4_000).map(f64::from).collect();
        published.extend((0..300).map(|age| (f64::from(age) * LOG_OF_AN_EIGHTH).exp()));
        published.extend([0.0, 0.5, 1.0, 0.0, 0.0, 1e300, 2.0_f64.powi(53)]);
        for at in 0..3_000 {
            published.push(((at * 7_919) % 100_003) as f64 + 0.25);
        }
        let variance = |at: usize| match at % 900 {
            0..400 => 3.5,
            _ => (at / 7) as f64,
        };
        let variance: Vec<f64> = (0..published.len()).map(variance).collect();
        let each = published.iter().zip(&variance);
        let wanted: Vec<_> = each.map(|(&step, &noise)| Class::of(step, noise)).collect();
        let runs = runs_of(&published, &variance).unwrap();
        let found = runs.iter();
        let found = found.flat_map(|run| std::iter::repeat_n(run.class, run.columns));
        assert_eq!(found.collect::<Vec<_>>(), wanted);
        assert!(runs.windows(2).all(|pair| pair[0].class != pair[1].class));
    }

    #[test]
    fn groups_have_enough_cells_and_follow_age() {
        let all = runs(&[(100.0, 200), (1_000.0, 3), (2_000.0, 150), (0.0, 7)]);
        let members = Members::of(&all, 4);
        assert_eq!(members.groups(), 2);
        let groups: Vec<_> = members.0.iter().map(|member| member.group).collect();
        assert_eq!(groups, [0, 1, 1]);
        assert_eq!(Members::of(&runs(&[(0.0, 9)]), 4).groups(), 0);
        assert_eq!(Members::of(&runs(&[(1.0, 2), (9.0, 2)]), 4).groups(), 1);
    }

    #[test]
    fn moving_columns_ends_in_the_same_groups() {
        let before = runs(&[(100.0, 300), (120.0, 200)]);
        let after = runs(&[(100.0, 200), (120.0, 300)]);
        let mut moved = Members::of(&before, 4);
        for _ in 0..100 {
            moved.remove(Class::of(100.0, 1.0).unwrap());
            moved.add(Class::of(120.0, 1.0).unwrap(), 1);
        }
        moved.form_groups(4);
        assert_eq!(moved, Members::of(&after, 4));
    }
}
