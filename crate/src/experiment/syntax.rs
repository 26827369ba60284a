//! What the two grammars share: places in a text, words, durations, and the error that says what would be right.

use crate::node::Duration;

/// Something in a program or an expression that is not in its grammar. Lines and columns count from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    pub line: u32,
    pub column: u32,
    /// What is wrong, and what would be right.
    pub message: String,
}

impl std::fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for SyntaxError {}

/// The candidate with the fewest edits, if it is near enough to be meant.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|candidate| (edits(word, candidate), candidate))
        // More than a third of the word changed is another word.
        .filter(|(edits, candidate)| *edits <= 1 + word.len().max(candidate.len()) / 3)
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, candidate)| candidate)
}

/// ` (did you mean X?)`, or nothing.
pub fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, candidates).map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"))
}

/// Levenshtein's distance.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// `20 ms`, `3 s`, `6.5 s`, `150 us`.
pub fn duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let (unit, places): (u64, usize) = match unit.trim_start() {
        "us" => (1, 0),
        "ms" => (1_000, 3),
        "s" => (1_000_000, 6),
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if fraction.len() > places || (number.contains('.') && fraction.is_empty()) {
        return None;
    }
    let whole: u64 = whole.parse().ok()?;
    let fraction: u64 = if fraction.is_empty() { 0 } else { format!("{fraction:0<places$}").parse().ok()? };
    Some(Duration(whole.checked_mul(unit)?.checked_add(fraction)?))
}

/// One line (or one expression), read word by word.
#[derive(Debug, Clone)]
pub struct Cursor<'a> {
    pub line: u32,
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(line: u32, text: &'a str) -> Cursor<'a> {
        Cursor { line, text, at: 0 }
    }

    pub fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub fn skip_spaces(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    /// Takes `token` if it comes next.
    pub fn take(&mut self, token: &str) -> bool {
        self.skip_spaces();
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    /// Takes `word` if the whole next word is it.
    pub fn take_word(&mut self, word: &str) -> bool {
        let mut ahead = self.clone();
        let found = ahead.run(is_word) == word;
        if found {
            *self = ahead;
        }
        found
    }

    /// The longest run of such characters, after spaces; empty if there is none.
    pub fn run(&mut self, fits: fn(char) -> bool) -> &'a str {
        self.skip_spaces();
        let rest = self.rest();
        let run = &rest[..rest.find(|c| !fits(c)).unwrap_or(rest.len())];
        self.at += run.len();
        run
    }

    /// A text up to the next `"`, which is taken too.
    pub fn quoted(&mut self) -> Option<&'a str> {
        let rest = self.rest();
        let end = rest.find('"')?;
        self.at += end + 1;
        Some(&rest[..end])
    }

    pub fn is_at_end(&mut self) -> bool {
        self.skip_spaces();
        self.rest().is_empty()
    }

    pub fn error(&mut self, message: impl Into<String>) -> SyntaxError {
        self.skip_spaces();
        self.error_at(self.at, message)
    }

    /// An error at an earlier place, from [`Cursor::place`].
    pub fn error_at(&self, place: usize, message: impl Into<String>) -> SyntaxError {
        let before = self.text.get(..place).unwrap_or(self.text);
        SyntaxError { line: self.line, column: before.chars().count() as u32 + 1, message: message.into() }
    }

    pub fn place(&mut self) -> usize {
        self.skip_spaces();
        self.at
    }
}

pub fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_exact_and_need_a_unit() {
        assert_eq!(duration("20 ms"), Some(Duration::from_ms(20)));
        assert_eq!(duration("6.5 s"), Some(Duration::from_ms(6500)));
        assert_eq!(duration("150us"), Some(Duration(150)));
        for wrong in ["20", "ms", "1.5 us", "1. s", "-1 s", "1 min", "99999999999999999999 s"] {
            assert_eq!(duration(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_nearest_word_is_named_only_when_it_is_near() {
        assert_eq!(nearest("partitons", ["partitions", "topics"]), Some("partitions"));
        assert_eq!(nearest("frobnicate", ["partitions", "topics"]), None);
    }
}
