//! gzip (RFC 1952) as java.util.zip writes and reads it: GZIPOutputStream's header, and any number of members.

use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress as inflate, inflate_flags};

use super::{Refused, take, take_slice};

/// No name, no time, and "unknown" for the system, as the JDK writes since version 16.
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
const MAGIC_AND_METHOD: [u8; 3] = [0x1f, 0x8b, 8];
/// zlib's default, which −1 stands for.
const DEFAULT_LEVEL: u8 = 6;

const HEADER_CRC: u8 = 2;
const EXTRA: u8 = 4;
const NAME: u8 = 8;
const COMMENT: u8 = 16;

pub fn compress(level: i32, bytes: &[u8]) -> Vec<u8> {
    let level = u8::try_from(level).map_or(DEFAULT_LEVEL, |level| level.clamp(1, 9));
    let deflated = miniz_oxide::deflate::compress_to_vec(bytes, level);
    let mut out = Vec::with_capacity(HEADER.len() + deflated.len() + 8);
    out.extend_from_slice(&HEADER);
    out.extend_from_slice(&deflated);
    out.extend_from_slice(&crc32fast::hash(bytes).to_le_bytes());
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out
}

pub fn decompress(mut bytes: &[u8], limit: usize) -> Result<Vec<u8>, Refused> {
    let mut out = Vec::new();
    loop {
        skip_header(&mut bytes)?;
        let begun = out.len();
        inflate_member(&mut bytes, &mut out, limit)?;
        let member = out.get(begun..).unwrap_or_default();
        let crc = u32::from_le_bytes(take(&mut bytes)?);
        let size = u32::from_le_bytes(take(&mut bytes)?);
        if crc != crc32fast::hash(member) || size != member.len() as u32 {
            return Err(Refused::Corrupt);
        }
        // GZIPInputStream ends at whatever is not another member.
        if !bytes.starts_with(&MAGIC_AND_METHOD) {
            return Ok(out);
        }
    }
}

fn skip_header(bytes: &mut &[u8]) -> Result<(), Refused> {
    let whole = *bytes;
    let [first, second, method, flags, ..] = take::<10>(bytes)?;
    if [first, second, method] != MAGIC_AND_METHOD {
        return Err(Refused::Corrupt);
    }
    if flags & EXTRA != 0 {
        let length = u16::from_le_bytes(take(bytes)?);
        take_slice(bytes, length.into())?;
    }
    for text in [NAME, COMMENT] {
        if flags & text != 0 {
            let end = bytes.iter().position(|byte| *byte == 0).ok_or(Refused::Corrupt)?;
            take_slice(bytes, end + 1)?;
        }
    }
    if flags & HEADER_CRC != 0 {
        let header = whole.get(..whole.len() - bytes.len()).unwrap_or_default();
        if u16::from_le_bytes(take(bytes)?) != crc32fast::hash(header) as u16 {
            return Err(Refused::Corrupt);
        }
    }
    Ok(())
}

/// Inflates one member behind what `out` holds already.
fn inflate_member(bytes: &mut &[u8], out: &mut Vec<u8>, limit: usize) -> Result<(), Refused> {
    let mut state = Box::<DecompressorOxide>::default();
    let begun = out.len();
    let mut length = begun;
    loop {
        if length == out.len() {
            let wanted = out.len().max(bytes.len()).saturating_mul(4).max(1024);
            // One more than may be, to tell a full buffer from a bomb.
            out.resize(wanted.min(limit.saturating_add(1)).max(length), 0);
        }
        let window = out.get_mut(begun..).unwrap_or_default();
        let flags = inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
        let (status, read, written) = inflate(&mut state, bytes, window, length - begun, flags);
        *bytes = bytes.get(read..).unwrap_or_default();
        length += written;
        if length > limit {
            return Err(Refused::TooLarge);
        }
        match status {
            TINFLStatus::Done => break,
            TINFLStatus::HasMoreOutput if length == out.len() => {}
            TINFLStatus::FailedCannotMakeProgress => return Err(Refused::Truncated),
            _ => return Err(Refused::Corrupt),
        }
    }
    out.truncate(length);
    Ok(())
}
