//! Compiles the experiments into what the page fetches: `www/public/experiments/<name>.bin`.

use std::fs;
use std::path::Path;

use steplog::native::experiment;

use crate::Result;

pub fn compile(root: &Path) -> Result {
    let to = root.join("www/public/experiments");
    fs::create_dir_all(&to)?;
    for experiment in experiment::all()? {
        fs::write(to.join(format!("{}.bin", experiment.name)), experiment.to_bytes())?;
    }
    Ok(())
}
