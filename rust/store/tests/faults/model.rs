//! What a store must hold, and the comparison with what it gives back.

use crate::machine::{ANCHOR, Machine, STORE};
use lazysketch_store::{Anchor, AnchorPlace, Error, Recovered, Store, StoreKey};

/// All that a caller knows.
#[derive(Clone)]
pub(crate) struct Model {
    /// Every record that was appended in the present history.
    pub(crate) appended: Vec<Vec<u8>>,
    /// How many of them were acknowledged, or given back by an opening.
    pub(crate) durable: usize,
    /// Keys of which one opens the store.
    pub(crate) keys: Vec<StoreKey>,
    /// Store id and noise key, once known.
    pub(crate) identity: Option<([u8; 16], [u8; 32])>,
}

pub(crate) fn key(number: u64) -> StoreKey {
    let mut bytes = [0x5a; 32];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    StoreKey::from_bytes(bytes)
}

pub(crate) fn anchor(machine: &Machine) -> Anchor {
    Anchor::At(AnchorPlace {
        disk: machine.disk(ANCHOR),
        name: "anchor".to_owned(),
    })
}

pub(crate) fn open(machine: &Machine, key: &StoreKey) -> Result<(Store, Recovered), Error> {
    Store::open(machine.disk(STORE), key, &anchor(machine))
}

/// The body of a checkpoint of some records.
pub(crate) fn body_of(records: &[Vec<u8>]) -> Vec<u8> {
    let mut body = Vec::new();
    for record in records {
        body.extend((record.len() as u32).to_le_bytes());
        body.extend(record);
    }
    body
}

impl Model {
    pub(crate) fn new() -> Self {
        Self {
            appended: Vec::new(),
            durable: 0,
            keys: vec![key(0)],
            identity: None,
        }
    }

    /// Opens with the key that fits.
    pub(crate) fn open(&mut self, machine: &Machine) -> Result<(Store, Recovered), Error> {
        let mut last = None;
        for key in self.keys.clone() {
            match open(machine, &key) {
                Err(error @ Error::WrongKey { .. }) => last = Some(error),
                Err(error) => return Err(error),
                Ok(opened) => {
                    self.keys = vec![key];
                    return Ok(opened);
                }
            }
        }
        Err(last.expect("there is a key"))
    }

    /// Compares what an opening gave back, and takes it as the present state.
    pub(crate) fn check(&mut self, recovered: &Recovered) -> Result<(), String> {
        let identity = (recovered.store_id, *recovered.noise_key.expose());
        match self.identity {
            Some(known) if known != identity => return Err("another noise key".to_owned()),
            Some(_) if recovered.is_new => return Err("a new store".to_owned()),
            Some(_) if !recovered.anchored => return Err("an anchor that was lost".to_owned()),
            _ => self.identity = Some(identity),
        }
        self.check_content(recovered)?;
        let last = recovered.last as usize;
        if last < self.durable {
            return Err(format!(
                "{last} records of {} acknowledged ones",
                self.durable
            ));
        }
        self.appended.truncate(last);
        self.durable = last;
        Ok(())
    }

    /// Compares records and checkpoint with the beginning of what was appended.
    pub(crate) fn check_content(&self, recovered: &Recovered) -> Result<(), String> {
        let last = recovered.last as usize;
        let mut base = 0;
        if last > self.appended.len() {
            return Err("more records than were appended".to_owned());
        }
        if let Some(checkpoint) = &recovered.checkpoint {
            base = checkpoint.through as usize;
            if base > last || checkpoint.body[..] != body_of(&self.appended[..base]) {
                return Err("another checkpoint".to_owned());
            }
        }
        if recovered.records.len() != last - base {
            return Err(format!(
                "{} records after {base} of {last}",
                recovered.records.len()
            ));
        }
        let expected = self.appended[base..last].iter().map(Vec::as_slice);
        if !recovered.records.iter().eq(expected) {
            return Err("other records".to_owned());
        }
        Ok(())
    }
}
