//! Opening a log: after a clean stop its ends are looked up; after a crash the segments from the recovery point on are
//! read again, indexes, epochs and producers rebuilt, and a torn tail is cut (LogLoader, LogSegment.recover).
//!
//! Work goes in steps bounded by a count of batches, so that a node can answer others in between.

use super::config::LogConfig;
use super::epochs::LeaderEpochs;
use super::file_names::{INDEX_SUFFIX, LEFTOVER_SUFFIXES, LOG_SUFFIX, SWAP_SUFFIX, TIME_INDEX_SUFFIX, offset_of};
use super::partition_log::{Log, LogError};
use super::producers::ProducerStates;
use super::scan::{Next, Scan};
use super::segment::Segment;
use super::snapshot;
use crate::disk::Disk;
use crate::ordered::BTreeMap;

/// What a node knows of a log before it opens it.
#[derive(Debug, Clone, Copy)]
pub struct OpenOptions {
    /// The last stop was clean: nothing needs to be read again.
    pub clean_shutdown: bool,
    /// Of `recovery-point-offset-checkpoint`: what is before it is intact. 0 if unknown.
    pub recovery_point: i64,
    /// Of `log-start-offset-checkpoint`. 0 if unknown.
    pub log_start_offset: i64,
    pub now_ms: i64,
}

/// What opening a log found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Loaded {
    pub recovered_batches: u64,
    /// Bytes of a torn tail, and of the segments behind it.
    pub truncated_bytes: u64,
}

/// How far an opening is.
#[derive(Debug)]
pub enum Progress {
    /// Call again.
    More,
    Done(Box<Log>, Loaded),
}

/// An opening under way.
#[derive(Debug, Clone)]
pub struct Recovery {
    log: Log,
    options: OpenOptions,
    loaded: Loaded,
    phase: Phase,
}

#[derive(Debug, Clone)]
enum Phase {
    /// Reading batches up to `until` only for what they say of their producers; then `after`.
    Producers {
        until: i64,
        scan: Option<(i64, Scan)>,
        then: AfterProducers,
    },
    /// Reading a segment again.
    Segment {
        base_offset: i64,
        scan: Scan,
        next_offset: i64,
    },
    Done,
}

#[derive(Debug, Clone, Copy)]
enum AfterProducers {
    RecoverSegment,
    Finish,
}

impl Recovery {
    pub(super) fn start(
        disk: &mut dyn Disk,
        directory: &str,
        config: LogConfig,
        options: OpenOptions,
    ) -> Result<Recovery, LogError> {
        let mut log = Log {
            directory: directory.to_owned(),
            segments: load_segments(disk, directory, &config, options.now_ms)?,
            config,
            log_start_offset: options.log_start_offset,
            log_end_offset: 0,
            recovery_point: options.recovery_point,
            leader_epochs: LeaderEpochs::load(disk, directory)?,
            producers: ProducerStates::default(),
        };
        if let Some((first, _)) = log.segments.first_key_value() {
            log.log_start_offset = log.log_start_offset.max(*first);
        }
        let mut recovery = Recovery { log, options, loaded: Loaded::default(), phase: Phase::Done };
        match recovery.first_to_recover(disk)? {
            Some(base_offset) => recovery.reload_producers(disk, base_offset, AfterProducers::RecoverSegment)?,
            None => recovery.load_ends(disk)?,
        }
        Ok(recovery)
    }

    /// Does the next piece of work: at most about `batches_max` batches are read.
    pub fn step(&mut self, disk: &mut dyn Disk, batches_max: u32) -> Result<Progress, LogError> {
        let mut left = batches_max.max(1);
        while left > 0 {
            match &self.phase {
                Phase::Producers { .. } => self.step_producers(disk, &mut left)?,
                Phase::Segment { .. } => self.step_segment(disk, &mut left)?,
                Phase::Done => return Ok(Progress::Done(Box::new(self.log.clone()), self.loaded)),
            }
        }
        Ok(Progress::More)
    }

    /// All steps at once, for those who have nothing else to do.
    pub fn run(mut self, disk: &mut dyn Disk) -> Result<(Log, Loaded), LogError> {
        loop {
            if let Progress::Done(log, loaded) = self.step(disk, u32::MAX)? {
                return Ok((*log, loaded));
            }
        }
    }

    /// The segment that holds the recovery point, or the first behind it; none after a clean stop. An earlier one if its
    /// indexes are missing or wrong.
    fn first_to_recover(&self, disk: &dyn Disk) -> Result<Option<i64>, LogError> {
        let (segments, point) = (&self.log.segments, self.options.recovery_point);
        let crashed = if self.options.clean_shutdown {
            None
        } else {
            let holding = segments.range(..=point).next_back();
            holding.or_else(|| segments.first_key_value()).map(|(base, _)| *base)
        };
        for segment in segments.range(..crashed.unwrap_or(i64::MAX)).map(|(_, segment)| segment) {
            if !segment.has_sane_indexes(disk)? {
                return Ok(Some(segment.base_offset));
            }
        }
        Ok(crashed)
    }

    fn reload_producers(&mut self, disk: &mut dyn Disk, until: i64, then: AfterProducers) -> Result<(), LogError> {
        let (log, options) = (&mut self.log, &self.options);
        let start = log.log_start_offset;
        let expiration_ms = log.config.producer_id_expiration_ms;
        log.producers.truncate_and_reload(disk, &log.directory, start, until, options.now_ms, expiration_ms)?;
        self.phase = Phase::Producers { until, scan: None, then };
        Ok(())
    }

    fn step_producers(&mut self, disk: &mut dyn Disk, left: &mut u32) -> Result<(), LogError> {
        let Phase::Producers { until, scan, then } = &mut self.phase else { return Ok(()) };
        let (until, then) = (*until, *then);
        while *left > 0 {
            let end_offset = self.log.producers.end_offset;
            if scan.is_none() && end_offset < until {
                *scan = self.log.scan_from(disk, end_offset)?;
            }
            let Some((base, batches)) = scan else { break };
            match batches.next(disk)? {
                Next::Batch(found) if found.header().base_offset() >= until => break,
                Next::Batch(found) => {
                    *left -= 1;
                    if found.header().last_offset() >= end_offset {
                        let batch = batches.whole(disk, &found)?;
                        self.log.producers.replay(&batch);
                    }
                }
                Next::End | Next::Bad(_) => {
                    let next = self.log.segments.range(*base + 1..).next();
                    *scan = next.map(|(base, segment)| (*base, segment.scan_all(0)));
                    if scan.is_none() {
                        break;
                    }
                }
            }
        }
        if *left == 0 {
            return Ok(());
        }
        self.log.producers.end_offset = until;
        match then {
            AfterProducers::RecoverSegment => self.start_segment(disk, until),
            AfterProducers::Finish => {
                self.log.producers.take_snapshot(disk, &self.log.directory, false)?;
                self.phase = Phase::Done;
                Ok(())
            }
        }
    }

    fn start_segment(&mut self, disk: &mut dyn Disk, base_offset: i64) -> Result<(), LogError> {
        if let Some(segment) = self.log.segments.get_mut(&base_offset) {
            segment.start_recovery(disk)?;
            self.phase = Phase::Segment { base_offset, scan: segment.scan_all(0), next_offset: base_offset };
        }
        Ok(())
    }

    fn step_segment(&mut self, disk: &mut dyn Disk, left: &mut u32) -> Result<(), LogError> {
        let Phase::Segment { base_offset, scan, next_offset } = &mut self.phase else { return Ok(()) };
        let base_offset = *base_offset;
        while *left > 0 {
            let position = scan.position();
            let found = match scan.next(disk)? {
                Next::Batch(found) => found,
                // After a clean stop this is no torn tail: an index is rebuilt, and nothing is cut for it.
                Next::Bad(error) if self.options.clean_shutdown => return Err(scan.corrupt(error)),
                Next::Bad(_) | Next::End => return self.end_segment(disk, base_offset, position),
            };
            *left -= 1;
            let batch = scan.whole(disk, &found)?;
            // Kafka looks at size and CRC.
            if !found.header().follows(*next_offset, base_offset) || !batch.is_crc_valid() {
                if self.options.clean_shutdown {
                    return Err(LogError::Damaged { base_offset, position });
                }
                return self.end_segment(disk, base_offset, position);
            }
            *next_offset = batch.next_offset();
            let Some(segment) = self.log.segments.get_mut(&base_offset) else { break };
            segment.recover_batch(disk, &self.log.config, position, &batch)?;
            let epoch = batch.partition_leader_epoch();
            if self.log.leader_epochs.latest().is_none_or(|latest| epoch > latest.epoch) {
                self.log.leader_epochs.assign(disk, epoch, batch.base_offset())?;
            }
            self.log.producers.replay(&batch);
            self.loaded.recovered_batches += 1;
        }
        Ok(())
    }

    /// The segment is good up to `valid_bytes`. If anything is behind, it goes, and all later segments with it.
    fn end_segment(&mut self, disk: &mut dyn Disk, base_offset: i64, valid_bytes: u64) -> Result<(), LogError> {
        let log = &mut self.log;
        let Some(segment) = log.segments.get_mut(&base_offset) else { return Ok(()) };
        let cut = segment.finish_recovery(disk, valid_bytes)?;
        self.loaded.truncated_bytes += cut;
        // With this snapshot the next segment's recovery, and the next start, need not read this one again.
        log.producers.take_snapshot(disk, &log.directory, false)?;
        let later: Vec<i64> = log.segments.range(base_offset + 1..).map(|(base, _)| *base).collect();
        match later.first() {
            Some(&next) if cut == 0 => {
                log.producers.end_offset = next;
                self.start_segment(disk, next)
            }
            _ => {
                for base in later {
                    self.loaded.truncated_bytes += log.segments.get(&base).map_or(0, |segment| segment.size);
                    log.remove_segment(disk, base)?;
                }
                self.load_ends(disk)
            }
        }
    }

    /// All segments are as they should be: finds the log's end, and begins the last reading of producers.
    fn load_ends(&mut self, disk: &mut dyn Disk) -> Result<(), LogError> {
        let (log, options) = (&mut self.log, &self.options);
        if let Some(mut last) = log.segments.last_entry() {
            log.log_end_offset = last.get_mut().load_end(disk)?;
        }
        for segment in log.segments.values_mut() {
            segment.load_timestamps(disk)?;
        }
        if log.log_end_offset < log.log_start_offset {
            // Everything was deleted up to the log's start, and what is left is older.
            let bases: Vec<i64> = log.segments.keys().copied().collect();
            for base in bases {
                log.remove_segment(disk, base)?;
            }
            log.leader_epochs.clear(disk)?;
        }
        if log.segments.is_empty() {
            let start = log.log_start_offset;
            let segment = Segment::create(disk, &log.directory, start, &log.config, options.now_ms)?;
            log.segments.insert(start, segment);
            log.log_end_offset = start;
        }
        if let Some(mut active) = log.segments.last_entry() {
            active.get_mut().become_active(disk)?;
        }
        let end = log.log_end_offset;
        // Only a flush moves the recovery point, except that a clean stop has flushed everything.
        log.recovery_point = if options.clean_shutdown { end } else { options.recovery_point.min(end) };
        log.leader_epochs.truncate_from_end(disk, end)?;
        log.leader_epochs.truncate_from_start(disk, options.log_start_offset)?;
        let bases: Vec<i64> = log.segments.keys().copied().collect();
        snapshot::remove_stray(disk, &log.directory, &bases)?;
        self.reload_producers(disk, end, AfterProducers::Finish)
    }
}

impl Log {
    /// A scan from the segment that holds `offset`, or the first behind it.
    fn scan_from(&self, disk: &dyn Disk, offset: i64) -> Result<Option<(i64, Scan)>, LogError> {
        let holding = self.segments.range(..=offset).next_back().or_else(|| self.segments.first_key_value());
        let Some((base, segment)) = holding else { return Ok(None) };
        let indexed = segment.offset_index.lookup(disk, offset)?;
        Ok(Some((*base, segment.scan_all(indexed.position))))
    }
}

/// Opens all segments of a directory; leftovers of a compaction and indexes without a log are removed.
fn load_segments(
    disk: &mut dyn Disk,
    directory: &str,
    config: &LogConfig,
    now_ms: i64,
) -> Result<BTreeMap<i64, Segment>, LogError> {
    let mut segments = BTreeMap::new();
    let names = disk.list(directory)?;
    for name in &names {
        if LEFTOVER_SUFFIXES.iter().any(|suffix| name.ends_with(suffix)) {
            disk.remove(&format!("{directory}/{name}"))?;
        } else if name.ends_with(SWAP_SUFFIX) {
            return Err(LogError::UnfinishedSwap { path: format!("{directory}/{name}") });
        } else if let Some(base_offset) = offset_of(name, LOG_SUFFIX) {
            segments.insert(base_offset, Segment::load(disk, directory, base_offset, config, now_ms)?);
        }
    }
    for name in &names {
        let base = offset_of(name, INDEX_SUFFIX).or_else(|| offset_of(name, TIME_INDEX_SUFFIX));
        if base.is_some_and(|base| !segments.contains_key(&base)) {
            disk.remove(&format!("{directory}/{name}"))?;
        }
    }
    Ok(segments)
}
