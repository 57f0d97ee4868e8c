//! The errors of a public table: which cells have which distribution.

use super::classes::{Class, Members};
use super::group::Group;
use crate::{Error, Result, memory};

/// A public table with what is known of its cells.
#[derive(Debug)]
pub struct TableErrors {
    /// True for Count Sketch, whose errors have both signs.
    pub signed: bool,
    /// False for counters, which do not collide.
    pub collisions: bool,
    /// Rows.
    pub depth: usize,
    /// Released values, row by row.
    pub table: Vec<i64>,
    /// Step up to which the cells of each column are published; 0 before its first push.
    pub published: Vec<f64>,
    /// Variance of the noise in the cells of each column.
    pub variance: Vec<f64>,
    /// This step.
    pub step: f64,
}

impl TableErrors {
    /// The same facts of a table with other values.
    pub fn with(&self, table: Vec<i64>) -> Result<Self> {
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
    classes: Vec<Option<Class>>,
    members: Members,
    /// Where the class of each column is among the members; [`NOWHERE`] before its first push.
    places: Vec<u32>,
    /// Width of the errors of each class, relative to those of its group.
    stretches: Vec<f64>,
    pub(super) groups: Vec<Group>,
}

const NOWHERE: u32 = u32::MAX;

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
        let columns = facts.published.iter().zip(&facts.variance);
        let classes = columns.map(|(&step, &noise)| Class::of(step, noise));
        let classes = memory::collected(classes)?;
        let mut model = Self {
            members: Members::of(&classes, facts.depth),
            facts,
            classes,
            places: Vec::new(),
            stretches: Vec::new(),
            groups: Vec::new(),
        };
        model.form_groups()?;
        model.prepare()?;
        Ok(model)
    }

    /// A copy, if there is memory for it.
    pub fn copied(&self) -> Result<Self> {
        let facts = &self.facts;
        let groups = self.groups.iter().map(Group::copied);
        Ok(Self {
            facts: facts.with(memory::copied(&facts.table)?)?,
            classes: memory::copied(&self.classes)?,
            members: self.members.clone(),
            places: memory::copied(&self.places)?,
            stretches: memory::copied(&self.stretches)?,
            groups: groups.collect::<Result<_>>()?,
        })
    }

    /// The values, without their errors.
    pub fn into_table(self) -> Vec<i64> {
        self.facts.table
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
        let (old, new) = (self.classes[column], Class::of(published, variance));
        let before = self.members.clone();
        if let Some(class) = old {
            self.members.remove(class);
        }
        if let Some(class) = new {
            self.members.add(class);
        }
        self.members.form_groups(self.facts.depth);
        let same = self.members.same_groups(&before) && !self.groups.is_empty();
        let group_of = |members: &Members, class: &Class| {
            members.find(class).ok().map(|at| members.0[at].group)
        };
        for (row, &value) in values.iter().enumerate() {
            let cell = &mut self.facts.table[row * width + column];
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
        self.classes[column] = new;
        if same {
            self.places[column] = self.place(column);
        } else {
            self.groups.clear();
        }
    }

    /// Computes what the next read needs.
    pub fn prepare(&mut self) -> Result<()> {
        if self.groups.is_empty() {
            self.form_groups()?;
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

    /// Where the class of a column is among the members.
    fn place(&self, column: usize) -> u32 {
        let class = self.classes[column].as_ref();
        let at = class.and_then(|class| self.members.find(class).ok());
        at.map_or(NOWHERE, |at| at as u32)
    }

    fn form_groups(&mut self) -> Result<()> {
        let width = self.facts.published.len();
        let mut columns = vec![0; self.members.groups()];
        for member in &self.members.0 {
            columns[member.group] += member.columns;
        }
        let rooms = columns
            .iter()
            .map(|&columns| memory::room_for(columns * self.facts.depth));
        let mut values = rooms.collect::<Result<Vec<Vec<i64>>>>()?;
        self.places = memory::collected((0..width).map(|column| self.place(column)))?;
        let members = &self.members.0;
        let places = self.places.iter();
        let groups = places.map(|&at| members.get(at as usize).map(|member| member.group));
        let groups = memory::collected(groups)?;
        if self.facts.collisions {
            for row in self.facts.table.chunks_exact(width) {
                for (&value, group) in row.iter().zip(&groups) {
                    if let Some(group) = *group {
                        values[group].push(value);
                    }
                }
            }
        }
        let signed = self.facts.signed;
        let groups = values.into_iter().map(|values| Group::of(values, signed));
        self.groups = groups.collect();
        Ok(())
    }
}
