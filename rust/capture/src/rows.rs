//! Packets as columns in Arrow's layout.

/// The time of a packet that has none; NumPy's "not a time".
pub const UNKNOWN_TIME: i64 = i64::MIN;

/// The items, in the order of their rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldValues {
    /// UTF-8; item i is `data[offsets[i] .. offsets[i + 1]]`.
    Text {
        /// One more than the number of items; starts at 0 and increases.
        offsets: Vec<i64>,
        /// The concatenated items.
        data: Vec<u8>,
    },
    /// Ports or sizes.
    Numbers(Vec<i64>),
}

impl FieldValues {
    fn text() -> Self {
        Self::Text {
            offsets: vec![0],
            data: Vec::new(),
        }
    }
}

/// Packets as rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PacketRows {
    /// The field of each packet that has it.
    pub items: FieldValues,
    /// The person of each item, as text; `None` if they are not wanted.
    pub users: Option<FieldValues>,
    /// The length on the wire of each item's packet.
    pub sizes: Vec<i64>,
    /// The capture time of every row, in nanoseconds since 1970 UTC.
    pub times: Vec<i64>,
    /// Increasing row positions of valid packets without such a field.
    pub absent: Vec<i64>,
    /// Increasing row positions of packets whose field cannot be read.
    pub malformed: Vec<i64>,
}

/// The outcome of extracting a field from a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// The field was appended to the text.
    Text,
    /// The field is this number.
    Number(u32),
    /// A valid packet without such a field.
    Absent,
    /// A packet that is broken, or truncated before the field.
    Malformed,
}

impl PacketRows {
    pub(crate) fn of_text() -> Self {
        Self::of(FieldValues::text())
    }

    pub(crate) fn of_numbers() -> Self {
        Self::of(FieldValues::Numbers(Vec::new()))
    }

    fn of(items: FieldValues) -> Self {
        Self {
            items,
            users: None,
            sizes: Vec::new(),
            times: Vec::new(),
            absent: Vec::new(),
            malformed: Vec::new(),
        }
    }

    pub(crate) fn with_users(self) -> Self {
        Self {
            users: Some(FieldValues::text()),
            ..self
        }
    }

    /// Return the number of rows.
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// Return whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// Append a row; `find` appends the field to its first argument if and only if it is text, and
    /// the person to the second if there is a field and people are wanted.
    pub(crate) fn push(
        &mut self,
        time: i64,
        size: u32,
        find: impl FnOnce((&mut Vec<u8>, &mut Vec<u8>)) -> Found,
    ) {
        let position = self.times.len() as i64;
        self.times.push(time);
        let mut none = Vec::new();
        let users = match &mut self.users {
            Some(FieldValues::Text { data, .. }) => data,
            _ => &mut none,
        };
        let found = match &mut self.items {
            FieldValues::Text { offsets, data } => {
                let found = find((data, users));
                if found == Found::Text {
                    offsets.push(data.len() as i64);
                }
                found
            }
            FieldValues::Numbers(numbers) => {
                let found = find((&mut Vec::new(), users));
                if let Found::Number(number) = found {
                    numbers.push(number.into());
                }
                found
            }
        };
        match found {
            Found::Text | Found::Number(_) => {
                self.sizes.push(size.into());
                if let Some(FieldValues::Text { offsets, data }) = &mut self.users {
                    offsets.push(data.len() as i64);
                }
            }
            Found::Absent => self.absent.push(position),
            Found::Malformed => self.malformed.push(position),
        }
    }
}
