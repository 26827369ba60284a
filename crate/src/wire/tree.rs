//! The fields of a frame with the bytes each came from, for readers. Walks the tables alone and builds no message.

use bytes::Bytes;

use super::decode::{ITEM, check_version};
use super::header::{RequestHeader, ResponseHeader, key_and_version, request_header_version, response_header_version};
use super::messages;
use super::reader::Reader;
use super::schema::{Field, Kind, Message, Schema, Table, Type};
use super::{ApiKey, Uuid, WireError, WireErrorKind};

/// A frame's fields, each before its children.
#[derive(Debug, Clone, PartialEq, Default, serde::Serialize)]
pub struct Tree {
    pub nodes: Vec<Node>,
}

/// One field and the bytes of the frame (without its 4-byte size) that it came from, length prefixes included.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Node {
    pub label: Label,
    /// 0 for header and body.
    pub depth: u8,
    pub start: u32,
    pub end: u32,
    pub value: Leaf,
}

/// What a node is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub enum Label {
    Header,
    Body,
    /// Kafka's name in snake case.
    Field(&'static str),
    /// An element of an array.
    Item(u32),
    /// A struct's tagged fields, their count included.
    TaggedFields,
    /// A tagged field that the schema does not know.
    UnknownTag(u32),
}

/// What a node holds.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub enum Leaf {
    /// Fields follow, one level deeper.
    Struct,
    /// So many elements follow, one level deeper.
    Array(u32),
    Null,
    Bool(bool),
    Int(i64),
    Float64(f64),
    Uuid(Uuid),
    Text(String),
    /// The last `length` bytes of the node.
    Bytes {
        length: u32,
    },
    /// The last `length` bytes of the node are record batches.
    Records {
        length: u32,
    },
}

/// A tree as far as it could be read, and why no further.
pub type Reading = (Tree, Option<WireError>);

/// The fields of a request: header, then body.
pub fn request(frame: &Bytes) -> Reading {
    let mut walk = Walk::new(frame);
    let error = walk.request().err();
    (walk.tree, error)
}

/// The fields of a response, whose key and version only the requester knows.
pub fn response(frame: &Bytes, key: ApiKey, version: i16) -> Reading {
    let mut walk = Walk::new(frame);
    let error = walk.response(key, version).err();
    (walk.tree, error)
}

/// The fields of a metadata record's value, as [`super::record_type`] found its type.
pub fn record(value: &Bytes, at: usize, record_type: i16, version: i16) -> Reading {
    let mut walk = Walk::new(value);
    walk.reader.position = at.min(value.len());
    let error = walk.message(Label::Body, Kind::Record(record_type), version).err();
    (walk.tree, error)
}

struct Walk<'a> {
    tree: Tree,
    depth: u8,
    reader: Reader<'a>,
}

impl<'a> Walk<'a> {
    fn new(frame: &'a Bytes) -> Walk<'a> {
        Walk { tree: Tree::default(), depth: 0, reader: Reader::new(frame, 0, 0, false) }
    }

    fn request(&mut self) -> Result<(), WireError> {
        let (key, version) = key_and_version(self.reader.frame())?;
        let api = ApiKey(key).api().ok_or(WireError::new(0, WireErrorKind::UnknownMessage { key }))?;
        let header_version = request_header_version(api.is_flexible(version));
        self.schema(Label::Header, RequestHeader::SCHEMA, header_version)?;
        self.message(Label::Body, Kind::Request(key), version)
    }

    fn response(&mut self, key: ApiKey, version: i16) -> Result<(), WireError> {
        let api = key.api().ok_or(WireError::new(0, WireErrorKind::UnknownMessage { key: key.0 }))?;
        let header_version = response_header_version(key.0, api.is_flexible(version));
        self.schema(Label::Header, ResponseHeader::SCHEMA, header_version)?;
        self.message(Label::Body, Kind::Response(key.0), version)
    }

    fn message(&mut self, label: Label, kind: Kind, version: i16) -> Result<(), WireError> {
        let unknown = WireErrorKind::UnknownMessage { key: kind.key() };
        let schema = messages::schema(kind).ok_or(WireError::new(0, unknown))?;
        self.schema(label, schema, version)
    }

    fn schema(&mut self, label: Label, schema: &Schema, version: i16) -> Result<(), WireError> {
        check_version(schema, version)?;
        self.reader.version = version;
        self.reader.flexible = schema.is_flexible(version);
        self.node(label, Leaf::Struct, |walk| walk.fields(schema.root))
    }

    /// Adds a node around what `read` consumes. It stays, as far as it was read, if that fails.
    fn node(
        &mut self,
        label: Label,
        value: Leaf,
        read: impl FnOnce(&mut Self) -> Result<(), WireError>,
    ) -> Result<(), WireError> {
        let index = self.tree.nodes.len();
        let start = self.reader.position as u32;
        self.tree.nodes.push(Node { label, depth: self.depth, start, end: start, value });
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        self.set(index, None);
        result
    }

    /// Ends node `index` here, with its value if that was not known at its start.
    fn set(&mut self, index: usize, value: Option<Leaf>) {
        let end = self.reader.position as u32;
        if let Some(node) = self.tree.nodes.get_mut(index) {
            node.end = end;
            if let Some(value) = value {
                node.value = value;
            }
        }
    }

    fn fields(&mut self, table: &'static Table) -> Result<(), WireError> {
        for field in table.fields {
            if field.tag.is_none() && field.is_in(self.reader.version) {
                self.field(field)?;
            }
        }
        if self.reader.flexible {
            self.node(Label::TaggedFields, Leaf::Struct, |walk| walk.tags(table))
        } else {
            Ok(())
        }
    }

    fn field(&mut self, field: &'static Field) -> Result<(), WireError> {
        let label = Label::Field(field.name);
        self.value(label, field, &field.ty).map_err(|error| error.in_field(field.name))
    }

    fn value(&mut self, label: Label, field: &'static Field, ty: &'static Type) -> Result<(), WireError> {
        let index = self.tree.nodes.len();
        self.node(label, Leaf::Null, |walk| {
            let value = walk.leaf(index, field, ty)?;
            walk.set(index, value);
            Ok(())
        })
    }

    /// Reads one value; `None` if its node has its value already.
    fn leaf(&mut self, index: usize, field: &'static Field, ty: &'static Type) -> Result<Option<Leaf>, WireError> {
        let reader = &mut self.reader;
        Ok(Some(match ty {
            Type::Bool => Leaf::Bool(reader.array::<1>()? != [0]),
            Type::Int8 => Leaf::Int(i8::from_be_bytes(reader.array()?).into()),
            Type::Int16 => Leaf::Int(i16::from_be_bytes(reader.array()?).into()),
            Type::Uint16 => Leaf::Int(u16::from_be_bytes(reader.array()?).into()),
            Type::Int32 => Leaf::Int(i32::from_be_bytes(reader.array()?).into()),
            Type::Uint32 => Leaf::Int(u32::from_be_bytes(reader.array()?).into()),
            Type::Int64 => Leaf::Int(i64::from_be_bytes(reader.array()?)),
            Type::Float64 => Leaf::Float64(f64::from_be_bytes(reader.array()?)),
            Type::Uuid => Leaf::Uuid(Uuid(reader.array()?)),
            Type::Struct(table) => {
                if !reader.presence(field)? {
                    return Ok(Some(Leaf::Null));
                }
                self.set(index, Some(Leaf::Struct));
                self.fields(table)?;
                return Ok(None);
            }
            Type::String | Type::Bytes | Type::Records | Type::Array(_) => match reader.length_or_count(field, ty)? {
                Some(length) => return self.sized(index, ty, length),
                None => Leaf::Null,
            },
        }))
    }

    fn sized(&mut self, index: usize, ty: &'static Type, length: usize) -> Result<Option<Leaf>, WireError> {
        Ok(Some(match ty {
            Type::String => Leaf::Text(self.reader.text(length)?),
            Type::Records => Leaf::Records { length: self.reader.take(length)?.len() as u32 },
            Type::Array(item) => {
                self.set(index, Some(Leaf::Array(length as u32)));
                for number in 0..length {
                    self.value(Label::Item(number as u32), &ITEM, item)?;
                }
                return Ok(None);
            }
            _ => Leaf::Bytes { length: self.reader.take(length)?.len() as u32 },
        }))
    }

    fn tags(&mut self, table: &'static Table) -> Result<(), WireError> {
        let mut seen = Vec::new();
        let count = self.reader.unsigned_varint()? as i32;
        for _ in 0..count {
            let at = self.reader.position;
            let (tag, size) = self.reader.tag()?;
            let known = table.fields.iter().find(|field| field.tag == Some(tag) && field.is_in(self.reader.version));
            let Some(field) = known else {
                let value = Leaf::Bytes { length: size as u32 };
                self.node(Label::UnknownTag(tag), value, |walk| walk.reader.take(size).map(|_| ()))?;
                continue;
            };
            if seen.contains(&tag) {
                return self.reader.fail(at, WireErrorKind::TagRepeated { tag });
            }
            seen.push(tag);
            let end = self.reader.enter_tag(size)?;
            self.field(field)?;
            self.reader.leave_tag(tag, end)?;
        }
        Ok(())
    }
}
