//! placeholder
pub mod disk;
