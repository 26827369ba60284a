//! The typed expressions of facts: what they may say, and the values they have.

use serde::{Deserialize, Serialize};

/// What an expression is worth. Times are whole milliseconds since t = 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Value {
    Int(i64),
    Bool(bool),
    /// Ids of sends, offsets, sizes.
    List(Vec<i64>),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Expr {
    Value(Value),
}
