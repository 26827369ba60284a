//! The codecs as the page's second wasm: what `engine.ts` loads before it builds a world that names a codec.

use wasm_bindgen::prelude::*;

use super::Codec;

fn codec(id: u8) -> Option<Codec> {
    Codec::ALL.into_iter().find(|codec| *codec as u8 == id)
}

/// `codec` is its number in a batch's attributes. Nothing for a number that none has.
#[wasm_bindgen]
pub fn compress(codec: u8, bytes: &[u8], level: i32) -> Option<Vec<u8>> {
    Some(super::compress(self::codec(codec)?, level, bytes))
}

/// The bytes; or throws why not: a number of [`Refused`](super::Refused).
#[wasm_bindgen]
pub fn decompress(codec: u8, bytes: &[u8], limit: u32) -> Result<Vec<u8>, u8> {
    let codec = self::codec(codec).ok_or(super::Refused::Corrupt as u8)?;
    super::decompress(codec, bytes, limit as usize).map_err(|refused| refused as u8)
}
