//! Random histories of several lives, with faults at planned operations.

use crate::machine::{Fault, Machine};
use crate::model::{Model, body_of, key};
use crate::random::Random;
use lazysketch_store::{Error, Store};

/// Faults of one history: each counts operations from the one before it, or from the start.
pub(crate) type Plan<'a> = &'a [(u64, Fault)];

/// What one history was like.
pub(crate) struct Outcome {
    /// Operations of the machine in all.
    pub(crate) operations: u64,
    /// The faults that happened, with the operation that each happened to.
    pub(crate) faults: Vec<(Fault, &'static str)>,
}

struct History<'a> {
    machine: Machine,
    model: Model,
    random: Random,
    plan: Plan<'a>,
    faults: Vec<(Fault, &'static str)>,
    keys: u64,
}

/// Runs the history of a seed; an error is a broken promise.
pub(crate) fn run(seed: u64, plan: Plan<'_>) -> Result<Outcome, String> {
    let salt = plan.iter().fold(0, |salt, (at, _)| salt * 1009 + at);
    let mut history = History {
        machine: Machine::new(seed ^ (salt << 20)),
        model: Model::new(),
        random: Random(seed),
        plan,
        faults: Vec::new(),
        keys: 0,
    };
    history.plan_next();
    history.run()?;
    Ok(Outcome {
        operations: history.machine.operations(),
        faults: history.faults,
    })
}

impl History<'_> {
    fn run(&mut self) -> Result<(), String> {
        let actions = 10 + self.random.below(20);
        let mut store = self.reopen(None)?;
        for _ in 0..actions {
            let done = match self.random.below(13) {
                0..6 => self.append(&store),
                6..9 => self.commit(&store),
                9 => self.checkpoint(&store),
                10 if self.random.one_in(3) => self.rotate(&store),
                11 => self.settle(&store),
                _ => {
                    store = self.reopen(Some(store))?;
                    Ok(())
                }
            };
            if let Err(error) = done {
                if self.machine.happened().is_none() {
                    return Err(format!("an error without a fault: {error}"));
                }
                if !matches!(store.commit(), Err(Error::Poisoned)) {
                    return Err("a store that works after an error".to_owned());
                }
                store = self.reopen(Some(store))?;
            }
        }
        // What was acknowledged is there after a power cut, and what an opening gave back too.
        store = self.reopen(Some(store))?;
        drop(store);
        self.machine.cut_power();
        self.reopen(None).map(drop)
    }

    fn plan_next(&mut self) {
        if let Some(((after, fault), rest)) = self.plan.split_first() {
            self.machine.plan(*after, *fault);
            self.plan = rest;
        }
    }

    /// Notes a fault that happened, and starts the next process.
    fn restart(&mut self) {
        if let Some(fault) = self.machine.happened() {
            self.faults.push(fault);
            self.machine.restart();
            self.plan_next();
        }
    }

    /// Ends the process without a word, and opens the store again, as often as faults need.
    fn reopen(&mut self, store: Option<Store>) -> Result<Store, String> {
        drop(store);
        self.restart();
        loop {
            match self.model.open(&self.machine) {
                Ok((store, recovered)) => {
                    self.model.check(&recovered)?;
                    return Ok(store);
                }
                Err(error) if self.machine.happened().is_none() => {
                    return Err(format!("a store that does not start: {error}"));
                }
                Err(_) => self.restart(),
            }
        }
    }

    fn append(&mut self, store: &Store) -> Result<(), Error> {
        for _ in 0..=self.random.below(3) {
            let length = match self.random.below(10) {
                0 => 0,
                1 => 1000 + self.random.below(9000),
                _ => self.random.below(100),
            };
            self.model.appended.push(self.random.bytes(length));
            let record = self.model.appended.last().expect("one was pushed");
            let sequence = store.append(record)?;
            assert_eq!(sequence, self.model.appended.len() as u64, "another number");
        }
        Ok(())
    }

    fn commit(&mut self, store: &Store) -> Result<(), Error> {
        let committed = store.commit()?;
        assert_eq!(
            committed,
            self.model.appended.len() as u64,
            "another number"
        );
        self.model.durable = self.model.appended.len();
        Ok(())
    }

    fn settle(&mut self, store: &Store) -> Result<(), Error> {
        store.settle()?;
        self.model.durable = self.model.appended.len();
        Ok(())
    }

    fn checkpoint(&mut self, store: &Store) -> Result<(), Error> {
        let through = self.model.appended.len();
        store.checkpoint(through as u64, body_of(&self.model.appended))?;
        self.model.durable = through;
        Ok(())
    }

    fn rotate(&mut self, store: &Store) -> Result<(), Error> {
        self.keys += 1;
        self.model.keys.push(key(self.keys));
        store.rotate(&key(self.keys))?;
        self.model.keys.remove(0);
        Ok(())
    }
}
