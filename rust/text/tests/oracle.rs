//! Parsed rows compared with a state machine that reads one character at a time, and blocks with a
//! plain split into lines.

use lazysketch_text::access_log_of_people;
use lazysketch_text::{Field, ParsedRows, Texts, access_log, access_log_times, lines};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

#[derive(Clone, Copy)]
enum State {
    Host,
    Ident,
    User,
    Time,
    BeforeRequest,
    RequestQuote,
    Request,
    BeforeStatus,
    Status,
    Size,
    ReferrerQuote,
    Referrer,
    BeforeAgent,
    AgentQuote,
    Agent,
    Ignored,
}

/// The fields of a row; an optional text is set once it is complete.
#[derive(Default)]
struct Row {
    host: String,
    ident: String,
    user: String,
    time: Option<String>,
    /// Each character, and whether a backslash escapes it.
    request: Vec<(char, bool)>,
    status: String,
    size: String,
    referrer: Option<String>,
    agent: Option<String>,
}

impl Row {
    fn read(text: &str) -> Self {
        let characters: Vec<char> = text.chars().collect();
        let mut row = Self::default();
        let (mut state, mut escaped, mut open) = (State::Host, false, String::new());
        for (place, &now) in characters.iter().enumerate() {
            use State::*;
            let quote = now == '"' && !escaped;
            state = match (state, now) {
                (Host, ' ') if row.host.is_empty() => Ignored,
                (Host, ' ') => Ident,
                (Host, _) => row.host.push_in(now, Host),
                (Ident, ' ') if row.ident.is_empty() => Ignored,
                (Ident, ' ') => User,
                (Ident, _) => row.ident.push_in(now, Ident),
                (User, '[') if row.user.chars().count() > 1 && row.user.ends_with(' ') => Time,
                (User, '[') => Ignored,
                (User, _) => row.user.push_in(now, User),
                (Time, ']') => {
                    row.time = Some(std::mem::take(&mut open));
                    BeforeRequest
                }
                (Time, _) => open.push_in(now, Time),
                (BeforeRequest, ' ') => RequestQuote,
                (RequestQuote, '"') => Request,
                (Request, '"') if quote && ends_request(&characters[place + 1..]) => BeforeStatus,
                (Request, _) => {
                    row.request.push((now, escaped));
                    Request
                }
                (BeforeStatus, ' ') => Status,
                (Status, ' ') => Size,
                (Status, _) => row.status.push_in(now, Status),
                (Size, '-') if row.size.is_empty() => row.size.push_in(now, Size),
                (Size, '0'..='9') if row.size != "-" => row.size.push_in(now, Size),
                (Size, ' ') => ReferrerQuote,
                (ReferrerQuote, '"') => Referrer,
                (Referrer, '"') if quote => {
                    row.referrer = Some(std::mem::take(&mut open));
                    BeforeAgent
                }
                (Referrer, _) => open.push_in(now, Referrer),
                (BeforeAgent, ' ') => AgentQuote,
                (AgentQuote, '"') => Agent,
                (Agent, '"') if quote => {
                    row.agent = Some(std::mem::take(&mut open));
                    Ignored
                }
                (Agent, _) => open.push_in(now, Agent),
                _ => Ignored,
            };
            escaped = now == '\\' && !escaped;
            // Before the request there are no escapes.
            escaped &= matches!(state, Request | Referrer | Agent);
        }
        row
    }

    fn field(&self, field: Field) -> Option<String> {
        if self.size.is_empty() {
            return None;
        }
        let words = self.request.split(|&unit| unit == (' ', false));
        let mut words = words.map(|word| word.iter().map(|&(now, _)| now).collect::<String>());
        let method = words.next().filter(|method| {
            let mut letters = method.chars();
            letters.next().is_some_and(|now| now.is_ascii_alphabetic())
                && letters.all(|now| now.is_ascii_alphabetic() || "-_".contains(now))
        });
        // A method is followed by a space.
        let path = words.next();
        let method = method.filter(|_| path.is_some());
        let found = match field {
            Field::Host => Some(self.host.clone()),
            Field::User => Some(self.user.strip_suffix(' ').unwrap_or(&self.user).into()),
            Field::Status => Some(self.status.clone()),
            Field::Path => method.and(path),
            Field::Method => method,
            Field::Referrer => self.referrer.clone(),
            Field::Agent => self.agent.clone(),
            Field::Size if self.size == "-" => Some("0".into()),
            Field::Size => Some(self.size.clone()),
        };
        found.filter(|text| !text.is_empty())
    }
}

trait PushIn {
    fn push_in(&mut self, now: char, state: State) -> State;
}

impl PushIn for String {
    fn push_in(&mut self, now: char, state: State) -> State {
        self.push(now);
        state
    }
}

fn ends_request(rest: &[char]) -> bool {
    let matches = |pattern: &str| {
        pattern.len() <= rest.len()
            && pattern
                .chars()
                .zip(rest)
                .all(|(wanted, &now)| match wanted {
                    '9' => now.is_ascii_digit(),
                    _ => now == wanted,
                })
    };
    [" 999 9", " 999 -", " - 9", " - -"]
        .into_iter()
        .any(matches)
}

fn texts(texts: &Texts) -> Vec<String> {
    assert_eq!(texts.offsets[0], 0);
    assert_eq!(texts.offsets[texts.len()], texts.data.len() as i64);
    let texts = texts.iter().map(|text| String::from_utf8(text.to_vec()));
    texts.map(|text| text.expect("UTF-8")).collect()
}

/// The item of every row, `None` where it has none.
fn joined(rows: &ParsedRows) -> Vec<Option<String>> {
    let mut items = texts(&rows.items).into_iter();
    let found = (0..rows.len() as i64)
        .map(|row| {
            let malformed = rows.malformed.binary_search(&row).is_ok();
            (!malformed).then(|| items.next().expect("an item for every other row"))
        })
        .collect();
    assert_eq!(items.next(), None);
    found
}

/// The rows of a block, split at newlines and decoded one by one.
fn plain_rows(block: &[u8]) -> Vec<String> {
    let mut rows: Vec<&[u8]> = block.split(|&byte| byte == b'\n').collect();
    rows.pop();
    let decoded = rows.into_iter().map(|row| {
        let text = String::from_utf8(row.to_vec()).unwrap_or_default();
        text.strip_suffix('\r').map(str::to_owned).unwrap_or(text)
    });
    decoded.collect()
}

/// A row counts if it has an item and a person, who is not `-`.
fn assert_people_agree(block: &[u8], field: Field, read: &[Row]) {
    for of in [Field::Host, Field::User] {
        let found = access_log_of_people(block, field, of);
        let both: Vec<_> = (read.iter())
            .map(|row| (row.field(field), row.field(of).filter(|user| user != "-")))
            .collect();
        let items = both
            .iter()
            .map(|(item, user)| user.as_ref().and(item.clone()));
        assert_eq!(joined(&found.rows), items.collect::<Vec<_>>());
        let users = both
            .iter()
            .filter_map(|(item, user)| item.as_ref().and(user.clone()));
        assert_eq!(texts(&found.users), users.collect::<Vec<_>>());
        let without = (0i64..).zip(&both);
        let without = without.filter(|(_, (item, user))| item.is_some() && user.is_none());
        let without: Vec<_> = without.map(|(row, _)| row).collect();
        assert_eq!(found.without_user, without);
    }
}

fn assert_agrees_with_the_state_machine(block: &[u8]) {
    let rows = plain_rows(block);
    let read: Vec<Row> = rows.iter().map(|row| Row::read(row)).collect();
    for (name, field) in Field::NAMES {
        let expected: Vec<_> = read.iter().map(|row| row.field(field)).collect();
        assert_eq!(
            joined(&access_log(block, field)),
            expected,
            "{name} of {rows:?}"
        );
        assert_people_agree(block, field, &read);
    }
    let times: Vec<_> = read
        .into_iter()
        .map(|row| row.time.unwrap_or_default())
        .collect();
    assert_eq!(texts(&access_log_times(block)), times, "times of {rows:?}");
    let all: Vec<_> = rows
        .into_iter()
        .map(|row| (!row.is_empty()).then_some(row))
        .collect();
    assert_eq!(joined(&lines(block)), all);
}

const ROW: [&str; 25] = [
    "192.0.2.7",
    " ",
    "-",
    " ",
    "ann lee",
    " ",
    "[",
    "17/May/2015:10:05:03 +0000",
    "]",
    " ",
    "\"",
    "GET",
    " ",
    "/a?b=1",
    " ",
    "HTTP/1.1",
    "\"",
    " ",
    "200",
    " ",
    "512",
    " ",
    "\"http://example.org/\"",
    " ",
    "\"Mozilla/5.0\" \"x\" 0.003",
];
const EDITS: [&str; 26] = [
    "", " ", "\"", "\\", "[", "]", "-", "_", "5", "A", "é", "\r", "\n", "  ", "\\\"", "\\\\",
    "\\é", "\\ ", "\" ", "\" 200 5", "\" - -", "\" 20 5", "\u{662}", "GET", "[t] ", "\"-\"",
];

/// Well-formed rows with a few edits, rows of random pieces, and valid rows with such requests.
fn rows() -> impl Strategy<Value = String> {
    let edits = vec((0..ROW.len(), select(&EDITS[..]), 0..3), 0..4);
    let edited = (edits, 0..2 * ROW.len()).prop_map(|(edits, length)| {
        let mut pieces = ROW.map(str::to_owned);
        for (place, edit, how) in edits {
            let piece = &pieces[place];
            pieces[place] = match how {
                0 => edit.to_owned(),
                1 => format!("{piece}{edit}"),
                _ => format!("{edit}{piece}"),
            };
        }
        pieces[..length.min(ROW.len())].concat()
    });
    let pieces = vec(select(&EDITS[..]), 0..12).prop_map(|pieces| pieces.concat());
    let requests = vec(select(&EDITS[..]), 0..12)
        .prop_map(|pieces| format!("h - - [t] \"{}\" 200 5", pieces.concat()));
    prop_oneof![4 => edited, 1 => pieces, 2 => requests]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn rows_agree_with_the_state_machine(rows in vec(rows(), 0..5)) {
        assert_agrees_with_the_state_machine((rows.join("\n") + "\n").as_bytes());
    }

    #[test]
    fn arbitrary_bytes_agree_with_the_state_machine(
        pieces in vec(prop_oneof![
            select(&EDITS[..]).prop_map(|text| text.as_bytes().to_vec()),
            Just(ROW.concat().into_bytes()),
            vec(any::<u8>(), 0..3),
            Just(vec![0xff]),
            Just(b"\n".to_vec()),
            Just(b"\r\n".to_vec()),
        ], 0..20),
    ) {
        assert_agrees_with_the_state_machine(&pieces.concat());
    }
}
