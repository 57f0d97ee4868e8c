//! How exactly counts are fitted.

/// How exactly counts are fitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Care {
    /// For a choice of names that goes on: the next fit begins at these counts.
    Rough,
    /// For estimates, whose errors are much larger than what a longer fit would change.
    Fine,
    /// For tests of counts, whose results must not depend on the way to a fit.
    Exact,
}

impl Care {
    /// Rounds, each with its own spread, at most.
    pub(super) fn rounds(self) -> usize {
        match self {
            Self::Rough => 2,
            Self::Fine => 3,
            Self::Exact => 4,
        }
    }

    /// A change of a count below this, in spreads, queues no other name.
    pub(super) fn tolerance(self) -> f64 {
        match self {
            Self::Rough => 0.25,
            Self::Fine => 0.05,
            Self::Exact => 0.02,
        }
    }

    /// Visits of a name, on average, after which a descent ends in any case. Each visit lowers a
    /// convex loss: that of a fit which is not rough goes on for longer only by rounding.
    pub(super) fn visits(self) -> usize {
        match self {
            Self::Rough => 3,
            Self::Fine | Self::Exact => 200,
        }
    }
}
