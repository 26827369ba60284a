//! Builds the page's wasm: rustc with the small profile, wasm-bindgen as a library, wasm-opt from npm's binaryen.

use std::path::Path;
use std::process::Command;

use wasm_bindgen_cli_support::Bindgen;

use crate::Result;

pub fn build(root: &Path) -> Result {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    run(Command::new(cargo).current_dir(root).args([
        "rustc",
        "--lib",
        "--crate-type=cdylib",
        "--profile=web",
        "--target=wasm32-unknown-unknown",
    ]))?;
    let target = std::env::var("CARGO_TARGET_DIR").map_or_else(|_| root.join("target"), Into::into);
    let built = target.join("wasm32-unknown-unknown/web/steplog.wasm");
    let out = root.join("www/pkg");
    Bindgen::new()
        .input_path(built)
        .web(true)?
        .typescript(true)
        // Names of functions are for debuggers and weigh as much as the code.
        .remove_name_section(true)
        .remove_producers_section(true)
        .out_name("steplog")
        .generate(&out)?;

    let wasm = out.join("steplog_bg.wasm");
    run(Command::new(root.join("node_modules/.bin/wasm-opt"))
        .args(["-Oz", "--converge"])
        // What rustc's default target uses, and every browser since 2022 has.
        .args(["--enable-bulk-memory", "--enable-nontrapping-float-to-int", "--enable-sign-ext"])
        .args(["--enable-mutable-globals", "--enable-reference-types", "--enable-multivalue"])
        .arg(&wasm)
        .arg("-o")
        .arg(&wasm))
}

fn run(command: &mut Command) -> Result {
    let status = command.status().map_err(|error| format!("{command:?}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} ended with {status}").into()) }
}
