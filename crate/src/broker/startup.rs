//! Starting and stopping: whose directory this is, what the last stop left behind, and what this one leaves
//! (`kafka.server.KafkaRaftServer`, `LogManager`).

use std::collections::VecDeque;

use crate::controller::{Controller, METADATA_TOPIC};
use crate::disk::{Disk, DiskError};
use crate::log::{
    CheckpointError, DELETE_SUFFIX, DirectoryError, Log, LogError, MetaProperties, OpenOptions, PartitionMetadata,
    Progress, Recovery, STRAY_SUFFIX, consume_clean_shutdown, log_directory_put_aside, parse_log_directory_name,
    read_offset_checkpoint, write_clean_shutdown, write_offset_checkpoint,
};
use crate::node::{EffectKind, ExitReason, Note, Rng, SliceToken, TopicPartition};
use crate::wire::Uuid;

use super::Broker;
use super::config::ServerConfig;
use super::context::Context;
use super::lifecycle::LifeStage;
use super::partitions::{Checkpoint, HIGH_WATERMARK_CHECKPOINT, LOG_START_CHECKPOINT, RECOVERY_POINT_CHECKPOINT};

/// How many batches are read again in one go after a crash, so that no `handle` takes long.
const BATCHES_PER_SLICE: u32 = 1000;

/// Who this node is, by its directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Identity {
    pub cluster_id: String,
    pub directory_id: Uuid,
    /// −1 if the last stop was no clean one.
    pub previous_broker_epoch: i64,
    pub clean_shutdown: bool,
}

/// Why a node does not start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StartError {
    /// The directory is another node's.
    NotOurs(String),
    Directory(DirectoryError),
    Checkpoint(CheckpointError),
    Disk(DiskError),
}

impl StartError {
    pub fn exit_reason(self) -> ExitReason {
        match self {
            StartError::NotOurs(text) => ExitReason::BadDirectory(text),
            StartError::Directory(error @ DirectoryError::Malformed { .. }) => {
                ExitReason::BadDirectory(error.to_string())
            }
            StartError::Checkpoint(error @ CheckpointError::Malformed { .. }) => {
                ExitReason::BadDirectory(error.to_string())
            }
            StartError::Directory(error) => ExitReason::StorageFailed(error.to_string()),
            StartError::Checkpoint(error) => ExitReason::StorageFailed(error.to_string()),
            StartError::Disk(error) => ExitReason::StorageFailed(error.to_string()),
        }
    }
}

impl From<DirectoryError> for StartError {
    fn from(error: DirectoryError) -> StartError {
        StartError::Directory(error)
    }
}

impl From<CheckpointError> for StartError {
    fn from(error: CheckpointError) -> StartError {
        StartError::Checkpoint(error)
    }
}

impl From<DiskError> for StartError {
    fn from(error: DiskError) -> StartError {
        StartError::Disk(error)
    }
}

/// A partition's log cannot be opened. Whether the batches behind the damage are still wanted, its owner must say.
fn of_log(directory: &str, error: LogError) -> StartError {
    match error {
        LogError::Disk(error) => StartError::Disk(error),
        error @ (LogError::Corrupt { .. } | LogError::Damaged { .. }) => StartError::NotOurs(format!(
            "{directory}/{error}. The last stop was clean, so this is damage, and nothing was cut; started once more, \
             this node takes it for a crash and cuts the log there."
        )),
        error => StartError::NotOurs(error.to_string()),
    }
}

/// Reads `meta.properties`; an empty directory is formatted, which Kafka leaves to `kafka-storage format`.
pub(super) fn identify(disk: &mut dyn Disk, config: &ServerConfig, rng: &mut Rng) -> Result<Identity, StartError> {
    let meta = match MetaProperties::read(disk)? {
        Some(meta) => meta,
        None => format(disk, config, rng)?,
    };
    let refuse = |what: &str, stored: &str, wanted: &str| {
        StartError::NotOurs(format!(
            "{}/meta.properties: stored {what} {stored} doesn't match {wanted}. Give this node the directory that was \
             formatted for it, or {what}={stored}.",
            config.log_dir
        ))
    };
    if meta.node_id != config.node_id {
        return Err(refuse("node.id", &meta.node_id.to_string(), &config.node_id.to_string()));
    }
    if let Some(wanted) = &config.cluster_id
        && *wanted != meta.cluster_id
    {
        return Err(refuse("cluster.id", &meta.cluster_id, wanted));
    }
    let directory_id = meta.directory_id.parse().map_err(|_| {
        StartError::NotOurs(format!(
            "{}/meta.properties: directory.id {} is not an id of 22 characters",
            config.log_dir, meta.directory_id
        ))
    })?;
    let clean = consume_clean_shutdown(disk)?;
    Ok(Identity {
        cluster_id: meta.cluster_id,
        directory_id,
        previous_broker_epoch: clean.unwrap_or(-1),
        clean_shutdown: clean.is_some(),
    })
}

fn format(disk: &mut dyn Disk, config: &ServerConfig, rng: &mut Rng) -> Result<MetaProperties, StartError> {
    let names = disk.list("")?;
    if let Some(stray) = names.iter().find(|name| parse_log_directory_name(name).is_some()) {
        return Err(StartError::NotOurs(format!(
            "{}: there is no meta.properties, yet there is {stray}. A directory of logs must come with the \
             meta.properties of its node.",
            config.log_dir
        )));
    }
    let meta = MetaProperties {
        cluster_id: config.cluster_id.clone().unwrap_or_else(|| random_uuid(rng).to_string()),
        node_id: config.node_id,
        directory_id: random_uuid(rng).to_string(),
    };
    meta.write(disk)?;
    Ok(meta)
}

pub(super) fn random_uuid(rng: &mut Rng) -> Uuid {
    loop {
        if let Some(id) = Uuid::from_random(rng.bytes16()) {
            return id;
        }
    }
}

/// The logs of the directory, to be opened one after the other.
#[derive(Debug, Clone, Default)]
pub(super) struct Loading {
    directories: VecDeque<String>,
    opening: Option<(String, Recovery)>,
    started: bool,
    recovery_points: Checkpoint,
    log_starts: Checkpoint,
}

impl Broker {
    /// Once the metadata is there: which topics the directories belong to is known, and how they are configured.
    pub(super) fn begin_loading(&mut self, cx: &mut Context<'_>) -> Result<(), StartError> {
        if self.loading.started {
            return Ok(());
        }
        self.high_watermarks = read_offset_checkpoint(cx.disk, HIGH_WATERMARK_CHECKPOINT)?;
        self.recovery_points = read_offset_checkpoint(cx.disk, RECOVERY_POINT_CHECKPOINT)?;
        self.log_starts = read_offset_checkpoint(cx.disk, LOG_START_CHECKPOINT)?;
        let names = cx.disk.list("")?;
        // The life before did not come to remove these.
        for directory in names.iter().filter(|name| name.ends_with(DELETE_SUFFIX)) {
            self.delete_later(cx.now(), directory.clone(), None);
        }
        let is_partition =
            |name: &String| parse_log_directory_name(name).is_some_and(|(topic, _)| topic != METADATA_TOPIC);
        self.loading = Loading {
            directories: names.into_iter().filter(is_partition).collect(),
            opening: None,
            started: true,
            recovery_points: self.recovery_points.clone(),
            log_starts: self.log_starts.clone(),
        };
        self.continue_loading(cx)
    }

    /// Loads until a slice's worth of batches was read; then registers.
    pub(super) fn continue_loading(&mut self, cx: &mut Context<'_>) -> Result<(), StartError> {
        loop {
            let (directory, mut recovery) = match self.loading.opening.take() {
                Some(opening) => opening,
                None => match self.loading.directories.pop_front() {
                    Some(directory) => {
                        match self.open_directory(cx, &directory).map_err(|error| of_log(&directory, error))? {
                            Some(recovery) => (directory, recovery),
                            None => continue,
                        }
                    }
                    None => {
                        self.register(cx);
                        return Ok(());
                    }
                },
            };
            match recovery.step(cx.disk, BATCHES_PER_SLICE).map_err(|error| of_log(&directory, error))? {
                Progress::More => {
                    self.loading.opening = Some((directory, recovery));
                    cx.out.emit(EffectKind::Slice(SliceToken(0)));
                    return Ok(());
                }
                Progress::Done(log, loaded) => {
                    if let Some((topic, partition)) = parse_log_directory_name(&directory) {
                        cx.out.note(Note::LogLoaded {
                            partition: TopicPartition { topic: topic.to_string(), partition },
                            log_start: log.log_start_offset(),
                            log_end: log.log_end_offset(),
                            truncated: loaded.truncated_bytes,
                        });
                    }
                    self.loaded_logs.insert(directory, *log);
                }
            }
        }
    }

    /// A directory whose topic is gone, or is another one by now, is put aside as Kafka does.
    fn open_directory(&mut self, cx: &mut Context<'_>, directory: &str) -> Result<Option<Recovery>, LogError> {
        let Some((topic, partition)) = parse_log_directory_name(directory) else { return Ok(None) };
        let topic = topic.to_string();
        let stored = PartitionMetadata::read(cx.disk, directory).map_err(|error| match error {
            DirectoryError::Disk(error) => LogError::Disk(error),
            DirectoryError::Malformed { path, expected } => {
                LogError::Checkpoint(CheckpointError::Malformed { path, line: 1, expected })
            }
        })?;
        let known = self.image.topic(&topic).filter(|known| known.partitions.contains_key(&partition));
        let ours = known.is_some_and(|known| stored.as_ref().is_none_or(|s| s.topic_id == known.id.to_string()));
        if !ours {
            let aside = log_directory_put_aside(&topic, partition, self.rng.bytes16(), STRAY_SUFFIX);
            cx.disk.rename(directory, &aside)?;
            return Ok(None);
        }
        let config = self.topic_config(&topic);
        let log_config = self.log_config(&config);
        let key = (topic, partition);
        let options = OpenOptions {
            clean_shutdown: self.identity.clean_shutdown,
            recovery_point: self.loading.recovery_points.get(&key).copied().unwrap_or(0),
            log_start_offset: self.loading.log_starts.get(&key).copied().unwrap_or(0),
            now_ms: cx.wall_ms(),
        };
        Log::open(cx.disk, directory, log_config, options).map(Some)
    }

    /// Closes everything in order and leaves the proof of it.
    pub(super) fn stop(&mut self, cx: &mut Context<'_>, controller: Option<Controller>) -> Result<(), String> {
        for conn in self.connections.ids() {
            self.connections.remove(conn);
            cx.out.emit(EffectKind::Close(conn));
        }
        let complete = self.lifecycle.stage == LifeStage::Stopping && self.lifecycle.broker_epoch >= 0;
        let text = |error: DiskError| error.to_string();
        let (mut ends, mut high_watermarks) = (Checkpoint::new(), self.high_watermarks.clone());
        let log_starts = self.log_starts_to_keep();
        for partition in std::mem::take(&mut self.partitions).into_values() {
            let key = (partition.topic.clone(), partition.index);
            high_watermarks.insert(key.clone(), partition.high_watermark());
            ends.insert(key, partition.log.close_clean(cx.disk).map_err(text)?);
        }
        for (directory, log) in std::mem::take(&mut self.loaded_logs) {
            let end = log.close_clean(cx.disk).map_err(text)?;
            if let Some((topic, partition)) = parse_log_directory_name(&directory) {
                ends.insert((topic.to_string(), partition), end);
            }
        }
        if let Some(controller) = controller {
            controller.shut_down(cx.disk).map_err(|error| error.to_string())?;
        }
        // Stopped before it was registered: the log directories are as the life before left them.
        if complete {
            write_offset_checkpoint(cx.disk, RECOVERY_POINT_CHECKPOINT, &ends).map_err(text)?;
            write_offset_checkpoint(cx.disk, LOG_START_CHECKPOINT, &log_starts).map_err(text)?;
            write_offset_checkpoint(cx.disk, HIGH_WATERMARK_CHECKPOINT, &high_watermarks).map_err(text)?;
            write_clean_shutdown(cx.disk, self.lifecycle.broker_epoch).map_err(text)?;
        }
        Ok(())
    }
}
