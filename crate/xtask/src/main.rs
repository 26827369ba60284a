//! What npm scripts need built: the page's wasm, the experiments as the data it fetches, and the book.
//!
//! `cargo xtask web`, `cargo xtask experiments`, `cargo xtask book`. Each writes below the repository's root.

// A build helper, not the core: it reads the environment that cargo sets.
#![allow(clippy::disallowed_methods)]

mod book;
mod claims;
mod experiments;
mod wasm;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let tasks: Vec<String> = std::env::args().skip(1).collect();
    if tasks.is_empty() {
        eprintln!("usage: cargo xtask (web | experiments | book)…");
        return ExitCode::from(2);
    }
    for task in &tasks {
        let done = match task.as_str() {
            "web" => wasm::build(&root()),
            "experiments" => experiments::compile(&root()),
            "book" => book::build(&root()),
            other => Err(format!("no task called {other}; there are web, experiments and book").into()),
        };
        if let Err(error) = done {
            eprintln!("xtask {task}: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// The repository's root: two levels above this package.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).map(Path::to_path_buf).unwrap_or_default()
}
