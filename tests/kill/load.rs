//! The load of `npm run test:kill`: sends numbered records until its stdin is closed, and prints a line for every
//! acknowledged one: `partition offset id`.

#![allow(clippy::disallowed_types, clippy::disallowed_methods)] // Real processes live on real time.

use std::error::Error;
use std::io::{self, Read, Write};
use std::time::Duration;

use steplog::client::{Client, ProducerConfig};
use steplog::native::client::NativeClient;
use steplog::node::{CallId, Command, Duration as Span, ProducerRecord, Reply};

/// So many records wait for their acknowledgement at a time.
const UNACKNOWLEDGED_MAX: u64 = 2_000;

/// At most so many records every ten milliseconds: a load, but one that can be read back after every round.
const BURST: u64 = 100;
const BURST_INTERVAL: Duration = Duration::from_millis(10);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [bootstrap, topic, partitions] = arguments.as_slice() else {
        return Err("usage: load HOST:PORT TOPIC PARTITIONS".into());
    };
    let partitions: u64 = partitions.parse()?;
    let keys = [("bootstrap.servers", bootstrap.as_str()), ("linger.ms", "2"), ("client.id", "load")];
    let config = ProducerConfig::parse(&keys.map(|(key, value)| (key.to_owned(), value.to_owned())).into())?;
    let mut producer = NativeClient::start(Client::producer("load", config, u64::from(std::process::id())))?;

    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    std::thread::spawn(move || {
        let _ = io::stdin().read(&mut [0]);
        drop(stop);
    });

    let mut sent = 0;
    let mut done = 0;
    let running = || stopped.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty);
    while running() {
        let burst = BURST.min(done + UNACKNOWLEDGED_MAX - sent);
        for id in sent..sent + burst {
            producer.give(Command::Send(record(topic, id, partitions)));
        }
        sent += burst;
        std::thread::sleep(BURST_INTERVAL);
        done += settle(&producer, Duration::ZERO)?;
    }
    while done < sent {
        done += settle(&producer, Duration::from_secs(150))?;
    }
    producer.ask(Command::Close { timeout: Span::from_ms(10_000) }, Duration::from_secs(15));
    Ok(())
}

/// The value is longer than its number, so that a batch is more than one page of the file.
fn record(topic: &str, id: u64, partitions: u64) -> ProducerRecord {
    ProducerRecord {
        topic: topic.to_owned(),
        partition: i32::try_from(id % partitions).ok(),
        value: Some(format!("{id} {}", id.to_string().repeat(20)).into()),
        ..ProducerRecord::default()
    }
}

/// Prints what was acknowledged since; returns how many sends came to an end.
fn settle(producer: &NativeClient, timeout: Duration) -> io::Result<u64> {
    let mut out = io::stdout().lock();
    let mut ended = 0;
    let mut wait = timeout;
    while let Some((CallId(id), reply)) = producer.next_reply(wait) {
        match reply {
            Reply::Acked(metadata) => {
                writeln!(out, "{} {} {id}", metadata.partition.partition, metadata.offset)?;
                ended += 1;
            }
            Reply::Failed(exception) => {
                eprintln!("record {id}: {}: {}", exception.class, exception.message);
                ended += 1;
            }
            _ => {}
        }
        wait = Duration::ZERO;
    }
    out.flush()?;
    Ok(ended)
}
