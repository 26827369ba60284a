//! Experiments as files: finds one by name or path, reads it, and says exactly what is wrong with it.
//!
//! In: `tests/experiments/<name>/experiment.toml`. Out: an [`Experiment`]. The project's own are part of the binary,
//! so `steplog run NAME` works anywhere.

mod read;
mod section;

use std::path::Path;

use crate::experiment::Experiment;
use crate::experiment::syntax::did_you_mean;

pub use read::read;
pub use section::FileError;

/// `(name, text)` of every folder below `tests/experiments/`, in the order of their names; made by `crate/build.rs`.
mod embedded {
    include!(concat!(env!("OUT_DIR"), "/experiments.rs"));
}

/// The names of the experiments that are part of this binary.
pub fn names() -> impl Iterator<Item = &'static str> {
    embedded::EXPERIMENTS.iter().map(|(name, _)| *name)
}

/// Every experiment that is part of this binary.
pub fn all() -> Result<Vec<Experiment>, FileError> {
    embedded::EXPERIMENTS.iter().map(|(name, text)| read(name, &file_of(name), text)).collect()
}

/// Why there is no experiment to run.
#[derive(Debug)]
pub enum FindError {
    /// Neither a name nor a file.
    Unknown(String),
    Unreadable {
        path: String,
        why: std::io::Error,
    },
    Wrong(FileError),
}

impl std::fmt::Display for FindError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            FindError::Unknown(name) => {
                let all = names().collect::<Vec<_>>().join(", ");
                let near = did_you_mean(name, names());
                write!(
                    f,
                    "there is no experiment `{name}`{near}: there are {all}, or give the path of an experiment.toml"
                )
            }
            FindError::Unreadable { path, why } => write!(f, "cannot read {path}: {why}"),
            FindError::Wrong(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for FindError {}

/// An experiment of this binary by its name, or any other by the path of its file or folder.
pub fn find(name: &str) -> Result<Experiment, FindError> {
    if let Some((name, text)) = embedded::EXPERIMENTS.iter().find(|(known, _)| *known == name) {
        return read(name, &file_of(name), text).map_err(FindError::Wrong);
    }
    let path = Path::new(name);
    let file = if path.is_dir() { path.join("experiment.toml") } else { path.to_path_buf() };
    if !name.contains(['/', '.']) && !file.exists() {
        return Err(FindError::Unknown(name.to_string()));
    }
    let shown = file.display().to_string();
    let text = std::fs::read_to_string(&file).map_err(|why| FindError::Unreadable { path: shown.clone(), why })?;
    // An experiment is called like its folder; a file of another name like itself.
    let stem = if file.ends_with("experiment.toml") { file.parent() } else { Some(file.as_path()) };
    let name = stem.and_then(Path::file_stem).map_or_else(|| shown.clone(), |stem| stem.to_string_lossy().into_owned());
    read(&name, &shown, &text).map_err(FindError::Wrong)
}

fn file_of(name: &str) -> String {
    format!("tests/experiments/{name}/experiment.toml")
}
