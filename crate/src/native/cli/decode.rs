//! `steplog decode`: one frame's bytes as header and body.

use std::fmt::Write;

use bytes::Bytes;
use serde_json::{Value as Json, json};

use super::{Outcome, print};
use crate::experiment::syntax::did_you_mean;
use crate::view::{Field, frame_fields};
use crate::wire::schema::Kind;
use crate::wire::{ApiKey, ErrorCode, WireError, WireErrorKind, json, messages, tree};

/// Show a frame's header and body.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The frame in hexadecimal, without the 4-byte size in front; spaces are skipped, `-` reads standard input.
    hex: String,
    /// A request, which says itself what it is. This is the default.
    #[arg(long, conflicts_with = "response")]
    request: bool,
    /// A response: to which API (name or key), in which version.
    #[arg(long, num_args = 2, value_names = ["KEY", "VERSION"])]
    response: Option<Vec<String>>,
    /// Every field with the bytes that it was read from, record batches included.
    #[arg(long)]
    tree: bool,
    /// With --tree: one JSON array instead of lines.
    #[arg(long, requires = "tree")]
    json: bool,
}

pub fn execute(arguments: Arguments) -> Outcome {
    match decode(&arguments) {
        Ok(outcome) => outcome,
        Err(text) => Outcome::Wrong(text),
    }
}

fn decode(arguments: &Arguments) -> Result<Outcome, String> {
    let answered = arguments.response.as_deref().map(parse_response).transpose()?;
    let frame = match arguments.hex.as_str() {
        "-" => parse_hex(&std::io::read_to_string(std::io::stdin()).map_err(|e| format!("standard input: {e}"))?)?,
        hex => parse_hex(hex)?,
    };
    let (kind, (tree, error)) = match answered {
        Some((key, version)) => (Kind::Response(key.0), tree::response(&frame, key, version)),
        None => (Kind::Request(request_key(&frame)), tree::request(&frame)),
    };
    if arguments.tree {
        let fields = frame_fields(&frame, &tree);
        print(&if arguments.json { tree_json(&fields) } else { tree_text(&frame, &fields) });
    } else if error.is_none() {
        print(&format!("{}\n", json::frame_to_json(&frame, &tree, kind)));
    }
    if let Some(error) = error {
        return Err(explain(&frame, kind, &error));
    }
    let end = tree.nodes.iter().map(|node| node.end as usize).max().unwrap_or_default();
    if end < frame.len() {
        let left = frame.len() - end;
        eprintln!("steplog: the body ends at byte {end}; {left} bytes after it are ignored, as Kafka ignores them");
    }
    Ok(Outcome::Success)
}

/// Bytes of pairs of digits. Positions in errors count bytes from 0, as everywhere.
fn parse_hex(text: &str) -> Result<Bytes, String> {
    let mut bytes = Vec::new();
    let mut high = None;
    for digit in text.chars().filter(|digit| !digit.is_whitespace()) {
        let Some(value) = digit.to_digit(16) else {
            let at = bytes.len();
            return Err(format!("byte {at}: `{digit}` is no hexadecimal digit; a byte is two of 0-9 and a-f"));
        };
        high = match high {
            None => Some(value),
            Some(high) => {
                bytes.push((high << 4 | value) as u8);
                None
            }
        };
    }
    match high {
        Some(_) => Err(format!("byte {} has one digit; a byte is two of 0-9 and a-f", bytes.len())),
        None => Ok(bytes.into()),
    }
}

/// Key and version of the request that a response answers.
fn parse_response(values: &[String]) -> Result<(ApiKey, i16), String> {
    let [key, version] = values else { return Err("--response takes an API and a version".to_string()) };
    let api = match key.parse() {
        Ok(number) => ApiKey(number).api(),
        Err(_) => crate::wire::api::all().iter().find(|api| api.name.eq_ignore_ascii_case(key)),
    };
    let Some(api) = api else {
        let near = did_you_mean(key, crate::wire::api::all().iter().map(|api| api.name));
        return Err(format!("--response: `{key}` is no API of Kafka 4.3.0, neither name nor key{near}"));
    };
    let range = format!("{} has versions {} to {}", api.name, api.first_version, api.last_version);
    match version.parse() {
        Ok(version) if (api.first_version..=api.last_version).contains(&version) => Ok((api.key, version)),
        _ => Err(format!("--response: {range}, not `{version}`")),
    }
}

/// The first field of a request's header; −1 if the frame is too short to have one.
fn request_key(frame: &Bytes) -> i16 {
    frame.first_chunk().map_or(-1, |key| i16::from_be_bytes(*key))
}

/// What is wrong with a frame, at which byte, and what would be right.
fn explain(frame: &Bytes, kind: Kind, error: &WireError) -> String {
    let has_size = frame.first_chunk().is_some_and(|size| u32::from_be_bytes(*size) as usize == frame.len() - 4);
    if has_size {
        return "bytes 0 to 3 are the frame's size; leave them out".to_string();
    }
    let key = ApiKey(kind.key());
    let name = match (kind, key.api()) {
        (_, None) => "frame".to_string(),
        (Kind::Response(_), Some(api)) => format!("{} response", api.name),
        (_, Some(api)) => format!("{} request", api.name),
    };
    let what = match error.kind {
        WireErrorKind::UnknownMessage { .. } if key.api().is_some() && messages::schema(kind).is_none() => {
            return format!("byte 0: {} (key {}) cannot be read yet", key.name(), key.0);
        }
        WireErrorKind::UnknownMessage { key } => {
            return format!(
                "byte 0: {key} is the key of no API; a request begins with key and version, 2 bytes each. A response \
                 is read with --response KEY VERSION"
            );
        }
        WireErrorKind::UnsupportedVersion { version, min, max, .. } => {
            return format!("byte 2: {} has versions {min} to {max}, not {version}", key.name());
        }
        WireErrorKind::TooShort { needed, left } => format!("{needed} bytes are needed and {left} are left"),
        // The error's own text without its place, which stands in front here.
        _ => WireError { at: 0, field: "", ..error.clone() }.to_string(),
    };
    let field = if error.field.is_empty() { String::new() } else { format!(", {}", error.field) };
    let hint = match kind {
        Kind::Request(_) => "a response is read with --response KEY VERSION",
        _ => "is it an answer to this API, in this version?",
    };
    format!("byte {} of {} ({name}{field}): {what}; {hint}", error.at, frame.len())
}

fn tree_json(fields: &[Field]) -> String {
    let all = fields.iter().map(|field| {
        json!({
            "name": field.name,
            "value": field.value,
            "start": field.start,
            "end": field.end,
            "depth": field.depth,
        })
    });
    format!("{}\n", Json::from(all.collect::<Vec<Json>>()))
}

/// Bytes of a field that a line shows; of longer ones the first, and that there are more.
const BYTES_SHOWN: usize = 8;

/// One line a field: first and last byte, the bytes, the name below that of its parent, the value.
fn tree_text(frame: &Bytes, fields: &[Field]) -> String {
    let name_width = fields.iter().map(|field| 2 * usize::from(field.depth) + field.name.len()).max().unwrap_or(0);
    let place = frame.len().saturating_sub(1).to_string().len();
    let mut text = String::new();
    for (index, field) in fields.iter().enumerate() {
        let is_parent = fields.get(index + 1).is_some_and(|next| next.depth > field.depth);
        let bytes = frame.get(field.start..field.end).unwrap_or_default();
        let mut hex: String = bytes.iter().take(BYTES_SHOWN).map(|byte| format!("{byte:02x} ")).collect();
        if bytes.len() > BYTES_SHOWN {
            hex.push('…');
        }
        let range = match bytes.len() {
            0 => String::new(),
            1 => format!("{:>place$}", field.start),
            _ => format!("{:>place$}–{}", field.start, field.end - 1),
        };
        let hex = if is_parent { "" } else { hex.as_str() };
        let name = format!("{:indent$}{}", "", field.name, indent = 2 * usize::from(field.depth));
        let line = format!(
            "{range:range_width$}  {hex:hex_width$}  {name:name_width$}  {}{}",
            field.value,
            meaning(field),
            range_width = 2 * place + 1,
            hex_width = 3 * BYTES_SHOWN + 1,
        );
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// What a number stands for, where Kafka has a name for it.
fn meaning(field: &Field) -> String {
    let Ok(number) = field.value.parse::<i16>() else { return String::new() };
    match field.name.as_str() {
        "request_api_key" | "api_key" => format!(" {}", ApiKey(number).name()),
        "error_code" => format!(" {}", ErrorCode(number).name()),
        _ => String::new(),
    }
}
