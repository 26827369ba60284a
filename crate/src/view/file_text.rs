//! What a log's bytes say, as text: for each batch the line that Kafka's dump-log prints, and below it the bytes.

use std::fmt::Write;

use crate::record::{Batch, TimestampType};

const BYTES_PER_ROW: usize = 16;

/// Batches in the order of the file, from position 0. What is no batch is shown as bytes alone.
pub fn file_text<'a>(batches: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut text = String::new();
    let mut position = 0;
    for bytes in batches {
        if let Ok(batch) = Batch::new(bytes) {
            text += &dump_log_line(&batch, position);
            text.push('\n');
        }
        for (row, chunk) in bytes.chunks(BYTES_PER_ROW).enumerate() {
            let _ = write!(text, "  {:08x} ", position + (row * BYTES_PER_ROW) as u64);
            for byte in chunk {
                let _ = write!(text, " {byte:02x}");
            }
            text.push('\n');
        }
        position += bytes.len() as u64;
    }
    text
}

/// As `kafka.tools.DumpLogSegments` prints a batch.
fn dump_log_line(batch: &Batch<&[u8]>, position: u64) -> String {
    let delete_horizon = match batch.delete_horizon_ms() {
        Some(ms) => format!("OptionalLong[{ms}]"),
        None => "OptionalLong.empty".to_string(),
    };
    let time = match batch.timestamp_type() {
        TimestampType::CreateTime => "CreateTime",
        TimestampType::LogAppendTime => "LogAppendTime",
    };
    let codec = batch.compression_type().name();
    format!(
        "baseOffset: {} lastOffset: {} count: {} baseSequence: {} lastSequence: {} producerId: {} producerEpoch: {} \
         partitionLeaderEpoch: {} isTransactional: {} isControl: {} deleteHorizonMs: {delete_horizon} \
         position: {position} {time}: {} size: {} magic: {} compresscodec: {codec} crc: {} isvalid: {}",
        batch.base_offset(),
        batch.last_offset(),
        batch.record_count(),
        batch.base_sequence(),
        batch.last_sequence(),
        batch.producer_id(),
        batch.producer_epoch(),
        batch.partition_leader_epoch(),
        batch.is_transactional(),
        batch.is_control_batch(),
        batch.max_timestamp(),
        batch.size_in_bytes(),
        batch.magic(),
        batch.crc(),
        batch.is_crc_valid(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_reads_as_in_kafkas_dump_log() {
        let file = include_bytes!("../../../tests/fixtures/segments/one-by-one/00000000000000000000.log");
        let recorded = include_str!("../../../tests/fixtures/segments/one-by-one/00000000000000000000.log.dump.txt");
        let (first, second) = (&file[..72], &file[72..144]);
        let text = file_text([first, second]);
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("baseOffset")).collect();
        let wanted: Vec<&str> = recorded.lines().filter(|line| line.starts_with("baseOffset")).take(2).collect();
        assert_eq!(lines, wanted);
        assert!(text.contains("\n  00000048  00 00 00 00 00 00 00 01 00 00 00 3c"), "{text}");
    }
}
