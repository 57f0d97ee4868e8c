//! Saving a live sketch, and going on from what was saved.
//!
//! The parameters are not in a state, only their digest: who restores one names them again, and
//! others are refused.

use super::heavy_hitters::HeavySketch;
use super::open_step::OpenStep;
use super::private::PrivateSketch;
use crate::discovery::spec::DiscoverySpec;
use crate::guarantee::NotPrivate;
use crate::key::{Identity, MasterKey, NOISE_VERSION, SketchId};
use crate::parameters::{NoiseSpec, Shape};
use crate::release::codec;
use crate::saved_state::{SavedState, StateReader, StateWriter, refused};
use crate::table::seen_bits::SeenBits;
use crate::{Error, Result};

const DIGEST: usize = 32;
/// Version, digest, id, flags and step; finished; the presence of an open step.
const FIXED: usize = 2 + DIGEST + 16 + 1 + 8 + 1 + 1;

impl PrivateSketch {
    /// The exact state, for a store: secret, and to be restored once at a time.
    pub fn save(&self) -> Result<SavedState> {
        self.save_after(Vec::new()).map(SavedState::from_bytes)
    }

    /// As [`Self::save`], after bytes that are there.
    pub fn save_after(&self, bytes: Vec<u8>) -> Result<Vec<u8>> {
        let mut out = StateWriter::after(bytes, self.saved_bytes()?)?;
        self.write(&mut out, &self.parameters_digest())?;
        Ok(out.into_bytes())
    }

    /// A sketch that goes on where a saved one was: same id, same noise, same counts.
    ///
    /// The key is the one that the sketch was made with; with another one nothing is refused here,
    /// and the noise is another: the caller keeps both together.
    pub fn restore(
        shape: Shape,
        spec: NoiseSpec,
        key: &MasterKey,
        saved: &SavedState,
    ) -> Result<Self> {
        let mut from = StateReader::new(saved)?;
        let identity = read_identity(&mut from, &digest_of(&shape, &spec, None))?;
        let mut sketch = Self::new(shape, spec, key, identity)?;
        sketch.read(&mut from)?;
        from.finish()?;
        Ok(sketch)
    }

    /// A digest of every parameter: equal for sketches that can go on from one state.
    pub fn parameters_digest(&self) -> [u8; DIGEST] {
        digest_of(&self.shape, &self.spec, None)
    }

    /// Number of bytes that [`Self::save_after`] appends.
    pub fn saved_bytes(&self) -> Result<usize> {
        let state = self.state.as_ref().ok_or(Error::Closed)?;
        if !state.ahead.is_empty() && !planted!("events-of-later-steps-are-left-out-of-a-state") {
            let expected = "no events of later steps, for a state that is saved";
            return Err(Error::parameter("sketch", expected, "some"));
        }
        let open = state.open.as_ref().map_or(0, OpenStep::saved_bytes);
        let seen = state.seen.as_ref().map_or(0, SeenBits::saved_bytes);
        Ok(FIXED + state.table.saved_bytes() + open + seen)
    }

    fn write(&self, out: &mut StateWriter, digest: &[u8; DIGEST]) -> Result<()> {
        let state = self.state.as_ref().ok_or(Error::Closed)?;
        out.put(*digest);
        out.put(self.sketch_id.0);
        out.put_flag(self.not_private.contains(NotPrivate::CHOSEN_ID));
        out.put(self.step.to_le_bytes());
        out.put_flag(state.finished.is_some());
        state.table.save(out);
        out.put_flag(state.open.is_some());
        if let Some(open) = &state.open {
            open.save(out);
        }
        if let Some(seen) = &state.seen {
            seen.save(out);
        }
        Ok(())
    }

    /// Reads what follows the identity into a new sketch.
    fn read(&mut self, from: &mut StateReader<'_>) -> Result<()> {
        self.step = from.take_u64()?;
        if self.step > self.last_step {
            return refused("expected a step within the horizon, got a later one");
        }
        let is_finished = from.take_flag()?;
        let (bound, next_bound) = (self.bound_at(self.step), self.bound_at(self.step + 1));
        let state = self.state.as_mut().ok_or(Error::Closed)?;
        state.cursor = self.spec.schedule.cursor(self.step, self.shape.width);
        state.table.restore(from, bound)?;
        if from.take_flag()? {
            state.open = Some(OpenStep::restored(&state.table, from, next_bound)?);
        }
        let (table, open) = (&state.table, state.open.as_ref());
        if let Some(seen) = &mut state.seen {
            let of_open = |level| open.map_or(0, |open| open.counted(level));
            seen.restore(from, |level| table.counted(level) + of_open(level))?;
        }
        if is_finished {
            let progress = state.cursor.progress();
            state.finished = Some(state.noise.final_pushes(&self.spec.schedule, progress));
            self.last_step = self.step;
        }
        Ok(())
    }
}

impl HeavySketch {
    /// As [`PrivateSketch::parameters_digest`], with those of discovery.
    pub fn parameters_digest(&self) -> [u8; DIGEST] {
        let sketch = self.sketch();
        digest_of(sketch.shape(), sketch.spec(), Some(self.discovery().spec()))
    }

    /// As [`PrivateSketch::save`], with discovery.
    pub fn save(&self) -> Result<SavedState> {
        self.save_after(Vec::new()).map(SavedState::from_bytes)
    }

    /// As [`Self::save`], after bytes that are there.
    pub fn save_after(&self, bytes: Vec<u8>) -> Result<Vec<u8>> {
        let mut out = StateWriter::after(bytes, self.saved_bytes()?)?;
        self.sketch().write(&mut out, &self.parameters_digest())?;
        self.discovery().save(&mut out)?;
        Ok(out.into_bytes())
    }

    /// Number of bytes that [`Self::save_after`] appends.
    pub fn saved_bytes(&self) -> Result<usize> {
        Ok(self.sketch().saved_bytes()? + self.discovery().saved_bytes()?)
    }

    /// As [`PrivateSketch::restore`], with discovery.
    pub fn restore(
        shape: Shape,
        noise: NoiseSpec,
        discovery: DiscoverySpec,
        key: &MasterKey,
        saved: &SavedState,
    ) -> Result<Self> {
        let mut from = StateReader::new(saved)?;
        let digest = digest_of(&shape, &noise, Some(&discovery));
        let identity = read_identity(&mut from, &digest)?;
        let mut sketch = Self::new(shape, noise, discovery, key, identity)?;
        sketch.sketch_mut().read(&mut from)?;
        sketch.restore_discovery(&mut from)?;
        from.finish()?;
        Ok(sketch)
    }
}

/// The digest of everything that the noise depends on but the key and the id.
fn digest_of(shape: &Shape, noise: &NoiseSpec, discovery: Option<&DiscoverySpec>) -> [u8; DIGEST] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&NOISE_VERSION.to_le_bytes());
    hasher.update(&codec::encode_parameters(shape, noise));
    if let Some(spec) = discovery {
        hasher.update(&spec.encode());
    }
    *hasher.finalize().as_bytes()
}

fn read_identity(from: &mut StateReader<'_>, expected: &[u8; DIGEST]) -> Result<Identity> {
    if from.take::<DIGEST>()? != *expected {
        return refused("expected the parameters that the sketch was made with, got others");
    }
    let id = SketchId(from.take()?);
    let chosen = from.take_flag()?;
    Ok(Identity { id, chosen })
}
