//! Renders the book, one mdBook per language, into `book/out/<language>`.

use std::path::Path;

use mdbook_driver::MDBook;

use crate::Result;

pub const LANGUAGES: [&str; 2] = ["en", "zh"];

pub fn build(root: &Path) -> Result {
    for language in LANGUAGES {
        let source = root.join("book").join(language);
        let mut book = MDBook::load(&source).map_err(|error| format!("{}: {error:#}", source.display()))?;
        book.config.build.build_dir = root.join("book/out").join(language);
        book.build().map_err(|error| format!("{}: {error:#}", source.display()))?;
    }
    Ok(())
}
