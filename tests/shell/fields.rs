//! The fields of any answer as JSON, under Kafka's names, from the tree that readers see.

use bytes::Bytes;
use serde_json::{Value, json};
use steplog::wire::json::frame_to_json;
use steplog::wire::schema::Kind;
use steplog::wire::{ApiKey, tree};

/// The body of a response with its correlation id; `None` if it cannot be read to its end.
pub fn response(frame: &Bytes, key: ApiKey, version: i16) -> Option<Value> {
    let (tree, error) = tree::response(frame, key, version);
    if error.is_some() {
        return None;
    }
    let text = frame_to_json(frame, &tree, Kind::Response(key.0));
    let mut read: Value = serde_json::from_str(&text).ok()?;
    let mut body = read["body"].take();
    body["correlationId"] = json!(i32::from_be_bytes(frame.get(..4)?.try_into().ok()?));
    Some(body)
}
