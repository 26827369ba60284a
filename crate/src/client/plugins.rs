//! What a user adds to a client: a partitioner and interceptors (Kafka's Partitioner, ProducerInterceptor and
//! ConsumerInterceptor).
//!
//! In: traits to implement. A client is configured with them once, runs them at Kafka's places, and closes them with
//! itself. What they print becomes [`Reply::Printed`], since a state machine has no console.

use std::fmt::Debug;

use super::outbox::Outbox;
use crate::node::{CallId, ConsumerRecord, Exception, Note, ProducerRecord, RecordMetadata, Reply};

/// The partitions of a topic, as a partitioner sees them.
#[derive(Debug, Clone, Copy)]
pub struct Partitions<'a> {
    /// All of the topic's.
    pub count: i32,
    /// Those with a leader, in the order in which Kafka's client lists them.
    pub available: &'a [i32],
}

/// Chooses the partition of records that name none.
pub trait Partitioner: Debug + Send + Sync {
    fn configure(&mut self, _console: &mut Console) {}

    /// A negative partition makes `send()` throw. One that does not exist is waited for until delivery.timeout.ms.
    fn partition(&mut self, record: &ProducerRecord, partitions: Partitions<'_>) -> i32;

    fn close(&mut self, _console: &mut Console) {}

    fn boxed(&self) -> Box<dyn Partitioner>;
}

/// Sees every record before it is sent, and its fate. What it throws is noted and changes nothing: the next one gets
/// the record as it was.
pub trait ProducerInterceptor: Debug + Send + Sync {
    fn configure(&mut self, _console: &mut Console) {}

    /// The record as it goes on.
    fn on_send(&mut self, record: ProducerRecord, _console: &mut Console) -> Result<ProducerRecord, Exception> {
        Ok(record)
    }

    /// Before the callback; after it, if `send()` itself failed. The offset is −1 if there is an exception.
    fn on_acknowledgement(
        &mut self,
        _metadata: &RecordMetadata,
        _exception: Option<&Exception>,
        _console: &mut Console,
    ) -> Result<(), Exception> {
        Ok(())
    }

    fn close(&mut self, _console: &mut Console) {}

    fn boxed(&self) -> Box<dyn ProducerInterceptor>;
}

/// Sees records before `poll()` returns them.
pub trait ConsumerInterceptor: Debug + Send + Sync {
    fn configure(&mut self, _console: &mut Console) {}

    /// The records as they go on.
    fn on_consume(
        &mut self,
        records: Vec<ConsumerRecord>,
        _console: &mut Console,
    ) -> Result<Vec<ConsumerRecord>, Exception> {
        Ok(records)
    }

    fn close(&mut self, _console: &mut Console) {}

    fn boxed(&self) -> Box<dyn ConsumerInterceptor>;
}

impl Clone for Box<dyn Partitioner> {
    fn clone(&self) -> Self {
        (**self).boxed()
    }
}

impl Clone for Box<dyn ProducerInterceptor> {
    fn clone(&self) -> Self {
        (**self).boxed()
    }
}

impl Clone for Box<dyn ConsumerInterceptor> {
    fn clone(&self) -> Self {
        (**self).boxed()
    }
}

/// What plugins print.
#[derive(Debug, Clone, Default)]
pub struct Console {
    lines: Vec<String>,
}

impl Console {
    pub fn print(&mut self, line: String) {
        self.lines.push(line);
    }

    /// Hands on what was printed during a call.
    pub(super) fn flush(&mut self, call: CallId, outbox: &mut Outbox<'_>) {
        for line in self.lines.drain(..) {
            outbox.reply(&[], call, Reply::Printed(line));
        }
    }
}

/// A producer's partitioner and interceptors; none by default.
#[derive(Debug, Clone, Default)]
pub struct ProducerPlugins {
    pub partitioner: Option<Box<dyn Partitioner>>,
    /// In their order in interceptor.classes.
    pub interceptors: Vec<Box<dyn ProducerInterceptor>>,
}

impl ProducerPlugins {
    pub(super) fn configure(&mut self, outbox: &mut Outbox<'_>) {
        let mut console = Console::default();
        self.partitioner.iter_mut().for_each(|partitioner| partitioner.configure(&mut console));
        self.interceptors.iter_mut().for_each(|interceptor| interceptor.configure(&mut console));
        console.flush(CallId::NONE, outbox);
    }

    pub(super) fn on_send(
        &mut self,
        mut record: ProducerRecord,
        call: CallId,
        outbox: &mut Outbox<'_>,
    ) -> ProducerRecord {
        let mut console = Console::default();
        for (index, interceptor) in (0..).zip(&mut self.interceptors) {
            match interceptor.on_send(record.clone(), &mut console) {
                Ok(changed) => record = changed,
                Err(exception) => thrown(index, &exception, outbox),
            }
            console.flush(call, outbox);
        }
        record
    }

    pub(super) fn on_acknowledgement(
        &mut self,
        metadata: &RecordMetadata,
        exception: Option<&Exception>,
        call: CallId,
        outbox: &mut Outbox<'_>,
    ) {
        let mut console = Console::default();
        for (index, interceptor) in (0..).zip(&mut self.interceptors) {
            if let Err(exception) = interceptor.on_acknowledgement(metadata, exception, &mut console) {
                thrown(index, &exception, outbox);
            }
            console.flush(call, outbox);
        }
    }

    pub(super) fn close(&mut self, call: CallId, outbox: &mut Outbox<'_>) {
        let mut console = Console::default();
        self.interceptors.iter_mut().for_each(|interceptor| interceptor.close(&mut console));
        self.partitioner.iter_mut().for_each(|partitioner| partitioner.close(&mut console));
        console.flush(call, outbox);
    }
}

/// A consumer's interceptors; none by default.
#[derive(Debug, Clone, Default)]
pub struct ConsumerPlugins {
    pub interceptors: Vec<Box<dyn ConsumerInterceptor>>,
}

impl ConsumerPlugins {
    pub(super) fn configure(&mut self, outbox: &mut Outbox<'_>) {
        let mut console = Console::default();
        self.interceptors.iter_mut().for_each(|interceptor| interceptor.configure(&mut console));
        console.flush(CallId::NONE, outbox);
    }

    pub(super) fn on_consume(
        &mut self,
        mut records: Vec<ConsumerRecord>,
        call: CallId,
        outbox: &mut Outbox<'_>,
    ) -> Vec<ConsumerRecord> {
        let mut console = Console::default();
        for (index, interceptor) in (0..).zip(&mut self.interceptors) {
            match interceptor.on_consume(records.clone(), &mut console) {
                Ok(changed) => records = changed,
                Err(exception) => thrown(index, &exception, outbox),
            }
            console.flush(call, outbox);
        }
        records
    }

    pub(super) fn close(&mut self, call: CallId, outbox: &mut Outbox<'_>) {
        let mut console = Console::default();
        self.interceptors.iter_mut().for_each(|interceptor| interceptor.close(&mut console));
        console.flush(call, outbox);
    }
}

/// Kafka logs it and goes on.
fn thrown(interceptor: u32, exception: &Exception, outbox: &mut Outbox<'_>) {
    outbox.note(&[], Note::InterceptorThrew { interceptor, exception: exception.to_string() });
}
