//! Partitions whose topic is gone: their waiting requests are answered, their directory is put aside at once and removed
//! after `log.segment.delete.delay.ms` (`LogManager.asyncDelete`).

use crate::disk::DiskError;
use crate::log::{DELETE_SUFFIX, Log, log_directory_put_aside};
use crate::node::{Duration, Instant};
use crate::ordered::BTreeMap;

use super::Broker;
use super::context::Context;
use super::partition::PartitionKey;

/// Directories that were put aside, by when they are to be removed. A log stays open until then: flushes of it may be
/// under way. There is none for what an earlier life put aside.
#[derive(Debug, Clone, Default)]
pub(super) struct Deletions(BTreeMap<(Instant, String), Option<Log>>);

impl Deletions {
    pub fn next_timeout(&self) -> Option<Instant> {
        self.0.keys().next().map(|(due, _)| *due)
    }

    fn take_due(&mut self, now: Instant) -> Option<(String, Option<Log>)> {
        let first = self.0.keys().next().filter(|(due, _)| *due <= now).cloned()?;
        let log = self.0.remove(&first)?;
        Some((first.1, log))
    }
}

impl Broker {
    pub(super) fn remove_partition(&mut self, cx: &mut Context<'_>, key: PartitionKey) -> Result<(), DiskError> {
        let Some(partition) = self.partitions.remove(&key) else { return Ok(()) };
        let aside = log_directory_put_aside(&partition.topic, partition.index, self.rng.bytes16(), DELETE_SUFFIX);
        cx.disk.rename(partition.log.directory(), &aside)?;
        self.delete_later(cx.now(), aside, Some(partition.log));
        for id in partition.waiting {
            self.look_again(cx, id);
        }
        // A topic of the same name must not begin with what the files say of this one.
        self.checkpoint_high_watermarks(cx)?;
        self.checkpoint_logs(cx)
    }

    pub(super) fn delete_later(&mut self, now: Instant, directory: String, log: Option<Log>) {
        let delay = self.image.broker_configs(&self.config).value("log.segment.delete.delay.ms");
        let delay = Duration::from_ms(delay.and_then(|ms| ms.trim().parse().ok()).unwrap_or_default());
        self.deletions.0.insert((now + delay, directory), log);
    }

    pub(super) fn delete_due(&mut self, cx: &mut Context<'_>) -> Result<(), DiskError> {
        while let Some((directory, log)) = self.deletions.take_due(cx.now()) {
            if let Some(log) = log {
                log.close(cx.disk);
            }
            cx.disk.remove(&directory)?;
        }
        Ok(())
    }
}
