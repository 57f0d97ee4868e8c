//! Rows in columns, in the layout of Arrow.

/// The time of a packet that came without one; NumPy's "not a time".
pub const UNKNOWN_TIME: i64 = i64::MIN;

/// The values of the rows that have one, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldValues {
    /// UTF-8; item i is `data[offsets[i] .. offsets[i + 1]]`.
    Text {
        /// One more than there are items, from 0, rising.
        offsets: Vec<i64>,
        /// The items, one behind the other.
        data: Vec<u8>,
    },
    /// Ports or sizes.
    Numbers(Vec<i64>),
}

/// Some packets, as rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PacketRows {
    /// The field of each row that has it.
    pub items: FieldValues,
    /// The length on the wire of the packet of each item.
    pub sizes: Vec<i64>,
    /// When each packet was seen, of all rows, in nanoseconds since 1970 UTC.
    pub times: Vec<i64>,
    /// Positions among all rows, rising: sound packets without such a field.
    pub absent: Vec<i64>,
    /// Positions among all rows, rising: packets whose field cannot be read.
    pub malformed: Vec<i64>,
}

/// What a packet has to say about the field that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// It was appended to the text.
    Text,
    /// It is this number.
    Number(u32),
    /// A sound packet without such a field.
    Absent,
    /// A packet that is broken, or cut off before the field.
    Malformed,
}

impl PacketRows {
    pub(crate) fn of_text() -> Self {
        Self::of(FieldValues::Text {
            offsets: vec![0],
            data: Vec::new(),
        })
    }

    pub(crate) fn of_numbers() -> Self {
        Self::of(FieldValues::Numbers(Vec::new()))
    }

    fn of(items: FieldValues) -> Self {
        Self {
            items,
            sizes: Vec::new(),
            times: Vec::new(),
            absent: Vec::new(),
            malformed: Vec::new(),
        }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// Append a row; `find` writes the field behind what it is given if and only if it is text.
    pub(crate) fn push(&mut self, time: i64, size: u32, find: impl FnOnce(&mut Vec<u8>) -> Found) {
        let position = self.times.len() as i64;
        self.times.push(time);
        let found = match &mut self.items {
            FieldValues::Text { offsets, data } => {
                let found = find(data);
                if found == Found::Text {
                    offsets.push(data.len() as i64);
                }
                found
            }
            FieldValues::Numbers(numbers) => {
                let found = find(&mut Vec::new());
                if let Found::Number(number) = found {
                    numbers.push(number.into());
                }
                found
            }
        };
        match found {
            Found::Text | Found::Number(_) => self.sizes.push(size.into()),
            Found::Absent => self.absent.push(position),
            Found::Malformed => self.malformed.push(position),
        }
    }
}
