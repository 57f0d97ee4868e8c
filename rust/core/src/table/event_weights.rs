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
    /// Reads the weights of as many events as there is room for, each once: whoever adds an event
    /// and moves it later does both with one weight.
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

/// One weight per event, bounded by `largest` again.
#[derive(Clone, Copy)]
pub(crate) struct Bounded<'a> {
    pub(crate) weights: &'a [u64],
    pub(crate) largest: u64,
}

impl EventWeights for Bounded<'_> {
    type Read<'a> = Bounded<'a>;

    #[inline]
    fn weight(&self, position: usize) -> u64 {
        self.weights[position].min(self.largest)
    }
    #[inline]
    fn slice(&self, start: usize, end: usize) -> Self {
        Self {
            weights: &self.weights[start..end],
            ..*self
        }
    }
    #[inline]
    fn read(self, room: &mut [u64]) -> Bounded<'_> {
        room.copy_from_slice(self.weights);
        Bounded {
            weights: room,
            largest: self.largest,
        }
    }
}

/// As [`Bounded`], for weights with a sign, in two's complement: the least and the largest are
/// `-largest` and `largest`.
#[derive(Clone, Copy)]
pub(crate) struct SignedBounded<'a> {
    pub(crate) weights: &'a [u64],
    pub(crate) largest: i64,
}

impl EventWeights for SignedBounded<'_> {
    type Read<'a> = SignedBounded<'a>;

    #[inline]
    fn weight(&self, position: usize) -> u64 {
        let weight = self.weights[position].cast_signed();
        let bounded = weight.clamp(-self.largest, self.largest);
        planted!("signed-weights-not-bounded", weight, bounded).cast_unsigned()
    }
    #[inline]
    fn slice(&self, start: usize, end: usize) -> Self {
        Self {
            weights: &self.weights[start..end],
            ..*self
        }
    }
    #[inline]
    fn read(self, room: &mut [u64]) -> SignedBounded<'_> {
        room.copy_from_slice(self.weights);
        SignedBounded {
            weights: room,
            largest: self.largest,
        }
    }
}
