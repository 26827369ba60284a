//! The codecs as the page has them: two functions of the second wasm, which `engine.ts` gives before it builds a world
//! that names a codec. Calls pass through JavaScript and return before they are missed: nothing is awaited.

use std::cell::RefCell;

use js_sys::{Function, Uint8Array};
use wasm_bindgen::prelude::*;

pub use steplog_codecs::{Codec, Refused};

thread_local! {
    /// What packs, and what unpacks.
    static FUNCTIONS: RefCell<Option<(Function, Function)>> = const { RefCell::new(None) };
}

/// Takes the `compress` and `decompress` of the second wasm.
#[wasm_bindgen]
pub fn set_codecs(compress: Function, decompress: Function) {
    FUNCTIONS.set(Some((compress, decompress)));
}

/// What the function gives, or what it throws.
fn call(
    which: impl Fn(&(Function, Function)) -> &Function,
    codec: Codec,
    bytes: &[u8],
    number: f64,
) -> Result<Vec<u8>, JsValue> {
    FUNCTIONS.with_borrow(|functions| {
        let function = which(functions.as_ref().ok_or(JsValue::UNDEFINED)?);
        let (codec, bytes) = (JsValue::from(codec as u8), JsValue::from(Uint8Array::from(bytes)));
        function.call3(&JsValue::NULL, &codec, &bytes, &number.into()).map(|made| Uint8Array::new(&made).to_vec())
    })
}

/// As `steplog_codecs::compress`.
pub fn compress(codec: Codec, level: i32, bytes: &[u8]) -> Vec<u8> {
    call(|(compress, _)| compress, codec, bytes, level.into()).unwrap_or_default()
}

/// As `steplog_codecs::decompress`.
pub fn decompress(codec: Codec, bytes: &[u8], limit: usize) -> Result<Vec<u8>, Refused> {
    call(|(_, decompress)| decompress, codec, bytes, limit as f64).map_err(|thrown| {
        let number = thrown.as_f64().unwrap_or_default();
        let known =
            [Refused::Truncated, Refused::TooLarge].into_iter().find(|refused| f64::from(*refused as u8) == number);
        known.unwrap_or(Refused::Corrupt)
    })
}
