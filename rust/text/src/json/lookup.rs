//! Lookup of an object's values by key with serde_json; all other values are validated and skipped.

use serde::de::{Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess};
use serde::de::{SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

/// The error of a row on which serde_json and Python's decoder might disagree.
pub(crate) struct Undecoded;

impl From<serde_json::Error> for Undecoded {
    fn from(_: serde_json::Error) -> Self {
        Self
    }
}

/// Find the raw value of each of `keys`, which are distinct; the last of duplicate keys counts.
pub(crate) fn values<'a>(
    object: &'a str,
    keys: &[Vec<u8>],
    found: &mut Vec<Option<&'a str>>,
) -> Result<(), Undecoded> {
    found.clear();
    found.resize(keys.len(), None);
    let mut reader = serde_json::Deserializer::from_str(object);
    reader.deserialize_map(Values { keys, found })?;
    Ok(reader.end()?)
}

/// One key, or a path of keys.
pub(crate) struct Path {
    /// Index, among the keys to find, of the full name.
    full_name: usize,
    /// Index of the path's first key, and the keys after it, each as a list of one.
    path: Option<(usize, Vec<[Vec<u8>; 1]>)>,
}

impl Path {
    /// Parse a path and append its new keys to the keys to find. A key that is not UTF-8 contains
    /// lone surrogates; no object that serde_json accepts has it.
    pub(crate) fn new(name: &[u8], keys: &mut Vec<Vec<u8>>) -> Self {
        let mut index_of = |key: &[u8]| {
            keys.iter()
                .position(|known| known == key)
                .unwrap_or_else(|| {
                    keys.push(key.to_vec());
                    keys.len() - 1
                })
        };
        let full_name = index_of(name);
        let mut parts = name.split(|&byte| byte == b'.');
        let first = parts.next().filter(|first| first.len() < name.len());
        let path =
            first.map(|first| (index_of(first), parts.map(|part| [part.to_vec()]).collect()));
        Self { full_name, path }
    }

    /// Return the value, if any: that of the full name if the object has it, else the nested one.
    pub(crate) fn value<'a>(
        &self,
        found: &[Option<&'a str>],
    ) -> Result<Option<&'a str>, Undecoded> {
        let (None, Some((first, rest))) = (found[self.full_name], &self.path) else {
            return Ok(found[self.full_name]);
        };
        let mut value = found[*first];
        for key in rest {
            let Some(object) = value.filter(|value| value.starts_with('{')) else {
                return Ok(None);
            };
            let mut inner = Vec::with_capacity(1);
            values(object, key, &mut inner)?;
            value = inner[0];
        }
        Ok(value)
    }
}

/// Return whether a value is nested less deeply than serde_json's limit of 128.
pub(crate) fn is_shallow(value: &str) -> bool {
    serde_json::from_str::<Shallow>(value).is_ok()
}

struct Values<'k, 'f, 'a> {
    keys: &'k [Vec<u8>],
    found: &'f mut [Option<&'a str>],
}

impl<'a> Visitor<'a> for Values<'_, '_, 'a> {
    type Value = ();

    fn expecting(&self, message: &mut fmt::Formatter) -> fmt::Result {
        message.write_str("an object")
    }

    fn visit_map<M: MapAccess<'a>>(self, mut map: M) -> Result<(), M::Error> {
        while let Some(place) = map.next_key_seed(KeyIndex(self.keys))? {
            match place {
                Some(place) => {
                    let value: &RawValue = map.next_value()?;
                    self.found[place] = Some(value.get());
                }
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

/// Deserializes a key as its index among these keys.
struct KeyIndex<'k>(&'k [Vec<u8>]);

impl<'a> DeserializeSeed<'a> for KeyIndex<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'a>>(self, key: D) -> Result<Self::Value, D::Error> {
        key.deserialize_identifier(self)
    }
}

impl Visitor<'_> for KeyIndex<'_> {
    type Value = Option<usize>;

    fn expecting(&self, message: &mut fmt::Formatter) -> fmt::Result {
        message.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().position(|wanted| wanted == key.as_bytes()))
    }
}

/// Any value, parsed recursively: serde_json has no depth limit for values that it ignores.
struct Shallow;

impl<'a> Deserialize<'a> for Shallow {
    fn deserialize<D: Deserializer<'a>>(value: D) -> Result<Self, D::Error> {
        value.deserialize_any(Self)
    }
}

impl<'a> Visitor<'a> for Shallow {
    type Value = Self;

    fn expecting(&self, message: &mut fmt::Formatter) -> fmt::Result {
        message.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<S: SeqAccess<'a>>(self, mut values: S) -> Result<Self, S::Error> {
        while values.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<M: MapAccess<'a>>(self, mut map: M) -> Result<Self, M::Error> {
        while map.next_entry::<IgnoredAny, Self>()?.is_some() {}
        Ok(self)
    }
}
