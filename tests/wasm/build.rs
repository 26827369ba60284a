//! Which experiments there are: each folder of `tests/experiments`, compiled by `cargo xtask experiments`.

// A build helper, not the core: it reads the environment that cargo sets.
#![allow(clippy::disallowed_methods)]

use std::path::Path;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the repository");
    let folders = root.join("tests/experiments");
    println!("cargo::rerun-if-changed={}", folders.display());
    let mut names: Vec<String> = std::fs::read_dir(&folders)
        .expect("tests/experiments")
        .filter_map(|entry| entry.ok().filter(|entry| entry.path().is_dir())?.file_name().into_string().ok())
        .collect();
    names.sort();
    let compiled = |name: &String| {
        let path = root.join("www/public/experiments").join(format!("{name}.bin"));
        format!("({name:?}, include_bytes!({path:?}).as_slice()),\n")
    };
    let list: String = names.iter().map(compiled).collect();
    let out = std::env::var_os("OUT_DIR").expect("OUT_DIR");
    std::fs::write(Path::new(&out).join("experiments.rs"), format!("&[{list}]")).expect("written");
}
