//! How a batch's records are packed: which codec, at which level, and how well
//! (org.apache.kafka.common.compress.Compression, org.apache.kafka.common.record.internal.CompressionType).

use std::borrow::Cow;

pub use crate::codecs::{Codec, Refused};

use super::records::RecordError;

/// What a batch's attributes say. The three bits leave room for codecs that do not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompressionType {
    None,
    Packed(Codec),
    Unknown(u8),
}

impl CompressionType {
    pub(super) fn of_bits(bits: u8) -> CompressionType {
        match (bits, Codec::ALL.into_iter().find(|codec| *codec as u8 == bits)) {
            (0, _) => CompressionType::None,
            (_, Some(codec)) => CompressionType::Packed(codec),
            (_, None) => CompressionType::Unknown(bits),
        }
    }

    /// As Kafka's tools print it.
    pub fn name(self) -> &'static str {
        match self {
            CompressionType::None => "none",
            CompressionType::Packed(codec) => codec.name(),
            CompressionType::Unknown(_) => "unknown",
        }
    }
}

/// A codec, if any, and its level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compression {
    pub codec: Option<Codec>,
    pub level: i32,
}

impl Compression {
    pub const NONE: Compression = Compression { codec: None, level: 0 };

    /// At the codec's default level.
    pub fn of(codec: Codec) -> Compression {
        Compression { codec: Some(codec), level: codec.default_level() }
    }

    /// By the name that `compression.type` has for it; `level` by its key. `None` for every other name.
    pub fn named(name: &str, level: impl FnOnce(&str) -> Option<i32>) -> Option<Compression> {
        let codec = Codec::ALL.into_iter().find(|codec| codec.name() == name)?;
        Some(Compression { codec: Some(codec), level: level(codec.level_key()).unwrap_or(codec.default_level()) })
    }

    pub(super) fn bits(self) -> i16 {
        self.codec.map_or(0, |codec| codec as i16)
    }

    pub(super) fn pack<'a>(self, records: &'a [u8]) -> Cow<'a, [u8]> {
        match self.codec {
            None => Cow::Borrowed(records),
            Some(codec) => Cow::Owned(crate::codecs::compress(codec, self.level, records)),
        }
    }
}

pub(super) fn unpack(compression: CompressionType, packed: &[u8], limit: usize) -> Result<Cow<'_, [u8]>, RecordError> {
    match compression {
        CompressionType::None => Ok(Cow::Borrowed(packed)),
        CompressionType::Unknown(id) => Err(RecordError::UnknownCodec { id }),
        CompressionType::Packed(codec) => crate::codecs::decompress(codec, packed, limit)
            .map(Cow::Owned)
            .map_err(|refused| RecordError::Packed { codec, refused }),
    }
}

/// To how many bytes the records of a batch may unpack where batches of `batch_bytes_max` are allowed. Kafka has no bound;
/// one megabyte of zstd can become 32 gigabytes. What producers make of real records is rarely a tenth of their size, so
/// this refuses bombs only.
pub fn unpacked_bytes_max(batch_bytes_max: u64) -> usize {
    const RATIO_MAX: u64 = 64;
    /// So that small limits (`max.message.bytes=2000`) still allow what packs well.
    const BATCH_BYTES_MIN: u64 = 2 << 20;
    usize::try_from(batch_bytes_max.max(BATCH_BYTES_MIN).saturating_mul(RATIO_MAX).min(i32::MAX as u64)).unwrap_or(0)
}

/// How large packed records are, beside what they were: Kafka's `float`, kept as its bits so that state has no floats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompressionRatio(u32);

impl Default for CompressionRatio {
    fn default() -> CompressionRatio {
        CompressionRatio::ONE
    }
}

impl CompressionRatio {
    /// Not packed, or not known yet.
    pub const ONE: CompressionRatio = CompressionRatio(0x3f80_0000);
    /// `COMPRESSION_RATE_ESTIMATION_FACTOR`: estimates are five percent too high on purpose.
    const ESTIMATION_FACTOR: f32 = 1.05;
    /// How fast an estimate follows batches that pack better (CompressionRatioEstimator).
    const IMPROVING_STEP: f32 = 0.005;
    /// How fast, at least, it follows those that pack worse.
    const DETERIORATE_STEP: f32 = 0.05;

    pub fn of(packed: usize, unpacked: usize) -> CompressionRatio {
        CompressionRatio((packed as f32 / unpacked as f32).to_bits())
    }

    fn value(self) -> f32 {
        f32::from_bits(self.0)
    }

    /// What so many bytes will probably be.
    pub fn estimate(self, unpacked: usize) -> usize {
        (unpacked as f32 * self.value() * CompressionRatio::ESTIMATION_FACTOR) as usize
    }

    /// The estimate after a batch has shown this ratio: quick to rise, slow to fall.
    #[must_use]
    pub fn updated(self, observed: CompressionRatio) -> CompressionRatio {
        let (current, observed) = (self.value(), observed.value());
        let next = if observed > current {
            (current + CompressionRatio::DETERIORATE_STEP).max(observed)
        } else {
            (current - CompressionRatio::IMPROVING_STEP).max(observed)
        };
        CompressionRatio(next.to_bits())
    }

    /// This, or 1 if that is more: what an estimate is reset to when a batch turned out too large for the broker.
    #[must_use]
    pub fn at_least_one(self) -> CompressionRatio {
        CompressionRatio(self.value().max(1.0).to_bits())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_falls_by_half_a_percent_and_rises_at_once() {
        let quarter = CompressionRatio::of(25, 100);
        let mut estimate = CompressionRatio::ONE;
        assert_eq!(estimate.estimate(1000), 1050);
        for _ in 0..10 {
            estimate = estimate.updated(quarter);
        }
        assert_eq!(estimate.estimate(1000), 997, "1 less ten times 0.005, times 1.05");
        assert_eq!(quarter.updated(CompressionRatio::of(26, 100)), CompressionRatio::of(30, 100));
        assert_eq!(quarter.updated(CompressionRatio::of(2, 1)), CompressionRatio::of(2, 1));
        assert_eq!(quarter.at_least_one(), CompressionRatio::ONE);
        assert_eq!(CompressionRatio::of(5, 4).at_least_one(), CompressionRatio::of(5, 4));
    }

    #[test]
    fn the_bits_of_the_attributes_name_the_codecs() {
        let names: Vec<&str> = (0..8).map(|bits| CompressionType::of_bits(bits).name()).collect();
        assert_eq!(names, ["none", "gzip", "snappy", "lz4", "zstd", "unknown", "unknown", "unknown"]);
    }
}
