//! The errors of a public table: which cells have which distribution.

use super::classes::{Class, Members, Run, runs_of};
use super::group::{Group, size_of};
use super::ordered::Ordered;
use crate::{Error, Result, memory};
use std::iter;
use std::sync::Arc;

/// A public table with what is known of its cells.
#[derive(Debug)]
pub struct TableErrors {
    /// True for Count Sketch, whose errors have both signs.
    pub signed: bool,
    /// False for counters, which do not collide.
    pub collisions: bool,
    /// Rows.
    pub depth: usize,
    /// Released values, row by row; a release may have the same.
    pub table: Arc<Vec<i64>>,
    /// Step up to which the cells of each column are published; 0 before its first push.
    pub published: Vec<f64>,
    /// Variance of the noise in the cells of each column.
    pub variance: Vec<f64>,
    /// This step.
    pub step: f64,
}

impl TableErrors {
    /// The same facts of a table with other values.
    pub fn with(&self, table: Arc<Vec<i64>>) -> Result<Self> {
        Ok(Self {
            table,
            published: memory::copied(&self.published)?,
            variance: memory::copied(&self.variance)?,
            ..*self
        })
    }
}

/// The error distributions of the cells of a table, which estimates and intervals use.
#[derive(Debug)]
pub struct ErrorModel {
    pub(super) facts: TableErrors,
    members: Members,
    /// Where the class of each column is among the members; [`NOWHERE`] before its first push.
    places: Vec<u32>,
    /// Width of the errors of each class, relative to those of its group.
    stretches: Vec<f64>,
    pub(super) groups: Vec<Group>,
}

const NOWHERE: u32 = u32::MAX;
/// Cells that say where the others are.
const SAMPLE: usize = 1 << 14;

/// One cell of an item.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Released value, times the item's sign.
    pub value: f64,
    /// Published part of the steps.
    pub share: f64,
    pub(super) group: usize,
    pub(super) stretch: f64,
    pub(super) variance: f64,
}

impl ErrorModel {
    /// The model of a table.
    pub fn of(facts: TableErrors) -> Result<Self> {
        let width = facts.published.len();
        if facts.table.len() != facts.depth * width || facts.variance.len() != width || width == 0 {
            let wanted = "a table with a step and a variance for each column";
            return Err(Error::parameter("table", wanted, "other sizes"));
        }
        let runs = runs_of(&facts.published, &facts.variance)?;
        let mut model = Self {
            members: Members::of(&runs, facts.depth),
            facts,
            places: Vec::new(),
            stretches: Vec::new(),
            groups: Vec::new(),
        };
        model.form_groups(&runs)?;
        model.prepare()?;
        Ok(model)
    }

    /// The values, without their errors.
    pub fn into_table(self) -> Result<Vec<i64>> {
        Arc::try_unwrap(self.facts.table).or_else(|shared| memory::copied(&shared))
    }

    /// The table.
    pub fn table(&self) -> &TableErrors {
        &self.facts
    }

    /// Number of columns.
    pub fn width(&self) -> usize {
        self.facts.published.len()
    }

    /// Number of rows.
    pub fn depth(&self) -> usize {
        self.facts.depth
    }

    /// The released value of a cell.
    #[inline]
    pub fn value(&self, row: usize, column: usize) -> i64 {
        self.facts.table[row * self.facts.published.len() + column]
    }

    /// The part of the steps up to which a column is published.
    #[inline]
    pub fn share(&self, column: usize) -> f64 {
        self.facts.published[column] / self.facts.step
    }

    /// What is known of an item's cell with this value, times the item's sign; `None` before the
    /// first push of its column.
    #[inline]
    pub fn row(&self, column: usize, value: f64) -> Option<Row> {
        let at = self.places[column] as usize;
        let member = self.members.0.get(at)?;
        Some(Row {
            value,
            share: self.share(column),
            group: member.group,
            stretch: self.stretches[at],
            variance: self.facts.variance[column],
        })
    }

    /// Moves to another step.
    pub fn set_step(&mut self, step: f64) {
        self.facts.step = step;
    }

    /// Replaces the values of a column that was pushed; [`Self::prepare`] has to follow.
    pub fn replace(&mut self, column: usize, values: &[i64], published: f64, variance: f64) {
        let width = self.facts.published.len();
        let (old, new) = (self.class(column), Class::of(published, variance));
        let before = self.members.clone();
        if let Some(class) = old {
            self.members.remove(class);
        }
        if let Some(class) = new {
            self.members.add(class, 1);
        }
        self.members.form_groups(self.facts.depth);
        let same = self.members.same_groups(&before) && !self.groups.is_empty();
        let group_of = |members: &Members, class: &Class| {
            members.find(class).ok().map(|at| members.0[at].group)
        };
        let table = Arc::make_mut(&mut self.facts.table);
        for (row, &value) in values.iter().enumerate() {
            let cell = &mut table[row * width + column];
            if same {
                if let Some(group) = old.and_then(|class| group_of(&self.members, &class)) {
                    self.groups[group].remove(*cell);
                }
                if let Some(group) = new.and_then(|class| group_of(&self.members, &class)) {
                    self.groups[group].add(value);
                }
            }
            *cell = value;
        }
        self.facts.published[column] = published;
        self.facts.variance[column] = variance;
        if same {
            self.places[column] = self.place(new);
        } else {
            self.groups.clear();
        }
    }

    /// Computes what the next read needs.
    pub fn prepare(&mut self) -> Result<()> {
        if self.groups.is_empty() {
            let runs = runs_of(&self.facts.published, &self.facts.variance)?;
            self.form_groups(&runs)?;
        }
        let tail = self.tail_of_one_row(self.facts.depth);
        for group in &mut self.groups {
            group.prepare(tail)?;
        }
        self.stretches.clear();
        for member in &self.members.0 {
            let lacking = member.class.variance - self.members.mean_variance(member.group);
            let deviation = self.groups[member.group].deviation;
            let stretch = (1.0 + lacking.max(0.0) / (deviation * deviation)).sqrt();
            self.stretches.push(stretch);
        }
        Ok(())
    }

    /// The class of a column; `None` before its first push.
    fn class(&self, column: usize) -> Option<Class> {
        Class::of(self.facts.published[column], self.facts.variance[column])
    }

    /// Where a class is among the members.
    fn place(&self, class: Option<Class>) -> u32 {
        let at = class.and_then(|class| self.members.find(&class).ok());
        at.map_or(NOWHERE, |at| at as u32)
    }

    fn form_groups(&mut self, runs: &[Run]) -> Result<()> {
        let mut places = memory::room_for(self.width())?;
        for run in runs {
            places.extend(iter::repeat_n(self.place(run.class), run.columns));
        }
        self.places = places;
        let values = self.values_of_groups()?.into_iter();
        self.groups = values
            .map(|values| Group::of(values, self.facts.signed))
            .collect();
        Ok(())
    }

    /// The values of each group.
    fn values_of_groups(&self) -> Result<Vec<Ordered>> {
        let (table, width, signed) = (&self.facts.table, self.width(), self.facts.signed);
        let group_at = |place: u32| {
            self.members
                .0
                .get(place as usize)
                .map(|member| member.group)
        };
        let mut columns = vec![0; self.members.groups()];
        for member in self.members.0.iter().filter(|_| self.facts.collisions) {
            columns[member.group] += member.columns;
        }
        let mut samples = vec![Vec::new(); columns.len()];
        for at in (0..table.len()).step_by((table.len() / SAMPLE) | 1) {
            if let Some(group) = group_at(self.places[at % width]) {
                memory::push(&mut samples[group], size_of(table[at], signed))?;
            }
        }
        let rooms = columns.iter().zip(&mut samples);
        let rooms =
            rooms.map(|(&columns, sample)| Ordered::with_room(columns * self.facts.depth, sample));
        let mut values = rooms.collect::<Result<Vec<_>>>()?;
        if self.facts.collisions {
            let mut begin = 0;
            // Neighbouring columns mostly have one class.
            for same in self.places.chunk_by(|one, next| one == next) {
                let columns = begin..begin + same.len();
                begin = columns.end;
                let Some(group) = group_at(same[0]) else {
                    continue;
                };
                for row in table.chunks_exact(width) {
                    let cells = row[columns.clone()].iter();
                    values[group].gather(cells.map(|&value| size_of(value, signed)))?;
                }
            }
        }
        values.iter_mut().for_each(Ordered::sort);
        Ok(values)
    }
}
