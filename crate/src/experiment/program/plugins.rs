//! What a program adds to its client: the rules of a partitioner, and interceptors.
//!
//! ```text
//! partitioner:                              above the first statement; the rule that fits first counts
//!   key vip: 0
//!   key eu-*: 1                             keys that begin so
//!   key null: 2
//!   others: hash 1, 2                       the key's hash over these; or one partition, which may not exist
//! interceptor Prefix:                       as many as wanted, in the order of interceptor.classes
//!   on configure: print "configure"
//!   on send: print "{key} {value}"          what is sent
//!   on send: prefix "x-"                    of the value from here on
//!   on send: header trace=a-1               one more
//!   on send: throw "no"                     Kafka logs it and goes on with the record as it came
//!   on ack: print "{metadata}"              before the callback
//!   on error: print "{class}"               an acknowledgement with an exception
//!   on close: print "{sends} {acks} {errors}"   how often it was called
//! ```
//!
//! A consumer's interceptor knows configure, `on consume: print "{count}"` (how many records `poll()` will return) and
//! close.

use serde::{Deserialize, Serialize};

use super::Template;
use crate::client::{Console, ConsumerInterceptor, Partitioner, Partitions, ProducerInterceptor, partition_for_key};
use crate::node::{ConsumerRecord, Exception, ProducerRecord, RecordMetadata};

/// Rules of a partitioner, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PartitionerRules {
    pub rules: Vec<(Key, To)>,
    /// Index into the program's lines; a rule's is so much further down as it stands in the list.
    pub line: u32,
}

/// Which keys a rule is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Key {
    Is(String),
    BeginsWith(String),
    Null,
    Any,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum To {
    Partition(i32),
    Hash(Vec<i32>),
}

impl Key {
    fn fits(&self, key: Option<&[u8]>) -> bool {
        match (self, key) {
            (Key::Is(text), Some(key)) => text.as_bytes() == key,
            (Key::BeginsWith(start), Some(key)) => key.starts_with(start.as_bytes()),
            (Key::Null, key) => key.is_none(),
            (Key::Any, _) => true,
            _ => false,
        }
    }
}

impl Partitioner for PartitionerRules {
    fn partition(&mut self, record: &ProducerRecord, _: Partitions<'_>) -> i32 {
        let key = record.key.as_deref();
        match self.rules.iter().find(|(rule, _)| rule.fits(key)) {
            Some((_, To::Partition(partition))) => *partition,
            Some((_, To::Hash(over))) => {
                let count = i32::try_from(over.len()).unwrap_or(i32::MAX);
                let at = usize::try_from(partition_for_key(key.unwrap_or_default(), count)).ok();
                at.and_then(|at| over.get(at)).copied().unwrap_or(0)
            }
            // The last rule fits every key.
            None => 0,
        }
    }

    fn boxed(&self) -> Box<dyn Partitioner> {
        Box::new(self.clone())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interceptor {
    pub name: String,
    pub line: u32,
    pub hooks: Vec<Hook>,
    pub calls: Calls,
}

/// How often it was called for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Calls {
    pub sends: u64,
    pub acks: u64,
    pub errors: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hook {
    pub when: When,
    pub does: Does,
    pub line: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum When {
    Configure,
    Send,
    Ack,
    Error,
    Consume,
    Close,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Does {
    Print(Template),
    Prefix(String),
    Header(String, String),
    Throw(String),
}

impl Interceptor {
    fn hooks(&self, when: When) -> impl Iterator<Item = &Does> {
        self.hooks.iter().filter(move |hook| hook.when == when).map(|hook| &hook.does)
    }

    /// Prints, up to a throw.
    fn run(&self, when: When, words: &[(&str, String)], console: &mut Console) -> Result<(), Exception> {
        for does in self.hooks(when) {
            match does {
                Does::Print(text) => console.print(text.fill(0, words)),
                Does::Throw(message) => return Err(Exception::new("RuntimeException", message.clone())),
                Does::Prefix(_) | Does::Header(..) => {}
            }
        }
        Ok(())
    }

    fn begin_or_end(&self, when: When, console: &mut Console) {
        let Calls { sends, acks, errors } = self.calls;
        let words = [("sends", sends.to_string()), ("acks", acks.to_string()), ("errors", errors.to_string())];
        // Nothing of these throws.
        let _ = self.run(when, &words, console);
    }

    /// What is in front of a value after this interceptor; nothing if it throws.
    fn prefix(&self) -> String {
        let throws = self.hooks(When::Send).any(|does| matches!(does, Does::Throw(_)));
        let prefixes = self.hooks(When::Send).filter_map(|does| match does {
            Does::Prefix(prefix) if !throws => Some(prefix.as_str()),
            _ => None,
        });
        prefixes.collect::<Vec<&str>>().into_iter().rev().collect()
    }
}

/// What all interceptors together put in front of every value.
pub fn prefix_of(interceptors: &[Interceptor]) -> String {
    interceptors.iter().rev().map(Interceptor::prefix).collect()
}

fn text(bytes: Option<&bytes::Bytes>) -> String {
    bytes.map_or_else(|| "null".to_string(), |bytes| String::from_utf8_lossy(bytes).into_owned())
}

impl ProducerInterceptor for Interceptor {
    fn configure(&mut self, console: &mut Console) {
        self.begin_or_end(When::Configure, console);
    }

    fn on_send(&mut self, mut record: ProducerRecord, console: &mut Console) -> Result<ProducerRecord, Exception> {
        self.calls.sends += 1;
        for does in self.hooks(When::Send) {
            match does {
                Does::Print(template) => {
                    let (key, value) = (text(record.key.as_ref()), text(record.value.as_ref()));
                    console.print(template.fill(0, &[("key", key), ("value", value), ("topic", record.topic.clone())]));
                }
                Does::Throw(message) => return Err(Exception::new("RuntimeException", message.clone())),
                Does::Prefix(prefix) => {
                    record.value = record.value.map(|value| [prefix.as_bytes(), &value].concat().into());
                }
                Does::Header(name, value) => record.headers.push((name.clone(), Some(value.clone().into()))),
            }
        }
        Ok(record)
    }

    fn on_acknowledgement(
        &mut self,
        metadata: &RecordMetadata,
        exception: Option<&Exception>,
        console: &mut Console,
    ) -> Result<(), Exception> {
        let (topic, partition) = (&metadata.partition.topic, metadata.partition.partition);
        let mut words = vec![
            ("metadata", format!("{topic}-{partition}@{}", metadata.offset)),
            ("topic", topic.clone()),
            ("partition", partition.to_string()),
            ("offset", metadata.offset.to_string()),
        ];
        match exception {
            None => {
                self.calls.acks += 1;
                self.run(When::Ack, &words, console)
            }
            Some(exception) => {
                self.calls.errors += 1;
                words.extend([("class", exception.class.to_string()), ("message", exception.message.clone())]);
                self.run(When::Error, &words, console)
            }
        }
    }

    fn close(&mut self, console: &mut Console) {
        self.begin_or_end(When::Close, console);
    }

    fn boxed(&self) -> Box<dyn ProducerInterceptor> {
        Box::new(self.clone())
    }
}

impl ConsumerInterceptor for Interceptor {
    fn configure(&mut self, console: &mut Console) {
        self.begin_or_end(When::Configure, console);
    }

    fn on_consume(
        &mut self,
        records: Vec<ConsumerRecord>,
        console: &mut Console,
    ) -> Result<Vec<ConsumerRecord>, Exception> {
        self.run(When::Consume, &[("count", records.len().to_string())], console).map(|()| records)
    }

    fn close(&mut self, console: &mut Console) {
        self.begin_or_end(When::Close, console);
    }

    fn boxed(&self) -> Box<dyn ConsumerInterceptor> {
        Box::new(self.clone())
    }
}
