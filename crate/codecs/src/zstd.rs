//! Zstandard (RFC 8878).

use structured_zstd::decoding::FrameDecoder;
use structured_zstd::decoding::errors::FrameDecoderError;
use structured_zstd::encoding::{CompressionLevel, compress_slice_to_vec};

use super::Refused;

/// zstd-jni's largest window: frames that want more memory than this are refused.
const WINDOW_BYTES_MAX: u64 = 1 << 27;

pub fn compress(level: i32, bytes: &[u8]) -> Vec<u8> {
    compress_slice_to_vec(bytes, CompressionLevel::from_level(level))
}

pub fn decompress(bytes: &[u8], limit: usize) -> Result<Vec<u8>, Refused> {
    let mut decoder = FrameDecoder::new();
    decoder.set_max_window_size(WINDOW_BYTES_MAX).map_err(|_| Refused::Corrupt)?;
    let mut room = bytes.len().saturating_mul(8).max(4096);
    loop {
        let mut out = vec![0; room.min(limit)];
        match decoder.decode_all(bytes, &mut out) {
            Ok(length) => {
                out.truncate(length);
                return Ok(out);
            }
            Err(FrameDecoderError::TargetTooSmall) if room < limit => room = room.saturating_mul(4),
            Err(FrameDecoderError::TargetTooSmall) => return Err(Refused::TooLarge),
            Err(_) => return Err(Refused::Corrupt),
        }
    }
}
