//! Choice at run time among copies of one loop, compiled for different register widths.
//!
//! A loop is written once, in plain Rust, next to its subject ([`crate::noise`], [`crate::table`],
//! [`crate::estimation`]); the compiler vectorises it. Code in a wheel may assume only the baseline
//! of its platform (SSE2 on x86-64, NEON on aarch64), so on x86-64 [`widest!`] compiles each loop
//! twice more, for AVX2 and for AVX-512. All copies compute the same numbers (tested next to the
//! loops), as operations on floats are neither reordered nor fused: nothing depends on the machine.
//!
//! The only file of the core with `unsafe`. Calling a function compiled for a feature is sound if
//! and only if the processor has that feature; a [`Width`] is only constructed after asking.

/// Registers that this processor has; constructed only after asking the processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Width(Registers);

/// The widths that a loop is compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Registers {
    Baseline,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

#[cfg(target_arch = "x86_64")]
impl Registers {
    /// The widest of a processor, which needs every feature that a loop is compiled for.
    #[inline]
    fn with(avx2: [bool; 2], avx512: [bool; 5]) -> Self {
        if avx2 != [true; 2] {
            Self::Baseline
        } else if avx512 != [true; 5] {
            Self::Avx2
        } else {
            Self::Avx512
        }
    }
}

impl Width {
    /// The widest registers; the processor is asked once per process, later calls are a load.
    #[inline]
    pub(crate) fn widest() -> Self {
        #[cfg(target_arch = "x86_64")]
        let registers = Registers::with(
            [
                is_x86_feature_detected!("avx2"),
                is_x86_feature_detected!("bmi2"),
            ],
            [
                is_x86_feature_detected!("avx512f"),
                is_x86_feature_detected!("avx512cd"),
                is_x86_feature_detected!("avx512dq"),
                is_x86_feature_detected!("avx512vl"),
                is_x86_feature_detected!("avx512bw"),
            ],
        );
        #[cfg(not(target_arch = "x86_64"))]
        let registers = Registers::Baseline;
        Self(registers)
    }

    /// All widths that this processor has, for tests.
    #[cfg(test)]
    pub(crate) fn all() -> Vec<Self> {
        let all = [
            Registers::Baseline,
            #[cfg(target_arch = "x86_64")]
            Registers::Avx2,
            #[cfg(target_arch = "x86_64")]
            Registers::Avx512,
        ];
        let widths = all.map(Self).into_iter();
        widths.filter(|width| *width <= Self::widest()).collect()
    }

    /// The registers to use.
    #[inline]
    pub(crate) fn registers(self) -> Registers {
        self.0
    }
}

/// Defines a function that runs `$body` compiled for the widest available registers, and one that
/// takes the width as an argument.
macro_rules! widest {
    (
        $(#[$comment:meta])*
        fn $name:ident, $at:ident($($argument:ident: $type:ty),* $(,)?) = $body:ident
    ) => {
        $(#[$comment])*
        #[inline]
        pub(crate) fn $name($($argument: $type),*) {
            $at($crate::simd::Width::widest(), $($argument),*);
        }

        #[inline]
        #[allow(unsafe_code, reason = "a Width proves that the processor has the features")]
        fn $at(width: $crate::simd::Width, $($argument: $type),*) {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512cd,avx512dq,avx512vl,avx512bw,avx2,bmi2")]
            fn with_avx512($($argument: $type),*) {
                $body($($argument),*);
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,bmi2")]
            fn with_avx2($($argument: $type),*) {
                $body($($argument),*);
            }
            match width.registers() {
                $crate::simd::Registers::Baseline => $body($($argument),*),
                // SAFETY: a Width with this value is only constructed if the processor has all
                // seven features.
                #[cfg(target_arch = "x86_64")]
                $crate::simd::Registers::Avx512 => unsafe { with_avx512($($argument),*) },
                // SAFETY: a Width with this value is only constructed if the processor has both
                // features.
                #[cfg(target_arch = "x86_64")]
                $crate::simd::Registers::Avx2 => unsafe { with_avx2($($argument),*) },
            }
        }
    };
}
pub(crate) use widest;

/// Begins to read a value of a slice into the cache; does nothing beyond its end, and on processors
/// other than x86-64. Nothing waits for it, unlike a load whose value is not used yet.
#[inline]
#[allow(unsafe_code, reason = "the intrinsic takes a pointer")]
pub(crate) fn prefetch<T>(values: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(value) = values.get(at) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch changes no state of the program, whatever the address; SSE, which has
        // the instruction, is part of every x86-64.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (values, at);
}

/// Lengths around the register widths, with values of all magnitudes, for tests.
#[cfg(test)]
pub(crate) fn inputs() -> impl Iterator<Item = Vec<u64>> {
    (0..70).map(|length| {
        let bits = |i: u64| (i ^ length << 7).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (0..length).map(|i| bits(i) >> (7 * i % 64)).collect()
    })
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    /// A loop whose feature is missing must never run, so all sets of features are tried.
    #[test]
    fn registers_need_every_feature() {
        for set in 0..1 << 7 {
            let has: [bool; 7] = std::array::from_fn(|at| set >> at & 1 == 1);
            let found = Registers::with([has[0], has[1]], [has[2], has[3], has[4], has[5], has[6]]);
            let expected = match set {
                0b111_1111 => Registers::Avx512,
                _ if set & 0b11 == 0b11 => Registers::Avx2,
                _ => Registers::Baseline,
            };
            assert_eq!(found, expected, "{set:07b}");
        }
    }
}
