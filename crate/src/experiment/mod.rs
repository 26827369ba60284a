//! Experiments as data: what a cluster is, what its clients do, what befalls it, and which facts must come out.
//!
//! Owns the compiled form ([`Experiment`]), the grammars of client programs ([`program`]) and of fact expressions
//! ([`expression`]), the machine that runs the programs above any shell ([`Programs`]), and what is measured and
//! judged ([`Measures`], [`Report`]). In: an `experiment.toml` that `native` has read, or the bytes compiled from it.
//! Out: commands for named clients, and a report. It knows the simulator, and no socket, file or clock.

mod condition;
pub mod expression;
mod lab;
mod measures;
mod member;
pub mod program;
mod report;
mod runner;
mod schema;
pub mod syntax;

pub use condition::{Condition, Told};
pub use lab::{Cold, Lab};
pub use measures::*;
pub use member::{BadConfig, ClientConfig, Member};
pub use report::{Judged, Ran, Report};
pub use runner::{Order, Programs};
pub use schema::*;
