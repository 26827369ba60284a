//! The only file that knows wasm-bindgen.
