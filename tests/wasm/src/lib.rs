//! A package of its own, because wasm-pack builds every test of the package that it tests.
