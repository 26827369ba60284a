//! Makes `experiments.rs`: the name and text of every `tests/experiments/*/experiment.toml`, so that the binary brings
//! them along and adding an experiment is adding a folder.

// Cargo tells a build script where things are by variables of the environment.
#![allow(clippy::disallowed_methods)]

use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = env::var("CARGO_MANIFEST_DIR").map(|root| Path::new(&root).join("tests/experiments"));
    let root = root.map_err(io::Error::other)?;
    println!("cargo::rerun-if-changed={}", root.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(&root)? {
        let entry = entry?;
        if entry.path().join("experiment.toml").is_file() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    let mut made = String::from("pub(super) const EXPERIMENTS: &[(&str, &str)] = &[\n");
    for name in names {
        let file = root.join(&name).join("experiment.toml");
        println!("cargo::rerun-if-changed={}", file.display());
        made += &format!("    ({name:?}, include_str!({:?})),\n", file.display().to_string());
    }
    made += "];\n";
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    fs::write(Path::new(&out).join("experiments.rs"), made)
}
