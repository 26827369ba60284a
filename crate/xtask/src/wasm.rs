//! Builds the page's two wasms: rustc with the small profile, wasm-bindgen as a library, wasm-opt from npm's binaryen.

use std::path::Path;
use std::process::Command;

use walrus::{FunctionKind, Module, ir};
use wasm_bindgen_cli_support::Bindgen;

use crate::Result;

/// What panics end in, by parts of their mangled names.
const PANICS: &[&str] = &[
    "4core9panicking",
    "unwrap_failed",
    "expect_failed",
    "slice_error_fail",
    "slice_index_fail",
    "len_mismatch_fail",
    "assert_failed",
    "panic_already_",
    "panic_on_ord_violation",
    "handle_alloc_error",
    "capacity_overflow",
];

/// A wasm of the page.
struct Page {
    package: &'static str,
    features: &'static str,
    /// What rustc calls it.
    built: &'static str,
    /// What the page calls it.
    name: &'static str,
}

/// The engine, and what packs and unpacks records, which most experiments never load.
const PAGES: [Page; 2] = [
    Page { package: "steplog", features: "", built: "steplog.wasm", name: "steplog" },
    Page { package: "steplog-codecs", features: "web", built: "steplog_codecs.wasm", name: "codecs" },
];

pub fn build(root: &Path) -> Result {
    PAGES.iter().try_for_each(|page| page.build(root))
}

impl Page {
    fn build(&self, root: &Path) -> Result {
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
        run(Command::new(cargo)
            .current_dir(root)
            .args(["rustc", "--package", self.package, "--features", self.features, "--lib", "--crate-type=cdylib"])
            .args(["--no-default-features", "--profile=web", "--target=wasm32-unknown-unknown"])
            .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", without_machine_paths(root)))?;
        let target = std::env::var("CARGO_TARGET_DIR").map_or_else(|_| root.join("target"), Into::into);
        let built = target.join("wasm32-unknown-unknown/web").join(self.built);
        let (staging, out) = (target.join("page-wasm"), root.join("www/pkg"));
        let file = |extension: &str| format!("{}{extension}", self.name);
        let made = out.join(file("_bg.wasm"));
        if is_newer(&made, &built) && is_newer(&made, &std::env::current_exe()?) {
            return Ok(());
        }
        Bindgen::new()
            .input_module(self.name, without_panic_texts(&built)?)
            .web(true)?
            .typescript(true)
            .remove_producers_section(true)
            .out_name(self.name)
            .generate(&staging)?;

        let small = staging.join(file("_small.wasm"));
        run(Command::new(root.join("node_modules/.bin/wasm-opt"))
            // Like stands beside like by name, which compresses better; the names themselves go. Zeros compress better
            // than the ends of a thousand segments between which they were left out.
            .args(["-Oz", "--converge", "--skip-pass=memory-packing", "--reorder-functions-by-name"])
            // The first kilobyte is the stack's far end, and no pointer leads there.
            .arg("--low-memory-unused")
            // What rustc's default target uses, and every browser since 2022 has.
            .args(["--enable-bulk-memory", "--enable-nontrapping-float-to-int", "--enable-sign-ext"])
            .args(["--enable-mutable-globals", "--enable-reference-types", "--enable-multivalue"])
            .arg(staging.join(file("_bg.wasm")))
            .arg("-o")
            .arg(&small))?;
        std::fs::create_dir_all(&out)?;
        for file in [file(".js"), file(".d.ts"), file("_bg.wasm.d.ts")] {
            std::fs::copy(staging.join(&file), out.join(&file))?;
        }
        // Last, so that what stands there is whole if it is newer than what it was made of.
        std::fs::copy(small, made)?;
        Ok(())
    }
}

/// Whether `made` exists and was written after `from`. If in doubt it was not.
fn is_newer(made: &Path, from: &Path) -> bool {
    let written = |path: &Path| std::fs::metadata(path).and_then(|data| data.modified()).ok();
    written(made).zip(written(from)).is_some_and(|(made, from)| made > from)
}

/// Flags that leave out of the wasm where on this machine it was built.
fn without_machine_paths(root: &Path) -> String {
    let home = std::env::var("HOME").unwrap_or_default();
    let cargo_home = std::env::var("CARGO_HOME").unwrap_or_else(|_| format!("{home}/.cargo"));
    format!("--remap-path-prefix={cargo_home}=cargo --remap-path-prefix={}=steplog", root.display())
}

/// A panic in a page stops the engine at a trap, and nobody sees its text: wasm has no standard error. So panics trap at
/// once, and wasm-opt drops what only made their texts.
fn without_panic_texts(built: &Path) -> Result<Module> {
    let mut module = Module::from_file(built)?;
    for function in module.funcs.iter_mut() {
        let name = function.name.as_deref().unwrap_or_default();
        if let FunctionKind::Local(local) = &mut function.kind
            && PANICS.iter().any(|part| name.contains(part))
        {
            local.builder_mut().func_body().instr_at(0, ir::Unreachable {});
        }
    }
    Ok(module)
}

fn run(command: &mut Command) -> Result {
    let status = command.status().map_err(|error| format!("{command:?}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} ended with {status}").into()) }
}
