//! Weights of the events of a batch: the constant 1, or one per event, within their bound.
//!
//! They may lie in a Python array that another thread writes to, although it must not: so each is
//! bounded again where it is read, and read once where it is used twice.

/// Weights of a batch.
pub(crate) trait EventWeights: Copy {
    /// The same weights, where no other thread writes to them.
    type Read<'a>: EventWeights;

    fn weight(&self, position: usize) -> u64;
    fn slice(&self, start: usize, end: usize) -> Self;
    /// Reads the weights of as many events as there is room for, each once: an event that is added
    /// and moved later has one weight.
    fn read(self, room: &mut [u64]) -> Self::Read<'_>;
}

/// The constant 1.
#[derive(Clone, Copy)]
pub(crate) struct Ones;

impl EventWeights for Ones {
    type Read<'a> = Self;

    #[inline]
    fn weight(&self, _position: usize) -> u64 {
        1
    }
    #[inline]
    fn slice(&self, _start: usize, _end: usize) -> Self {
        Self
    }
    #[inline]
    fn read(self, _room: &mut [u64]) -> Self {
        self
    }
}

/// The largest weight of an event.
pub(crate) trait Largest: Copy {
    /// The weight within the bound.
    fn bound(self, weight: u64) -> u64;
}

/// Of weights without a sign.
impl Largest for u64 {
    #[inline]
    fn bound(self, weight: u64) -> u64 {
        weight.min(self)
    }
}

/// Of weights with a sign, in two's complement: the least is its opposite.
impl Largest for i64 {
    #[inline]
    fn bound(self, weight: u64) -> u64 {
        let weight = weight.cast_signed();
        let bounded = weight.clamp(-self, self);
        planted!("signed-weights-not-bounded", weight, bounded).cast_unsigned()
    }
}

/// One weight per event, bounded again.
#[derive(Clone, Copy)]
pub(crate) struct Within<'a, L> {
    pub(crate) weights: &'a [u64],
    pub(crate) largest: L,
}

pub(crate) type Bounded<'a> = Within<'a, u64>;
pub(crate) type SignedBounded<'a> = Within<'a, i64>;

impl<L: Largest> EventWeights for Within<'_, L> {
    type Read<'a> = Within<'a, L>;

    #[inline]
    fn weight(&self, position: usize) -> u64 {
        self.largest.bound(self.weights[position])
    }
    #[inline]
    fn slice(&self, start: usize, end: usize) -> Self {
        Self {
            weights: &self.weights[start..end],
            ..*self
        }
    }
    #[inline]
    fn read(self, room: &mut [u64]) -> Within<'_, L> {
        room.copy_from_slice(self.weights);
        Within {
            weights: room,
            largest: self.largest,
        }
    }
}
