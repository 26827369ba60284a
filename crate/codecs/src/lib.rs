//! Kafka's codecs: what stands after a batch's header, packed and unpacked (`org.apache.kafka.common.compress`).
//!
//! In: bytes, a codec, a level or a limit. Out: bytes. A codec never gives more than the limit it was given and never
//! panics on what it unpacks. The native broker links this crate; the page has it as a second wasm ([`web`]), since the
//! codecs together are as large as a third of everything else and most experiments name none. Both are the same code
//! with the same result, byte for byte, or the trace of one experiment would be two.

#![forbid(unsafe_code)]

mod gzip;
mod lz4;
mod lz4_high;
mod snappy;
#[cfg(feature = "web")]
pub mod web;
mod zstd;

/// A codec, by its number in a batch's attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    Gzip = 1,
    Snappy = 2,
    Lz4 = 3,
    Zstd = 4,
}

impl Codec {
    pub const ALL: [Codec; 4] = [Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd];

    /// As `compression.type` spells it.
    pub fn name(self) -> &'static str {
        match self {
            Codec::Gzip => "gzip",
            Codec::Snappy => "snappy",
            Codec::Lz4 => "lz4",
            Codec::Zstd => "zstd",
        }
    }

    /// The key that sets its level. Snappy has no levels, and no such key.
    pub fn level_key(self) -> &'static str {
        match self {
            Codec::Gzip => "compression.gzip.level",
            Codec::Snappy => "",
            Codec::Lz4 => "compression.lz4.level",
            Codec::Zstd => "compression.zstd.level",
        }
    }

    /// What that key is if nobody sets it.
    pub fn default_level(self) -> i32 {
        match self {
            Codec::Gzip => -1,
            Codec::Snappy => 0,
            Codec::Lz4 => 9,
            Codec::Zstd => 3,
        }
    }
}

/// Why bytes were not unpacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// They are not what the codec makes.
    Corrupt,
    /// They end before the stream does. Told apart for gzip alone, as Kafka does.
    Truncated,
    /// They unpack to more than the limit.
    TooLarge,
}

/// Packs `bytes`. A level out of the codec's range counts as the nearest.
pub fn compress(codec: Codec, level: i32, bytes: &[u8]) -> Vec<u8> {
    match codec {
        Codec::Gzip => gzip::compress(level, bytes),
        Codec::Snappy => snappy::compress(bytes),
        Codec::Lz4 => lz4::compress(level, bytes),
        Codec::Zstd => zstd::compress(level, bytes),
    }
}

/// Unpacks `bytes` to at most `limit` bytes; memory is taken as it turns out to be needed, never as the bytes announce.
pub fn decompress(codec: Codec, bytes: &[u8], limit: usize) -> Result<Vec<u8>, Refused> {
    match codec {
        Codec::Gzip => gzip::decompress(bytes, limit),
        Codec::Snappy => snappy::decompress(bytes, limit),
        Codec::Lz4 => lz4::decompress(bytes, limit),
        Codec::Zstd => zstd::decompress(bytes, limit),
    }
}

/// Takes `N` bytes from the front.
fn take<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], Refused> {
    let (front, rest) = bytes.split_first_chunk::<N>().ok_or(Refused::Corrupt)?;
    *bytes = rest;
    Ok(*front)
}

/// Takes `length` bytes from the front.
fn take_slice<'a>(bytes: &mut &'a [u8], length: usize) -> Result<&'a [u8], Refused> {
    let (front, rest) = bytes.split_at_checked(length).ok_or(Refused::Corrupt)?;
    *bytes = rest;
    Ok(front)
}
