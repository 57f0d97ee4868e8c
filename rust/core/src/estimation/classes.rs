//! Groups of columns whose cells have one error distribution.
//!
//! Columns that were pushed later hold more collisions, and the noise differs between push numbers.
//! A *class* has one variance of the noise to a twentieth, and published steps within an eighth of
//! each other.
//! Classes that are neighbours in age form a *group* until it has enough cells for a density. In a
//! group of several classes, the errors of a class with more than the mean variance are taken as
//! wider by a *stretch*.

/// Fewest cells of a group, if the table has as many.
const FEWEST_CELLS: usize = 512;
/// Most groups, so that few combinations of rows occur.
const MOST_GROUPS: usize = 8;
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
        (published > 0.0).then(|| Self::with(published, rounded(variance)))
    }

    fn with(published: f64, variance: f64) -> Self {
        Self {
            age: (published.max(1.0).ln() / LOG_OF_AN_EIGHTH).floor(),
            variance,
        }
    }

    fn order(&self, other: &Self) -> std::cmp::Ordering {
        let age = self.age.total_cmp(&other.age);
        age.then(self.variance.total_cmp(&other.variance))
    }
}

/// The classes of columns, in order. Neighbours mostly have one variance, which is rounded once.
pub(super) fn classes_of(
    published: &[f64],
    variance: &[f64],
) -> impl ExactSizeIterator<Item = Option<Class>> {
    let (mut last, mut stands) = (0.0_f64, 0.0);
    published.iter().zip(variance).map(move |(&step, &noise)| {
        if noise.to_bits() != last.to_bits() {
            (last, stands) = (noise, rounded(noise));
        }
        (step > 0.0).then(|| Class::with(step, stands))
    })
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
    pub(super) fn of(classes: impl Iterator<Item = Option<Class>>, depth: usize) -> Self {
        let mut members = Self::default();
        classes.flatten().for_each(|class| members.add(class));
        members.form_groups(depth);
        members
    }

    /// Where a class is, or would be inserted.
    pub(super) fn find(&self, class: &Class) -> Result<usize, usize> {
        self.0.binary_search_by(|member| member.class.order(class))
    }

    /// Adds a column; the groups are to be formed again.
    pub(super) fn add(&mut self, class: Class) {
        match self.find(&class) {
            Ok(at) => self.0[at].columns += 1,
            Err(at) => self.0.insert(
                at,
                Member {
                    class,
                    columns: 1,
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

    fn classes(ages: &[(f64, usize)]) -> Vec<Option<Class>> {
        let columns = ages.iter();
        columns
            .flat_map(|&(steps, columns)| std::iter::repeat_n(Class::of(steps, 1.0), columns))
            .collect()
    }

    #[test]
    fn groups_have_enough_cells_and_follow_age() {
        let all = classes(&[(100.0, 200), (1_000.0, 3), (2_000.0, 150), (0.0, 7)]);
        let members = Members::of(all.into_iter(), 4);
        assert_eq!(members.groups(), 2);
        let groups: Vec<_> = members.0.iter().map(|member| member.group).collect();
        assert_eq!(groups, [0, 1, 1]);
        assert_eq!(Members::of(classes(&[(0.0, 9)]).into_iter(), 4).groups(), 0);
        assert_eq!(
            Members::of(classes(&[(1.0, 2), (9.0, 2)]).into_iter(), 4).groups(),
            1
        );
    }

    #[test]
    fn moving_columns_ends_in_the_same_groups() {
        let before = classes(&[(100.0, 300), (120.0, 200)]);
        let after = classes(&[(100.0, 200), (120.0, 300)]);
        let mut moved = Members::of(before.into_iter(), 4);
        for _ in 0..100 {
            moved.remove(Class::of(100.0, 1.0).unwrap());
            moved.add(Class::of(120.0, 1.0).unwrap());
        }
        moved.form_groups(4);
        assert_eq!(moved, Members::of(after.into_iter(), 4));
    }
}
