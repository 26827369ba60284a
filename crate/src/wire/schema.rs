//! The schema notation. `message!` turns one declaration into a plain struct and a const table; one interpreter
//! ([`super::decode`], [`super::encode`], [`super::tree`]) walks the table for every message.
//!
//! ```text
//! message! {
//!     /// What it is for.
//!     pub struct ProduceRequest: request 0, versions 3..=13, flexible 9.. {
//!         transactional_id: Option<String>,
//!         topic_data: Vec<TopicProduceData>,
//!     }
//!     pub struct TopicProduceData {
//!         name: String [..=12, ignorable],     // only up to version 12; a value is dropped in others
//!         topic_id: Uuid [13.., ignorable],
//!         records: Option<Records>,            // a slice of the frame, never copied
//!     }
//! }
//! ```
//!
//! The kind of a message is `request KEY`, `response KEY`, `record TYPE` (a metadata record), `header` or `data` (a
//! control record). In brackets: the versions that have the field (`5..`, `..=12`, `7..=12`), `null 5..` (versions
//! in which an `Option` may be null, if not all), `tag 0` (a tagged field), `ignorable` (a value that the version
//! cannot carry is dropped silently), `old_encoding` (never compact: the client id). After `=` the default: a number
//! or `true`, or `[]` for an `Option` that is present and empty rather than null.

use bytes::Bytes;

use super::Uuid;
use crate::disk;

/// Record batches: a slice of the frame they came in, or a range of a file they go out from.
pub type Records = disk::Slice;

/// What a field holds on the wire.
#[derive(Debug, Clone, Copy)]
pub enum Type {
    Bool,
    Int8,
    Int16,
    Uint16,
    Int32,
    Uint32,
    Int64,
    Float64,
    Uuid,
    String,
    Bytes,
    Records,
    Array(&'static Type),
    Struct(&'static Table),
}

/// The value of a field that nobody set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Preset {
    /// Zero, false or empty; all fields preset for a struct.
    Zero,
    /// Null: an `Option` without a default. An empty list is something else.
    Null,
    /// Present and empty, for an `Option`.
    Empty,
    Int(i64),
}

/// One row of a table.
#[derive(Debug)]
pub struct Field {
    /// Kafka's name in snake case.
    pub name: &'static str,
    pub ty: Type,
    pub(super) is_option: bool,
    first: i16,
    last: i16,
    null_from: i16,
    /// The tag of a tagged field.
    pub(super) tag: Option<u32>,
    pub(super) ignorable: bool,
    pub(super) old_encoding: bool,
    pub(super) preset: Preset,
}

impl Field {
    pub const fn new(name: &'static str, ty: Type, is_option: bool, preset: Preset) -> Field {
        let preset = if is_option && matches!(preset, Preset::Zero) { Preset::Null } else { preset };
        Field {
            name,
            ty,
            is_option,
            first: 0,
            last: i16::MAX,
            null_from: 0,
            tag: None,
            ignorable: false,
            old_encoding: false,
            preset,
        }
    }
    pub const fn versions(self, first: i16, last: i16) -> Field {
        Field { first, last, ..self }
    }
    pub const fn null_from(self, version: i16) -> Field {
        Field { null_from: version, ..self }
    }
    pub const fn tag(self, tag: u32) -> Field {
        Field { tag: Some(tag), ..self }
    }
    pub const fn ignorable(self) -> Field {
        Field { ignorable: true, ..self }
    }
    pub const fn old_encoding(self) -> Field {
        Field { old_encoding: true, ..self }
    }

    /// Whether this version has the field.
    pub const fn is_in(&self, version: i16) -> bool {
        self.first <= version && version <= self.last
    }
    /// Whether the field goes into the tagged section, and only if it differs from its default.
    pub const fn is_tagged(&self) -> bool {
        self.tag.is_some()
    }
    /// Whether the field may be null in this version. A missing `null` attribute means all versions of an `Option`.
    pub const fn may_be_null(&self, version: i16) -> bool {
        self.is_option && version >= self.null_from
    }
}

/// One struct of a message.
#[derive(Debug)]
pub struct Table {
    pub name: &'static str,
    pub fields: &'static [Field],
}

/// What a message is, and the key that names it among its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Request(i16),
    Response(i16),
    Record(i16),
    Header,
    Data,
}

impl Kind {
    /// The API key or record type; −1 for kinds that have none.
    pub const fn key(self) -> i16 {
        match self {
            Kind::Request(key) | Kind::Response(key) | Kind::Record(key) => key,
            Kind::Header | Kind::Data => -1,
        }
    }
}

/// A whole message: its outermost struct and what holds for all of it.
#[derive(Debug)]
pub struct Schema {
    pub kind: Kind,
    pub first_version: i16,
    pub last_version: i16,
    /// The first version with compact lengths and tagged fields (KIP-482); `i16::MAX` if there is none.
    pub flexible_from: i16,
    pub root: &'static Table,
}

impl Schema {
    pub const fn is_flexible(&self, version: i16) -> bool {
        version >= self.flexible_from
    }
}

/// A message declared by `message!`.
pub trait Message: Struct + Default {
    const SCHEMA: &'static Schema;
}

/// A struct declared by `message!`, as the interpreter sees it. Indices are those of [`Table::fields`].
pub trait Struct {
    fn table(&self) -> &'static Table;
    fn value(&self, index: usize) -> Option<Value<'_>>;
    fn slot(&mut self, index: usize) -> Option<Slot<'_>>;
    fn unknown_tags(&self) -> &UnknownTags;
    fn unknown_tags_mut(&mut self) -> &mut UnknownTags;
}

/// A field's value, borrowed for writing it out. Integers are widened; the table knows their width.
pub enum Value<'a> {
    Null,
    Int(i64),
    Float64(f64),
    Uuid(&'a Uuid),
    String(&'a str),
    Bytes(&'a Bytes),
    Records(&'a Records),
    Array(&'a dyn Items),
    Struct(&'a dyn Struct),
}

/// The place a field is read into.
pub enum Slot<'a> {
    Bool(&'a mut bool),
    Int8(&'a mut i8),
    Int16(&'a mut i16),
    Uint16(&'a mut u16),
    Int32(&'a mut i32),
    Uint32(&'a mut u32),
    Int64(&'a mut i64),
    Float64(&'a mut f64),
    Uuid(&'a mut Uuid),
    String(&'a mut String),
    Bytes(&'a mut Bytes),
    Records(&'a mut Records),
    Array(&'a mut dyn ItemsMut),
    Struct(&'a mut dyn Struct),
    /// An `Option`, to be made present or null first.
    Option(&'a mut dyn OptionMut),
}

/// A `Vec` for reading from it.
pub trait Items {
    fn count(&self) -> usize;
    fn item(&self, index: usize) -> Option<Value<'_>>;
}

/// A `Vec` for filling it.
pub trait ItemsMut {
    /// Empties it and makes room for `count` elements, yet never for more than `bytes_left` could hold in memory.
    fn clear_for(&mut self, count: usize, bytes_left: usize);
    fn push(&mut self) -> Option<Slot<'_>>;
}

/// An `Option` for filling it.
pub trait OptionMut {
    fn set_null(&mut self);
    fn set_present(&mut self) -> Slot<'_>;
}

/// A Rust type that a field may have.
pub trait FieldType {
    const TYPE: Type;
    const IS_OPTION: bool = false;
    fn value(&self) -> Value<'_>;
    fn slot(&mut self) -> Slot<'_>;
    /// What an element or a present `Option` starts from.
    fn empty() -> Self;
}

macro_rules! field_types {
    ($($ty:ty => $variant:ident, $empty:expr, |$v:ident| $value:expr;)*) => {$(
        impl FieldType for $ty {
            const TYPE: Type = Type::$variant;
            fn value(&self) -> Value<'_> { let $v = self; $value }
            fn slot(&mut self) -> Slot<'_> { Slot::$variant(self) }
            fn empty() -> Self { $empty }
        }
    )*};
}

field_types! {
    bool => Bool, false, |v| Value::Int(i64::from(*v));
    i8 => Int8, 0, |v| Value::Int(i64::from(*v));
    i16 => Int16, 0, |v| Value::Int(i64::from(*v));
    u16 => Uint16, 0, |v| Value::Int(i64::from(*v));
    i32 => Int32, 0, |v| Value::Int(i64::from(*v));
    u32 => Uint32, 0, |v| Value::Int(i64::from(*v));
    i64 => Int64, 0, |v| Value::Int(*v);
    f64 => Float64, 0.0, |v| Value::Float64(*v);
    Uuid => Uuid, Uuid::ZERO, |v| Value::Uuid(v);
    String => String, String::new(), |v| Value::String(v);
    Bytes => Bytes, Bytes::new(), |v| Value::Bytes(v);
    Records => Records, disk::Slice::Bytes(Bytes::new()), |v| Value::Records(v);
}

impl<T: FieldType> FieldType for Vec<T> {
    const TYPE: Type = Type::Array(&T::TYPE);
    fn value(&self) -> Value<'_> {
        Value::Array(self)
    }
    fn slot(&mut self) -> Slot<'_> {
        Slot::Array(self)
    }
    fn empty() -> Self {
        Vec::new()
    }
}

impl<T: FieldType> FieldType for Option<T> {
    const TYPE: Type = T::TYPE;
    const IS_OPTION: bool = true;
    fn value(&self) -> Value<'_> {
        self.as_ref().map_or(Value::Null, T::value)
    }
    fn slot(&mut self) -> Slot<'_> {
        Slot::Option(self)
    }
    fn empty() -> Self {
        Some(T::empty())
    }
}

impl<T: FieldType> Items for Vec<T> {
    fn count(&self) -> usize {
        self.len()
    }
    fn item(&self, index: usize) -> Option<Value<'_>> {
        self.get(index).map(T::value)
    }
}

impl<T: FieldType> ItemsMut for Vec<T> {
    fn clear_for(&mut self, count: usize, bytes_left: usize) {
        *self = Vec::with_capacity(count.min((bytes_left / size_of::<T>().max(1)).saturating_add(1)));
    }
    fn push(&mut self) -> Option<Slot<'_>> {
        self.push(T::empty());
        self.last_mut().map(T::slot)
    }
}

impl<T: FieldType> OptionMut for Option<T> {
    fn set_null(&mut self) {
        *self = None;
    }
    fn set_present(&mut self) -> Slot<'_> {
        self.insert(T::empty()).slot()
    }
}

/// Tagged fields that the schema does not know: kept, in their order, so that re-encoding gives the same bytes.
/// One word large while there are none, which is nearly always.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(clippy::box_collection, reason = "a Vec is three words, and every struct of every message has this")]
pub struct UnknownTags(Option<Box<Vec<UnknownTag>>>);

/// One tagged field that the schema does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownTag {
    pub tag: u32,
    pub bytes: Bytes,
}

impl UnknownTags {
    pub fn as_slice(&self) -> &[UnknownTag] {
        self.0.as_ref().map_or(&[], |tags| tags.as_slice())
    }
    pub fn push(&mut self, tag: UnknownTag) {
        self.0.get_or_insert_default().push(tag);
    }
}

macro_rules! message {
    ($(
        $(#[$struct_attribute:meta])*
        pub struct $name:ident $(: $kind:ident $($key:literal)?, versions $first:literal ..= $last:literal,
            flexible $($flexible:literal ..)? $($never:ident)?)? {
            $( $(#[$field_attribute:meta])* $field:ident : $ty:ty $([$($attribute:tt)*])? $(= $default:literal)? $(= [$($empty:tt)?])? ),* $(,)?
        }
    )*) => { $(
        $(#[$struct_attribute])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name {
            $( $(#[$field_attribute])* pub $field: $ty, )*
            /// Tagged fields of later versions, kept as they came.
            pub unknown_tags: $crate::wire::schema::UnknownTags,
        }

        impl Default for $name {
            fn default() -> Self {
                $name {
                    $( $field: $crate::wire::schema::default_value!($($default)? $([$($empty)?])?), )*
                    unknown_tags: Default::default(),
                }
            }
        }

        const _: () = {
            use $crate::wire::schema::{FieldType, Slot, Struct, Table, Type, UnknownTags, Value};

            #[allow(non_camel_case_types, dead_code)]
            enum At { $($field),* }

            static TABLE: Table = Table {
                name: stringify!($name),
                fields: &[$(
                    $crate::wire::schema::attributes!(
                        $crate::wire::schema::Field::new(
                            stringify!($field),
                            <$ty as FieldType>::TYPE,
                            <$ty as FieldType>::IS_OPTION,
                            $crate::wire::schema::preset!($($default)? $([$($empty)?])?),
                        );
                        $($($attribute)*)?
                    ),
                )*],
            };

            impl Struct for $name {
                fn table(&self) -> &'static Table {
                    &TABLE
                }
                #[allow(unused_variables)]
                fn value(&self, index: usize) -> Option<Value<'_>> {
                    $( if index == At::$field as usize { return Some(FieldType::value(&self.$field)); } )*
                    None
                }
                #[allow(unused_variables)]
                fn slot(&mut self, index: usize) -> Option<Slot<'_>> {
                    $( if index == At::$field as usize { return Some(FieldType::slot(&mut self.$field)); } )*
                    None
                }
                fn unknown_tags(&self) -> &UnknownTags {
                    &self.unknown_tags
                }
                fn unknown_tags_mut(&mut self) -> &mut UnknownTags {
                    &mut self.unknown_tags
                }
            }

            impl FieldType for $name {
                const TYPE: Type = Type::Struct(&TABLE);
                fn value(&self) -> Value<'_> {
                    Value::Struct(self)
                }
                fn slot(&mut self) -> Slot<'_> {
                    Slot::Struct(self)
                }
                fn empty() -> Self {
                    Self::default()
                }
            }

            $( impl $crate::wire::schema::Message for $name {
                const SCHEMA: &'static $crate::wire::schema::Schema = &$crate::wire::schema::Schema {
                    kind: $crate::wire::schema::kind!($kind $($key)?),
                    first_version: $first,
                    last_version: $last,
                    flexible_from: $crate::wire::schema::flexible!($($flexible)? $($never)?),
                    root: &TABLE,
                };
            } )?
        };
    )* };
}

macro_rules! default_value {
    () => {
        Default::default()
    };
    ([]) => {
        Some(Default::default())
    };
    ($value:literal) => {
        $value
    };
}

macro_rules! preset {
    () => {
        $crate::wire::schema::Preset::Zero
    };
    ([]) => {
        $crate::wire::schema::Preset::Empty
    };
    ($value:literal) => {
        $crate::wire::schema::Preset::Int($value as i64)
    };
}

macro_rules! kind {
    (request $key:literal) => {
        $crate::wire::schema::Kind::Request($key)
    };
    (response $key:literal) => {
        $crate::wire::schema::Kind::Response($key)
    };
    (record $key:literal) => {
        $crate::wire::schema::Kind::Record($key)
    };
    (header) => {
        $crate::wire::schema::Kind::Header
    };
    (data) => {
        $crate::wire::schema::Kind::Data
    };
}

macro_rules! flexible {
    (none) => {
        i16::MAX
    };
    ($from:literal) => {
        $from
    };
}

/// Turns the list in brackets into calls on the row, one attribute a step.
macro_rules! attributes {
    ($row:expr; ) => { $row };
    ($row:expr; ignorable $(, $($rest:tt)*)?) => {
        $crate::wire::schema::attributes!($row.ignorable(); $($($rest)*)?)
    };
    ($row:expr; old_encoding $(, $($rest:tt)*)?) => {
        $crate::wire::schema::attributes!($row.old_encoding(); $($($rest)*)?)
    };
    ($row:expr; tag $tag:literal $(, $($rest:tt)*)?) => {
        $crate::wire::schema::attributes!($row.tag($tag); $($($rest)*)?)
    };
    ($row:expr; null $from:literal .. $(, $($rest:tt)*)?) => {
        $crate::wire::schema::attributes!($row.null_from($from); $($($rest)*)?)
    };
    ($row:expr; $first:literal ..= $last:literal $(, $($rest:tt)*)?) => {
        $crate::wire::schema::attributes!($row.versions($first, $last); $($($rest)*)?)
    };
    ($row:expr; $first:literal .. $(, $($rest:tt)*)?) => {
        $crate::wire::schema::attributes!($row.versions($first, i16::MAX); $($($rest)*)?)
    };
    ($row:expr; ..= $last:literal $(, $($rest:tt)*)?) => {
        $crate::wire::schema::attributes!($row.versions(0, $last); $($($rest)*)?)
    };
}

pub(super) use {attributes, default_value, flexible, kind, message, preset};
