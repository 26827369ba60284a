//! A TOML table that is read key by key: what is asked for is known, and what is left over is an error that names the
//! nearest known key.

use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::experiment::Text;
use crate::experiment::syntax::{self, did_you_mean};
use crate::node::Duration;

/// What is wrong in a file, and where. Lines and columns count from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileError {
    pub file: String,
    pub line: u32,
    pub column: u32,
    pub message: String,
}

impl std::fmt::Display for FileError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let FileError { file, line, column, message } = self;
        write!(f, "{file}:{line}:{column}: {message}")
    }
}

impl std::error::Error for FileError {}

/// The file's name and text, which errors point into.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    pub file: &'a str,
    pub text: &'a str,
}

impl Source<'_> {
    pub fn error_at(&self, byte: usize, message: impl Into<String>) -> FileError {
        let before = self.text.get(..byte).unwrap_or(self.text);
        let line = before.matches('\n').count() as u32 + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() as u32 + 1;
        FileError { file: self.file.to_string(), line, column, message: message.into() }
    }
}

/// A value with the place where it stands.
#[derive(Debug, Clone, Copy)]
pub struct At<T> {
    pub value: T,
    pub byte: usize,
}

pub struct Section<'a> {
    pub source: Source<'a>,
    /// As a reader would look for it, e.g. `[[fault]]`.
    name: String,
    table: &'a DeTable<'a>,
    pub byte: usize,
    known: Vec<&'static str>,
}

type Read<T> = Result<T, FileError>;

impl<'a> Section<'a> {
    pub fn new(source: Source<'a>, name: &str, table: &'a DeTable<'a>, byte: usize) -> Section<'a> {
        Section { source, name: name.to_string(), table, byte, known: Vec::new() }
    }

    /// Every key that nobody asked for is one too many.
    pub fn finish(self) -> Read<()> {
        let stranger = self.table.iter().find(|(key, _)| !self.known.iter().any(|known| known == key.get_ref()));
        let Some((key, _)) = stranger else { return Ok(()) };
        let near = did_you_mean(key.get_ref(), self.known.iter().copied());
        let known = if near.is_empty() { format!(": it has {}", self.known.join(", ")) } else { near };
        let message = format!("{} has no key `{}`{known}", self.name, key.get_ref());
        Err(self.source.error_at(key.span().start, message))
    }

    pub fn error(&self, message: impl Into<String>) -> FileError {
        self.source.error_at(self.byte, message)
    }

    pub fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    pub fn value(&mut self, key: &'static str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.known.push(key);
        self.table.get(key)
    }

    fn needed(&mut self, key: &'static str, what: &str) -> Read<&'a Spanned<DeValue<'a>>> {
        if let Some(value) = self.value(key) {
            return Ok(value);
        }
        // A key that is missing was often only misspelt.
        let misspelt = self.table.keys().find(|found| {
            let found: &str = found.get_ref();
            !self.known.contains(&found) && syntax::nearest(found, [key]).is_some()
        });
        Err(match misspelt {
            Some(found) => {
                let message = format!("{} has no key `{}` (did you mean `{key}`?)", self.name, found.get_ref());
                self.source.error_at(found.span().start, message)
            }
            None => self.error(format!("{} needs `{key}`: {what}", self.name)),
        })
    }

    fn wrong(&self, key: &str, value: &Spanned<DeValue<'a>>, what: &str) -> FileError {
        self.source.error_at(value.span().start, format!("`{key}` must be {what}"))
    }

    pub fn text(&mut self, key: &'static str) -> Read<At<&'a str>> {
        let value = self.needed(key, "a text")?;
        match value.get_ref() {
            DeValue::String(text) => Ok(At { value: text.as_ref(), byte: value.span().start }),
            _ => Err(self.wrong(key, value, "a text")),
        }
    }

    /// One of these words.
    pub fn word<T: Copy>(&mut self, key: &'static str, words: &[(&str, T)]) -> Read<T> {
        let At { value, byte } = self.text(key)?;
        one_of(self.source, value, byte, words)
    }

    pub fn words<T: Copy>(&mut self, key: &'static str, words: &[(&str, T)]) -> Read<Vec<T>> {
        let texts = self.texts(key)?;
        texts.into_iter().map(|text| one_of(self.source, text.value, text.byte, words)).collect()
    }

    pub fn texts(&mut self, key: &'static str) -> Read<Vec<At<&'a str>>> {
        let value = self.needed(key, "a list of texts")?;
        let DeValue::Array(array) = value.get_ref() else { return Err(self.wrong(key, value, "a list of texts")) };
        let text = |item: &'a Spanned<DeValue<'a>>| match item.get_ref() {
            DeValue::String(text) => Ok(At { value: text.as_ref(), byte: item.span().start }),
            _ => Err(self.wrong(key, item, "a list of texts")),
        };
        array.iter().map(text).collect()
    }

    pub fn ints(&mut self, key: &'static str) -> Read<Vec<At<i64>>> {
        let value = self.needed(key, "a list of whole numbers")?;
        let wrong = |value| self.wrong(key, value, "a list of whole numbers");
        let DeValue::Array(array) = value.get_ref() else { return Err(wrong(value)) };
        let int = |item| int_of(item).map(|int| At { value: int, byte: item.span().start }).ok_or_else(|| wrong(item));
        array.iter().map(int).collect()
    }

    pub fn int<T: TryFrom<i64>>(&mut self, key: &'static str, default: Option<T>) -> Read<At<T>> {
        let what = "a whole number";
        let (value, byte) = match (self.table.contains_key(key), default) {
            (false, Some(default)) => {
                self.known.push(key);
                return Ok(At { value: default, byte: self.byte });
            }
            _ => {
                let value = self.needed(key, what)?;
                (value, value.span().start)
            }
        };
        let number = int_of(value).and_then(|int| T::try_from(int).ok());
        number.map(|value| At { value, byte }).ok_or_else(|| self.wrong(key, value, what))
    }

    /// `"20 ms"`, `"6.5 s"`.
    pub fn duration(&mut self, key: &'static str, default: Option<Duration>) -> Read<At<Duration>> {
        if let (false, Some(value)) = (self.has(key), default) {
            self.known.push(key);
            return Ok(At { value, byte: self.byte });
        }
        let what = "a duration, e.g. \"20 ms\" or \"6.5 s\"";
        let value = self.needed(key, what)?;
        let duration = match value.get_ref() {
            DeValue::String(text) => syntax::duration(text),
            _ => None,
        };
        let byte = value.span().start;
        duration.map(|value| At { value, byte }).ok_or_else(|| self.wrong(key, value, what))
    }

    pub fn section(&mut self, key: &'static str, name: &str) -> Read<Section<'a>> {
        let value = self.needed(key, "a table")?;
        match value.get_ref() {
            DeValue::Table(table) => Ok(Section::new(self.source, name, table, value.span().start)),
            _ => Err(self.wrong(key, value, "a table")),
        }
    }

    /// `[[key]]`, none of them being fine.
    pub fn sections(&mut self, key: &'static str, name: &str) -> Read<Vec<Section<'a>>> {
        let Some(value) = self.value(key) else { return Ok(Vec::new()) };
        let DeValue::Array(array) = value.get_ref() else { return Err(self.wrong(key, value, "a list of tables")) };
        let table = |item: &'a Spanned<DeValue<'a>>| match item.get_ref() {
            DeValue::Table(table) => Ok(Section::new(self.source, name, table, item.span().start)),
            _ => Err(self.wrong(key, item, "a list of tables")),
        };
        array.iter().map(table).collect()
    }

    /// `{ en = …, zh = … }`.
    pub fn localized(&mut self, key: &'static str) -> Read<Text> {
        let name = format!("`{key}`");
        let mut section = self.section(key, &name)?;
        let text = |section: &mut Section<'a>, key| Ok(section.text(key)?.value.trim().to_string());
        let read = Text { en: text(&mut section, "en")?, zh: text(&mut section, "zh")? };
        section.finish()?;
        Ok(read)
    }

    /// Kafka's own keys: any name, a text, number or truth each.
    pub fn config(&mut self, key: &'static str) -> Read<BTreeMap<String, String>> {
        let Some(value) = self.value(key) else { return Ok(BTreeMap::new()) };
        let DeValue::Table(table) = value.get_ref() else { return Err(self.wrong(key, value, "a table")) };
        let mut config = BTreeMap::new();
        for (name, value) in table {
            let text = match value.get_ref() {
                DeValue::String(text) => text.to_string(),
                DeValue::Boolean(truth) => truth.to_string(),
                DeValue::Integer(_) => match int_of(value) {
                    Some(int) => int.to_string(),
                    None => return Err(self.wrong(name.get_ref(), value, "a number of 64 bits")),
                },
                DeValue::Table(_) => {
                    let message = format!("write \"{}.…\" in quotes: Kafka's keys contain dots", name.get_ref());
                    return Err(self.source.error_at(name.span().start, message));
                }
                _ => return Err(self.wrong(name.get_ref(), value, "a text, a whole number, true or false")),
            };
            config.insert(name.get_ref().to_string(), text);
        }
        Ok(config)
    }
}

pub fn int_of(value: &Spanned<DeValue<'_>>) -> Option<i64> {
    match value.get_ref() {
        DeValue::Integer(int) => i64::from_str_radix(int.as_str(), int.radix()).ok(),
        _ => None,
    }
}

fn one_of<T: Copy>(source: Source<'_>, word: &str, byte: usize, words: &[(&str, T)]) -> Read<T> {
    let found = words.iter().find(|(spelt, _)| *spelt == word);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let near = did_you_mean(word, words.iter().map(|(spelt, _)| *spelt));
        let all: Vec<&str> = words.iter().map(|(spelt, _)| *spelt).collect();
        let right = if near.is_empty() { format!(": there are {}", all.join(", ")) } else { near };
        source.error_at(byte, format!("there is no `{word}` here{right}"))
    })
}
