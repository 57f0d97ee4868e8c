//! The kinds of hierarchies, and how each splits an item.

use super::named::Named;
use super::{addresses, domains, paths};

/// A hierarchy of names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hierarchy {
    /// Networks of IPv4 addresses, by the bits of their prefixes, from 1 to 32, increasing.
    Ipv4(Vec<u32>),
    /// Networks of IPv6 addresses, by the bits of their prefixes, from 1 to 128, increasing.
    Ipv6(Vec<u32>),
    /// Directories of 1 to this many segments, and the whole path.
    Paths(usize),
    /// Domains of 1 to this many labels, and the whole name.
    Domains(usize),
}

impl Hierarchy {
    /// Returns the number of levels.
    pub fn levels(&self) -> usize {
        match self {
            Self::Ipv4(lengths) | Self::Ipv6(lengths) => lengths.len(),
            Self::Paths(depth) | Self::Domains(depth) => depth + 1,
        }
    }

    /// Calls `with(level, name)` for every level, the coarsest first. Returns whether the item has
    /// names; without names nothing is called.
    #[inline]
    pub fn split(&self, item: Named<'_>, with: &mut impl FnMut(usize, &[u8])) -> bool {
        match (self, item) {
            (Self::Ipv4(lengths), item) => match addresses::ipv4(item) {
                Some(address) => {
                    for (level, &length) in lengths.iter().enumerate() {
                        addresses::with_ipv4(address, length, |name| with(level, name));
                    }
                    true
                }
                None => false,
            },
            (Self::Ipv6(lengths), item) => match addresses::ipv6(item) {
                Some(address) => {
                    for (level, &length) in lengths.iter().enumerate() {
                        addresses::with_ipv6(address, length, |name| with(level, name));
                    }
                    true
                }
                None => false,
            },
            (Self::Paths(depth), Named::Text(text)) => paths::split(text, *depth, with),
            (Self::Domains(depth), Named::Text(text)) => domains::split(text, *depth, with),
            (Self::Paths(_) | Self::Domains(_), Named::Number(_)) => false,
        }
    }

    /// Returns the names of an item, the coarsest first.
    pub fn names(&self, item: Named<'_>) -> Option<Vec<String>> {
        let mut names = Vec::with_capacity(self.levels());
        self.split(item, &mut |_, name| {
            names.push(String::from_utf8_lossy(name).into_owned());
        })
        .then_some(names)
    }

    /// Returns an item that has a name, of whatever level: the name, or the address that a network
    /// begins with.
    pub fn item_named<'a>(&self, name: &'a str) -> Named<'a> {
        Named::Text(match self {
            Self::Ipv4(_) | Self::Ipv6(_) => name.split('/').next().unwrap_or(name),
            _ => name,
        })
    }

    /// Returns the name above a name of a level, which is not the first.
    pub fn above(&self, name: &str, level: usize) -> Option<String> {
        let mut names = self.names(self.item_named(name))?;
        (1..names.len())
            .contains(&level)
            .then(|| names.swap_remove(level - 1))
    }
}
