//! `steplog log-sizes`: where the bytes of a batch go, field by field; of a batch described by options, or of those in
//! a log file.

use std::path::PathBuf;

use clap::ArgGroup;
use comfy_table::{CellAlignment, Table};
use serde_json::{Map, Value as Json, json};

use super::{Outcome, print, table};
use crate::record::{
    Batch, BatchBuilder, Batches, Codec, Compression, CompressionRatio, HeaderRef, ProducerIdentity,
    RECORD_BATCH_OVERHEAD,
};
use crate::view::{BATCH_HEADER, BatchSizes, FieldSize, RECORD_FIELDS};

/// Show a batch's size, field by field.
#[derive(Debug, clap::Args)]
#[command(group = ArgGroup::new("a record").multiple(true).conflicts_with("file"))]
pub struct Arguments {
    /// A partition's .log file; without one, the batch of the records that the options describe.
    file: Option<PathBuf>,
    /// Each record's key; without it and --key-size it is null.
    #[arg(long, group = "a record", conflicts_with = "key_size")]
    key: Option<String>,
    /// A key of so many zero bytes.
    #[arg(long, value_name = "BYTES", group = "a record")]
    key_size: Option<u32>,
    /// Each record's value; without it and --value-size it is null.
    #[arg(long, group = "a record", conflicts_with = "value_size")]
    value: Option<String>,
    /// A value of so many zero bytes.
    #[arg(long, value_name = "BYTES", group = "a record")]
    value_size: Option<u32>,
    /// A header of each record; without `=` its value is null.
    #[arg(long = "header", value_name = "NAME=VALUE", group = "a record")]
    headers: Vec<String>,
    /// How many records the batch holds.
    #[arg(long, default_value_t = 1, group = "a record", value_parser = clap::value_parser!(u32).range(1..))]
    records: u32,
    /// Milliseconds between one record's timestamp and the next one's.
    #[arg(long, value_name = "MS", default_value_t = 0, group = "a record")]
    interval: u32,
    /// The codec that packs the records, at its default level.
    #[arg(long, value_name = "CODEC", default_value = "none", group = "a record", value_parser = parse_codec)]
    compression: CodecOption,
    /// Print one JSON document instead of tables.
    #[arg(long)]
    json: bool,
}

/// A codec, or none.
#[derive(Debug, Clone, Copy)]
struct CodecOption(Option<Codec>);

fn parse_codec(name: &str) -> Result<CodecOption, String> {
    if name == "none" {
        return Ok(CodecOption(None));
    }
    let codec = Codec::ALL.into_iter().find(|codec| codec.name() == name);
    codec
        .map(|codec| CodecOption(Some(codec)))
        .ok_or_else(|| "it must be one of none, gzip, snappy, lz4, zstd".to_owned())
}

pub fn execute(arguments: Arguments) -> Outcome {
    let read = match &arguments.file {
        Some(file) => read_file(file),
        None => build(&arguments).map(|batch| (vec![(0, batch)], None)),
    };
    let (batches, broken) = match read {
        Ok(read) => read,
        Err(text) => return Outcome::Wrong(text),
    };
    if arguments.json {
        print(&format!("{}\n", to_json(&batches)));
    } else if !batches.is_empty() {
        let list = arguments.file.map(|_| format!("{}\n", batches_text(&batches)));
        print(&format!("{}{}", list.unwrap_or_default(), fields_text(&batches)));
    }
    broken.map_or(Outcome::Success, Outcome::Wrong)
}

/// Batches with their positions, and what ended the reading early.
type Read = (Vec<(u64, BatchSizes)>, Option<String>);

fn read_file(path: &PathBuf) -> Result<Read, String> {
    let bytes = std::fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let size = bytes.len() as u64;
    let mut batches = Batches::new(bytes.into());
    let mut sizes = Vec::new();
    let mut position = 0;
    let broken = |position: u64, what: String| Some(format!("{}, byte {position}: {what}", path.display()));
    for batch in batches.by_ref() {
        match batch.map(|batch| BatchSizes::of(&batch)) {
            Ok(Ok(batch)) => {
                let start = position;
                position += batch.bytes;
                sizes.push((start, batch));
            }
            Ok(Err(error)) => return Ok((sizes, broken(position, format!("the batch's {error}")))),
            Err(error) => return Ok((sizes, broken(position, error.to_string()))),
        }
    }
    let left = size - position;
    let cut = (left > 0).then(|| broken(position, format!("the last {left} bytes are no whole batch"))).flatten();
    Ok((sizes, cut))
}

/// A batch may announce at most what an int32 holds; half of that is more than any broker takes.
const BATCH_BYTES_MAX: usize = 1 << 30;

fn build(arguments: &Arguments) -> Result<BatchSizes, String> {
    let bytes = |text: &Option<String>, size: Option<u32>| match (text, size) {
        (Some(text), _) => Some(text.clone().into_bytes()),
        (None, size) => size.filter(|size| *size as usize <= BATCH_BYTES_MAX).map(|size| vec![0; size as usize]),
    };
    let too_large = [arguments.key_size, arguments.value_size].iter().flatten().any(|s| *s as usize > BATCH_BYTES_MAX);
    let (key, value) = (bytes(&arguments.key, arguments.key_size), bytes(&arguments.value, arguments.value_size));
    let headers = arguments.headers.iter().map(|header| match header.split_once('=') {
        Some((name, value)) => (name.as_bytes(), Some(value.as_bytes())),
        None => (header.as_bytes(), None),
    });
    let headers: Vec<HeaderRef<'_>> = headers.collect();
    let compression = arguments.compression.0.map_or(Compression::NONE, Compression::of);
    let mut builder = BatchBuilder::new().compressed(compression, CompressionRatio::ONE);
    for index in 0..arguments.records {
        let timestamp = i64::from(index) * i64::from(arguments.interval);
        let size = builder.next_record_size(timestamp, key.as_deref(), value.as_deref(), headers.iter().copied());
        if too_large || builder.unpacked_size() + size > BATCH_BYTES_MAX {
            return Err(format!("the batch is larger than {BATCH_BYTES_MAX} bytes; ask for fewer or smaller records"));
        }
        builder.append(timestamp, key.as_deref(), value.as_deref(), headers.iter().copied());
    }
    let batch = Batch::new(builder.build(ProducerIdentity::NONE)).map_err(|error| error.to_string())?;
    BatchSizes::of(&batch).map_err(|error| error.to_string())
}

/// What a field is, beside its size.
fn about(is_header: bool, field: &str) -> &'static str {
    match (is_header, field) {
        (true, "base_offset") => "of the first record; the leader sets it",
        (true, "batch_length") => "how many bytes follow",
        (true, "partition_leader_epoch") => "the leader sets it, outside the CRC",
        (true, "magic") => "the format: 2",
        (true, "crc") => "CRC-32C of all that follows",
        (true, "attributes") => "codec, timestamp type, transactional, control",
        (true, "last_offset_delta") => "what to add for the last record's offset",
        (true, "base_timestamp") => "of the first record",
        (true, "max_timestamp") => "of all records",
        (true, "producer_id" | "producer_epoch") => "-1 without idempotence",
        (true, "base_sequence") => "of the first record; -1 without idempotence",
        (false, "length") => "varint: how many bytes of this record follow",
        (false, "attributes") => "unused",
        (false, "timestamp_delta") => "varint: to base_timestamp, 1 byte up to 63 ms",
        (false, "offset_delta") => "varint: to base_offset, 1 byte up to 63",
        (false, "key_length" | "value_length" | "header_value_length") => "varint; -1 is null",
        (false, "header_key_length" | "headers_count") => "varint",
        _ => "",
    }
}

/// Every field of all batches together: how large one is, how often it occurs, what that makes.
fn fields_text(batches: &[(u64, BatchSizes)]) -> String {
    let mut table = table::new(&["field", "each", "times", "bytes", ""]);
    right(&mut table, 1..4);
    let count = batches.len() as u64;
    let header = RECORD_BATCH_OVERHEAD as u64 * count;
    table.add_row(["batch header", "61", &count.to_string(), &header.to_string(), ""]);
    for (name, _, size) in BATCH_HEADER {
        let bytes = (size as u64 * count).to_string();
        table.add_row([&format!("  {name}"), &size.to_string(), &count.to_string(), &bytes, about(true, name)]);
    }
    let fields = all_fields(batches);
    let sum = |of: fn(&BatchSizes) -> u64| batches.iter().map(|(_, batch)| of(batch)).sum::<u64>();
    let records = sum(|batch| batch.record_count.max(0) as u64);
    let unpacked = sum(BatchSizes::unpacked);
    table.add_row(["records", "", &records.to_string(), &unpacked.to_string(), ""]);
    for (name, field) in RECORD_FIELDS.into_iter().zip(&fields).filter(|(_, field)| field.times > 0) {
        let (times, bytes) = (field.times.to_string(), field.bytes.to_string());
        table.add_row([&format!("  {name}"), &each(field), &times, &bytes, about(false, name)]);
    }
    let packed = sum(|batch| batch.packed);
    if packed != unpacked {
        table.add_row(["records as packed", "", "", &packed.to_string(), ""]);
    }
    let (bytes, data) = (sum(|batch| batch.bytes), sum(BatchSizes::data));
    table.add_row(["in all", "", "", &bytes.to_string(), ""]);
    let rest = (header + unpacked).saturating_sub(data);
    let overhead = format!("{data} bytes are keys, values and headers; {rest} describe them");
    let text = match records {
        0 => overhead,
        records => format!("{overhead}, {} a record", tenths(rest, records)),
    };
    format!("{}\n{text}\n", table::text(&table))
}

fn all_fields(batches: &[(u64, BatchSizes)]) -> [FieldSize; RECORD_FIELDS.len()] {
    let mut fields = [FieldSize::default(); RECORD_FIELDS.len()];
    for (_, batch) in batches {
        fields.iter_mut().zip(batch.fields).for_each(|(all, field)| all.join(field));
    }
    fields
}

/// A row for each batch, and their sum.
fn batches_text(batches: &[(u64, BatchSizes)]) -> String {
    let heads =
        ["position", "offsets", "records", "codec", "header", "fields", "keys", "values", "headers", "packed", "bytes"];
    let mut table = table::new(&heads);
    right(&mut table, 0..heads.len());
    let mut row = |place: [String; 4], batches: &[(u64, BatchSizes)]| {
        let sum = |of: &dyn Fn(&BatchSizes) -> u64| batches.iter().map(|(_, batch)| of(batch)).sum::<u64>();
        let parts: [u64; 3] = std::array::from_fn(|i| sum(&|batch| batch.keys_values_headers()[i]));
        let unpacked = sum(&|batch| batch.unpacked());
        let packed = sum(&|batch| batch.packed);
        let numbers = [
            (RECORD_BATCH_OVERHEAD * batches.len()).to_string(),
            (unpacked - parts.iter().sum::<u64>()).to_string(),
            parts[0].to_string(),
            parts[1].to_string(),
            parts[2].to_string(),
            if packed == unpacked { String::new() } else { packed.to_string() },
            sum(&|batch| batch.bytes).to_string(),
        ];
        table.add_row(place.into_iter().chain(numbers));
    };
    let mut records = 0;
    for (position, batch) in batches {
        records += i64::from(batch.record_count);
        let offsets = match batch.base_offset == batch.last_offset {
            true => batch.base_offset.to_string(),
            false => format!("{}–{}", batch.base_offset, batch.last_offset),
        };
        let place =
            [position.to_string(), offsets, batch.record_count.to_string(), batch.compression.name().to_owned()];
        row(place, &[(*position, batch.clone())]);
    }
    if batches.len() > 1 {
        row(["in all".to_string(), String::new(), records.to_string(), String::new()], batches);
    }
    table::text(&table)
}

fn right(table: &mut Table, columns: std::ops::Range<usize>) {
    for index in columns {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

/// The size of one, or the range of sizes.
fn each(field: &FieldSize) -> String {
    if field.least == field.most { field.most.to_string() } else { format!("{}–{}", field.least, field.most) }
}

/// A quotient with one decimal, rounded.
fn tenths(number: u64, by: u64) -> String {
    let tenths = (number * 10 + by / 2) / by;
    format!("{}.{}", tenths / 10, tenths % 10)
}

fn to_json(batches: &[(u64, BatchSizes)]) -> Json {
    let batch = |(position, batch): &(u64, BatchSizes)| {
        let header: Map<String, Json> =
            BATCH_HEADER.iter().map(|(name, _, size)| (name.to_string(), json!(size))).collect();
        let fields = RECORD_FIELDS.iter().zip(&batch.fields);
        let records: Map<String, Json> = fields.map(|(name, field)| (name.to_string(), json!(field.bytes))).collect();
        json!({
            "position": position,
            "base_offset": batch.base_offset,
            "last_offset": batch.last_offset,
            "records": batch.record_count,
            "codec": batch.compression.name(),
            "bytes": batch.bytes,
            "packed_bytes": batch.packed,
            "unpacked_bytes": batch.unpacked(),
            "header": header,
            "fields": records,
        })
    };
    Json::from(batches.iter().map(batch).collect::<Vec<Json>>())
}
