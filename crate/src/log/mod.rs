//! The log of one partition.
