//! Java's `.properties` format (`java.util.Properties.load`), in which Kafka's `server.properties` is written.
//!
//! In: the text of a file. Out: its keys with the lines they stand on, in the file's order.

use std::iter::Peekable;
use std::str::Chars;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Property {
    pub key: String,
    pub value: String,
    /// The first line of the entry, counted from 1.
    pub line: usize,
}

/// What is wrong, and on which line. Java accepts every other text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MalformedEscape {
    pub line: usize,
}

impl std::fmt::Display for MalformedEscape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: \\u must be followed by four hexadecimal digits", self.line)
    }
}

pub fn parse(text: &str) -> Result<Vec<Property>, MalformedEscape> {
    logical_lines(text).map(|(line, text)| parse_entry(line, &text)).collect()
}

/// Lines without comments and blanks, with continued lines joined.
fn logical_lines(text: &str) -> impl Iterator<Item = (usize, String)> {
    let mut lines = text.lines().enumerate();
    std::iter::from_fn(move || {
        let (index, first) = lines.by_ref().find(|(_, line)| {
            let line = trim_start(line);
            !line.is_empty() && !line.starts_with(['#', '!'])
        })?;
        let mut joined = trim_start(first).to_owned();
        while ends_in_continuation(&joined) {
            joined.pop();
            match lines.next() {
                Some((_, next)) => joined.push_str(trim_start(next)),
                None => break,
            }
        }
        Some((index + 1, joined))
    })
}

fn trim_start(line: &str) -> &str {
    line.trim_start_matches([' ', '\t', '\x0c'])
}

/// An even number of backslashes at the end is a literal backslash or several.
fn ends_in_continuation(line: &str) -> bool {
    line.chars().rev().take_while(|c| *c == '\\').count() % 2 == 1
}

fn parse_entry(line: usize, text: &str) -> Result<Property, MalformedEscape> {
    let mut rest = text.chars().peekable();
    let key = unescape(&mut rest, line, |c| matches!(c, '=' | ':' | ' ' | '\t' | '\x0c'))?;
    let blank = |c: &char| matches!(c, ' ' | '\t' | '\x0c');
    while rest.next_if(blank).is_some() {}
    rest.next_if(|c| matches!(c, '=' | ':'));
    while rest.next_if(blank).is_some() {}
    let value = unescape(&mut rest, line, |_| false)?;
    Ok(Property { key, value, line })
}

fn unescape(
    rest: &mut Peekable<Chars<'_>>,
    line: usize,
    is_end: impl Fn(char) -> bool,
) -> Result<String, MalformedEscape> {
    let mut out = String::new();
    while let Some(c) = rest.next_if(|c| !is_end(*c)) {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match rest.next() {
            Some('t') => out.push('\t'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('f') => out.push('\x0c'),
            Some('u') => {
                let mut code = 0;
                for _ in 0..4 {
                    let digit = rest.next().and_then(|c| c.to_digit(16)).ok_or(MalformedEscape { line })?;
                    code = code * 16 + digit;
                }
                // Half of a surrogate pair has no meaning by itself.
                out.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            Some(other) => out.push(other),
            None => {}
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Vec<(String, String)> {
        parse(text).unwrap().into_iter().map(|property| (property.key, property.value)).collect()
    }

    #[test]
    fn every_form_of_entry_that_java_knows_is_read() {
        let text = "# comment\n! comment too\n\na=1\n b : 2 \nc 3\nd\ne\\ f=4\\t5\nlisteners=PLAINTEXT://:9092,\\\n    CONTROLLER://:9093\npath=C:\\\\x\\u00e9\n";
        let expected = [
            ("a", "1"),
            ("b", "2 "),
            ("c", "3"),
            ("d", ""),
            ("e f", "4\t5"),
            ("listeners", "PLAINTEXT://:9092,CONTROLLER://:9093"),
            ("path", "C:\\xé"),
        ];
        assert_eq!(pairs(text), expected.map(|(key, value)| (key.to_owned(), value.to_owned())));
    }

    #[test]
    fn an_entry_knows_its_line() {
        let lines: Vec<usize> = parse("#\na=1,\\\n2\n\nb=3").unwrap().iter().map(|property| property.line).collect();
        assert_eq!(lines, [2, 5]);
    }

    #[test]
    fn a_malformed_escape_names_its_line() {
        assert_eq!(parse("a=1\nb=\\u00g0"), Err(MalformedEscape { line: 2 }));
    }

    #[test]
    fn a_file_that_ends_in_a_continuation_ends_there() {
        assert_eq!(pairs("a=1\\"), [("a".to_owned(), "1".to_owned())]);
    }
}
