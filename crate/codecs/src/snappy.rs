//! Snappy in both framings: the chunks of xerial's snappy-java, which Kafka's Java clients and broker write, and one bare
//! block, which other clients send and snappy-java reads as well.

use snap::raw::{Decoder, Encoder, decompress_len};

use super::{Refused, take, take_slice};

/// snappy-java's `MAGIC_HEADER`, its version 1, and the oldest version that can read it.
const XERIAL_HEADER: [u8; 16] = [0x82, b'S', b'N', b'A', b'P', b'P', b'Y', 0, 0, 0, 0, 1, 0, 0, 0, 1];
const XERIAL_MAGIC_SIZE: usize = 8;
/// How much SnappyOutputStream packs into one chunk.
const CHUNK_BYTES: usize = 32 * 1024;

pub fn compress(bytes: &[u8]) -> Vec<u8> {
    let mut out = XERIAL_HEADER.to_vec();
    let mut encoder = Encoder::new();
    for chunk in bytes.chunks(CHUNK_BYTES) {
        let length_at = out.len();
        let begun = length_at + 4;
        out.resize(begun + snap::raw::max_compress_len(chunk.len()), 0);
        // A chunk has far less than the 4 GiB that snappy can take, and the room is as large as it can become.
        let packed = encoder.compress(chunk, out.get_mut(begun..).unwrap_or_default()).unwrap_or(0);
        out.truncate(begun + packed);
        if let Some(length) = out.get_mut(length_at..begun) {
            length.copy_from_slice(&(packed as u32).to_be_bytes());
        }
    }
    out
}

pub fn decompress(mut bytes: &[u8], limit: usize) -> Result<Vec<u8>, Refused> {
    let mut out = Vec::new();
    let mut decoder = Decoder::new();
    let magic = XERIAL_HEADER.get(..XERIAL_MAGIC_SIZE).unwrap_or_default();
    if !bytes.starts_with(magic) {
        block(&mut decoder, bytes, &mut out, limit)?;
        return Ok(out);
    }
    while !bytes.is_empty() {
        // Streams written one after the other each begin with the header.
        if bytes.starts_with(magic) {
            let [.., _, _, _, _] = take::<16>(&mut bytes)?;
            continue;
        }
        let length = u32::from_be_bytes(take(&mut bytes)?);
        let chunk = take_slice(&mut bytes, length as usize)?;
        block(&mut decoder, chunk, &mut out, limit)?;
    }
    Ok(out)
}

/// Unpacks a block behind what `out` holds already.
fn block(decoder: &mut Decoder, block: &[u8], out: &mut Vec<u8>, limit: usize) -> Result<(), Refused> {
    /// The most that a byte of a block can become: an element of three bytes copies at most 64.
    const RATIO_MAX: usize = 22;
    let announced = decompress_len(block).map_err(|_| Refused::Corrupt)?;
    if announced > block.len().saturating_mul(RATIO_MAX) {
        return Err(Refused::Corrupt);
    }
    let begun = out.len();
    if announced > limit.saturating_sub(begun) {
        return Err(Refused::TooLarge);
    }
    out.resize(begun + announced, 0);
    let written = decoder.decompress(block, out.get_mut(begun..).unwrap_or_default());
    if written.map_err(|_| Refused::Corrupt)? == announced { Ok(()) } else { Err(Refused::Corrupt) }
}
