//! What discovery needs to go on after a restart: its place in the stream, the published names, and
//! the counts and names of the open epoch.

#[cfg(test)]
mod tests;

use super::name::{Kept, NameKind};
use super::{Counts, Discovery};
use crate::saved_state::{StateReader, StateWriter, refused};
use crate::{Error, Result, memory};

/// Bytes of a published name but for its content.
const CANDIDATE: usize = 8 + 16 + 1 + 1 + 8 + 4;

impl Discovery {
    /// Bytes that [`Self::save`] writes.
    pub(crate) fn saved_bytes(&self) -> Result<usize> {
        let counts = match &self.state.as_ref().ok_or(Error::Closed)?.counting.counts {
            Counts::Dictionary(counts) => counts.saved_bytes(),
            Counts::MisraGries(counts) => counts.saved_bytes(),
        };
        let names = self.candidates.keys();
        let names = names.map(|(kept, _)| CANDIDATE + kept.bytes.len());
        Ok(8 + 8 + 1 + 8 + names.sum::<usize>() + counts)
    }

    /// Writes everything that the spec and the key do not determine.
    pub(crate) fn save(&self, out: &mut StateWriter) -> Result<()> {
        let state = self.state.as_ref().ok_or(Error::Closed)?;
        out.put(self.epoch.to_le_bytes());
        out.put(self.taken.to_le_bytes());
        out.put_flag(self.finished);
        out.put((self.candidates.len() as u64).to_le_bytes());
        for ((kept, identity), epoch) in &self.candidates {
            out.put(epoch.to_le_bytes());
            out.put(identity.to_le_bytes());
            out.put([kept.kind as u8]);
            out.put_flag(kept.truncated);
            out.put(kept.fingerprint.to_le_bytes());
            out.put((kept.bytes.len() as u32).to_le_bytes());
            out.put_bytes(&kept.bytes);
        }
        match &state.counting.counts {
            Counts::Dictionary(counts) => counts.save(out),
            Counts::MisraGries(counts) => counts.save(out),
        }
        Ok(())
    }

    /// Takes over what discovery with the same spec and key wrote; this one is new.
    pub(crate) fn restore(&mut self, from: &mut StateReader<'_>) -> Result<()> {
        (self.epoch, self.taken) = (from.take_u64()?, from.take_u64()?);
        self.finished = from.take_flag()?;
        if self.taken >= self.spec.steps_per_epoch {
            return refused("expected fewer steps than an epoch has, got more");
        }
        for _ in 0..from.take_u64()? {
            let epoch = from.take_u64()?;
            let identity = u128::from_le_bytes(from.take()?);
            let kept = candidate(from)?;
            if self.candidates.insert((kept, identity), epoch).is_some() {
                return refused("expected each published name once, got one twice");
            }
        }
        let state = self.state.as_mut().ok_or(Error::Closed)?;
        match &mut state.counting.counts {
            Counts::Dictionary(counts) => counts.restore(from),
            Counts::MisraGries(counts) => counts.restore(from),
        }
    }
}

fn candidate(from: &mut StateReader<'_>) -> Result<Kept> {
    let [kind] = from.take()?;
    let Some(&kind) = NameKind::ALL.get(usize::from(kind)) else {
        return refused(format!("expected a known type of a name, got {kind}"));
    };
    let (truncated, fingerprint) = (from.take_flag()?, from.take_u64()?);
    let length = from.take_u32()? as usize;
    Ok(Kept {
        kind,
        bytes: memory::copied(from.take_bytes(length)?)?,
        truncated,
        fingerprint,
    })
}
