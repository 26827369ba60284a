//! How many bytes each field of a batch's records takes. In: a batch. Out: sums over its records, field by field.

use crate::record::{Batch, CompressionType, RecordError, read_varint, read_varlong, unpacked_bytes_max};

/// The fields of a record in their order; the last four once for each of its headers.
pub const RECORD_FIELDS: [&str; 13] = [
    "length",
    "attributes",
    "timestamp_delta",
    "offset_delta",
    "key_length",
    "key",
    "value_length",
    "value",
    "headers_count",
    "header_key_length",
    "header_key",
    "header_value_length",
    "header_value",
];
const KEY: usize = 5;
const VALUE: usize = 7;
const HEADER_KEY_LENGTH: usize = 9;
const HEADER_KEY: usize = 10;
const HEADER_VALUE: usize = 12;

/// The bytes of one field, over all places where it occurs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FieldSize {
    pub times: u64,
    pub bytes: u64,
    /// The smallest and the largest of them.
    pub least: u64,
    pub most: u64,
}

impl FieldSize {
    fn add(&mut self, size: u64) {
        self.least = if self.times == 0 { size } else { self.least.min(size) };
        self.most = self.most.max(size);
        self.times += 1;
        self.bytes += size;
    }

    /// Joins the sizes of another batch's field.
    pub fn join(&mut self, other: FieldSize) {
        if other.times > 0 {
            self.least = if self.times == 0 { other.least } else { self.least.min(other.least) };
            self.most = self.most.max(other.most);
            self.times += other.times;
            self.bytes += other.bytes;
        }
    }
}

/// A batch's size in parts. Its header always takes 61 bytes, those of [`super::BATCH_HEADER`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchSizes {
    pub base_offset: i64,
    pub last_offset: i64,
    pub record_count: i32,
    pub compression: CompressionType,
    /// The whole batch, as it is stored.
    pub bytes: u64,
    /// The records as they are stored, packed if a codec packed them.
    pub packed: u64,
    /// By the order of [`RECORD_FIELDS`], of the records as they were before they were packed.
    pub fields: [FieldSize; RECORD_FIELDS.len()],
}

impl BatchSizes {
    /// Reads the whole batch; an error names the record that cannot be read.
    pub fn of<T: AsRef<[u8]>>(batch: &Batch<T>) -> Result<BatchSizes, RecordError> {
        let unpacked = batch.unpacked_records(unpacked_bytes_max(batch.size_in_bytes()))?;
        for record in batch.records_in(&unpacked) {
            record?;
        }
        let mut sizes = BatchSizes {
            base_offset: batch.base_offset(),
            last_offset: batch.last_offset(),
            record_count: batch.record_count(),
            compression: batch.compression_type(),
            bytes: batch.size_in_bytes(),
            packed: batch.packed_records().len() as u64,
            fields: [FieldSize::default(); RECORD_FIELDS.len()],
        };
        let mut rest = unpacked.as_ref();
        // All records were read above, so none ends this early.
        while let Some(after) = (Reader { rest, fields: &mut sizes.fields }).record() {
            rest = after;
        }
        Ok(sizes)
    }

    /// The records before they were packed.
    pub fn unpacked(&self) -> u64 {
        self.fields.iter().map(|field| field.bytes).sum()
    }

    /// What the application gave: keys, values, headers' keys and values.
    pub fn data(&self) -> u64 {
        [KEY, VALUE, HEADER_KEY, HEADER_VALUE].iter().map(|&field| self.fields[field].bytes).sum()
    }

    /// The keys, the values, and the headers with their lengths.
    pub fn keys_values_headers(&self) -> [u64; 3] {
        let headers = self.fields[HEADER_KEY_LENGTH..].iter().map(|field| field.bytes).sum();
        [self.fields[KEY].bytes, self.fields[VALUE].bytes, headers]
    }
}

/// Reads records and counts what each field takes.
struct Reader<'a, 'f> {
    rest: &'a [u8],
    fields: &'f mut [FieldSize; RECORD_FIELDS.len()],
}

impl<'a> Reader<'a, '_> {
    /// One record; what comes after it.
    fn record(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.varint(0)?).ok()?;
        let (record, after) = self.rest.split_at_checked(length)?;
        let (_, rest) = record.split_first()?;
        self.fields[1].add(1);
        self.rest = rest;
        let left = self.rest.len();
        read_varlong(&mut self.rest)?;
        self.fields[2].add((left - self.rest.len()) as u64);
        self.varint(3)?;
        self.data(4)?;
        self.data(6)?;
        for _ in 0..self.varint(8)? {
            self.data(9)?;
            self.data(11)?;
        }
        Some(after)
    }

    fn varint(&mut self, field: usize) -> Option<i32> {
        let left = self.rest.len();
        let value = read_varint(&mut self.rest)?;
        self.fields[field].add((left - self.rest.len()) as u64);
        Some(value)
    }

    /// A length at `field` and, unless it says null, the bytes at the field after it.
    fn data(&mut self, field: usize) -> Option<()> {
        let Ok(size) = usize::try_from(self.varint(field)?) else { return Some(()) };
        let (_, rest) = self.rest.split_at_checked(size)?;
        self.rest = rest;
        self.fields[field + 1].add(size as u64);
        Some(())
    }
}
