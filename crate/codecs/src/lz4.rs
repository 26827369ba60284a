//! LZ4 frames as Kafka's own Lz4BlockOutputStream and Lz4BlockInputStream have them: independent blocks of 64 KiB,
//! written without checksums and sizes, read with them. A content checksum is stepped over unread, as in Kafka.

use lz4_flex::block::{compress_into, decompress_into, get_maximum_output_size};

use super::{Refused, lz4_high, take, take_slice};

const MAGIC: u32 = 0x184D_2204;
/// Version 1, independent blocks, nothing else.
const FLAGS: u8 = 0x60;
/// Blocks of 64 KiB.
const BLOCK_DESCRIPTOR: u8 = 0x40;
const BLOCK_BYTES: usize = 64 * 1024;
/// Set in a block's length if it is stored as it is.
const INCOMPRESSIBLE: u32 = 0x8000_0000;

const RESERVED: u8 = 0x03;
const CONTENT_CHECKSUM: u8 = 0x04;
const CONTENT_SIZE: u8 = 0x08;
const BLOCK_CHECKSUM: u8 = 0x10;

fn xxh32(bytes: &[u8]) -> u32 {
    twox_hash::XxHash32::oneshot(0, bytes)
}

fn descriptor_checksum(descriptor: &[u8]) -> u8 {
    (xxh32(descriptor) >> 8) as u8
}

/// The default level is not one of the high compressor's: it is the fast one.
const FAST_LEVEL: i32 = 9;

pub fn compress(level: i32, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() / 2 + 64);
    out.extend_from_slice(&MAGIC.to_le_bytes());
    let descriptor = [FLAGS, BLOCK_DESCRIPTOR];
    out.extend_from_slice(&descriptor);
    out.push(descriptor_checksum(&descriptor));
    for block in bytes.chunks(BLOCK_BYTES) {
        let length_at = out.len();
        let begun = length_at + 4;
        let packed = if level == FAST_LEVEL {
            out.resize(begun + get_maximum_output_size(block.len()), 0);
            // The room is as large as a block can become, so it always fits.
            compress_into(block, out.get_mut(begun..).unwrap_or_default()).unwrap_or(usize::MAX)
        } else {
            let packed = lz4_high::compress_block(block, level);
            out.resize(begun, 0);
            out.extend_from_slice(&packed);
            packed.len()
        };
        let length = if packed < block.len() {
            out.truncate(begun + packed);
            packed as u32
        } else {
            out.truncate(begun);
            out.extend_from_slice(block);
            block.len() as u32 | INCOMPRESSIBLE
        };
        if let Some(field) = out.get_mut(length_at..begun) {
            field.copy_from_slice(&length.to_le_bytes());
        }
    }
    out.extend_from_slice(&0u32.to_le_bytes());
    out
}

pub fn decompress(mut bytes: &[u8], limit: usize) -> Result<Vec<u8>, Refused> {
    if u32::from_le_bytes(take(&mut bytes)?) != MAGIC {
        return Err(Refused::Corrupt);
    }
    let descriptor = bytes;
    let [flags, block_descriptor] = take(&mut bytes)?;
    let block_bytes_max = match block_descriptor {
        0x40 | 0x50 | 0x60 | 0x70 => 1usize << (2 * (block_descriptor >> 4) + 8),
        _ => return Err(Refused::Corrupt),
    };
    // Kafka refuses blocks that depend on each other, and every version but the first.
    if flags & 0xe0 != FLAGS || flags & RESERVED != 0 {
        return Err(Refused::Corrupt);
    }
    if flags & CONTENT_SIZE != 0 {
        take::<8>(&mut bytes)?;
    }
    let descriptor = descriptor.get(..descriptor.len() - bytes.len()).unwrap_or_default();
    let [checksum] = take(&mut bytes)?;
    if checksum != descriptor_checksum(descriptor) {
        return Err(Refused::Corrupt);
    }
    let mut out = Vec::new();
    loop {
        let length = u32::from_le_bytes(take(&mut bytes)?);
        let size = (length & !INCOMPRESSIBLE) as usize;
        if size == 0 {
            break;
        }
        if size > block_bytes_max {
            return Err(Refused::Corrupt);
        }
        let block = take_slice(&mut bytes, size)?;
        if flags & BLOCK_CHECKSUM != 0 && u32::from_le_bytes(take(&mut bytes)?) != xxh32(block) {
            return Err(Refused::Corrupt);
        }
        if length & INCOMPRESSIBLE != 0 {
            out.extend_from_slice(block);
        } else {
            /// The most that a byte of a block can become: a length byte of a match.
            const RATIO_MAX: usize = 256;
            let begun = out.len();
            out.resize(begun + block_bytes_max.min(size * RATIO_MAX), 0);
            let written = decompress_into(block, out.get_mut(begun..).unwrap_or_default());
            out.truncate(begun + written.map_err(|_| Refused::Corrupt)?);
        }
        if out.len() > limit {
            return Err(Refused::TooLarge);
        }
    }
    if flags & CONTENT_CHECKSUM != 0 {
        take::<4>(&mut bytes)?;
    }
    Ok(out)
}
