//! What page and command line show: projections of a run, read-only, made when they are drawn.
//!
//! | file | one idea |
//! |---|---|
//! | `story` | a whole run as rows: lanes, frames, marks, records, where steps stop |
//! | `viewer` | one position in a run, and what is there |
//! | `inspect` | the bytes of a frame or segment beside their fields |
//! | `file_text` | a log's batches as dump-log prints them, and their bytes |
//! | `log_sizes` | how many bytes of a batch each of its fields takes |
//! | `why` | why a record's fate is what it is |

mod file_text;
mod inspect;
mod log_sizes;
mod story;
mod viewer;
mod why;

pub use file_text::file_text;
pub use inspect::{BATCH_HEADER, Field, Inspected, frame_fields};
pub use log_sizes::{BatchSizes, FieldSize, RECORD_FIELDS};
pub use story::*;
pub use viewer::{Acted, BranchShown, Unplayable, Viewer};
pub use why::{WhyKind, WhyLink};
