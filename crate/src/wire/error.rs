//! Why bytes could not be read, or a message not written. Facts in fields; the text is made in `Display` alone.

use std::fmt;

/// An error of the wire, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WireError {
    /// Byte position in the frame (after the 4-byte size) at which reading stopped; 0 when writing.
    pub at: usize,
    /// The innermost field, in snake case; empty if the error belongs to no field.
    pub field: &'static str,
    pub kind: WireErrorKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WireErrorKind {
    /// The frame ends before the value does.
    TooShort { needed: usize, left: usize },
    /// A varint's fifth byte has its high bit set.
    VarintTooLong,
    /// A null, or a negative length, where the version allows none.
    Null,
    /// A string longer than 32767 bytes.
    StringTooLong { length: usize },
    /// More elements are announced than bytes are left.
    CountTooLarge { count: usize, left: usize },
    /// The content of a tagged field ends before or after its announced size.
    TagSize { tag: u32 },
    /// A known tagged field occurs twice.
    TagRepeated { tag: u32 },
    /// Tags must ascend when they are written.
    TagOrder { tag: u32 },
    /// The frame or piece is larger than its length prefix can say.
    TooLarge { length: usize },
    /// The field holds a value that this version cannot carry.
    NotInVersion { version: i16 },
    /// No schema for this API key, or none for this record type.
    UnknownMessage { key: i16 },
    /// The schema has no such version.
    UnsupportedVersion { key: i16, version: i16, min: i16, max: i16 },
    /// A file range cannot be read as bytes.
    FileRange,
    /// A metadata record's frame version is not 1.
    RecordFrame { version: u32 },
}

impl WireError {
    pub(super) fn new(at: usize, kind: WireErrorKind) -> WireError {
        WireError { at, field: "", kind }
    }

    /// Names the field, unless a deeper one is named already.
    #[cold]
    pub(super) fn in_field(mut self, field: &'static str) -> WireError {
        if self.field.is_empty() {
            self.field = field;
        }
        self
    }
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.field.is_empty() {
            write!(f, "{}: ", self.field)?;
        }
        match &self.kind {
            WireErrorKind::TooShort { needed, left } => write!(f, "{needed} bytes are needed and {left} are left")?,
            WireErrorKind::VarintTooLong => f.write_str("a varint has more than 5 bytes")?,
            WireErrorKind::Null => f.write_str("null is not allowed in this version")?,
            WireErrorKind::StringTooLong { length } => write!(f, "a string has {length} bytes; at most 32767 fit")?,
            WireErrorKind::CountTooLarge { count, left } => {
                write!(f, "{count} elements are announced and {left} bytes are left")?
            }
            WireErrorKind::TagSize { tag } => write!(f, "tagged field {tag} does not fill its announced size")?,
            WireErrorKind::TagRepeated { tag } => write!(f, "tagged field {tag} occurs twice")?,
            WireErrorKind::TagOrder { tag } => write!(f, "tagged field {tag} is not above the tag before it")?,
            WireErrorKind::TooLarge { length } => write!(f, "{length} bytes do not fit into a frame")?,
            WireErrorKind::NotInVersion { version } => {
                write!(f, "version {version} has no such field, so it must keep its default")?
            }
            WireErrorKind::UnknownMessage { key } => write!(f, "no message is known for key {key}")?,
            WireErrorKind::UnsupportedVersion { key, version, min, max } => {
                write!(f, "key {key} has versions {min} to {max}, not {version}")?
            }
            WireErrorKind::FileRange => f.write_str("a file range cannot be read as bytes")?,
            WireErrorKind::RecordFrame { version } => {
                write!(f, "a metadata record has frame version {version}; only 1 is known")?
            }
        }
        if self.at > 0 { write!(f, " (at byte {})", self.at) } else { Ok(()) }
    }
}

impl std::error::Error for WireError {}
