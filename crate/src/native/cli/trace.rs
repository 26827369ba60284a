//! `steplog trace`: every event of a run on the virtual clock, as lines of JSON or as a table.
//!
//! Both forms come from one description of an event, so they cannot tell two stories.

use std::fmt::Write;
use std::sync::Arc;

use serde_json::{Map, Value as Json, json};

use super::run::parse_instant;
use super::{Outcome, print};
use crate::experiment::Lab;
use crate::native::experiment;
use crate::node::{ConnId, Duration, EffectKind, Input, Instant, Note, Reply};
use crate::sim::{self, Cause, Event, Fault, Frame, Frames, ProcessId, Store, What, WriteId};
use crate::wire::ApiKey;

/// Print every event of a run in virtual time: the trace that the page shows.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// An experiment's name (see `steplog list`), or a path to an experiment.toml.
    name: String,
    /// Replaces the experiment's seed.
    #[arg(long)]
    seed: Option<u64>,
    /// Stop at this instant of cluster time, e.g. `3.2s` or `900ms`.
    #[arg(long, value_name = "T", value_parser = parse_instant)]
    until: Option<Duration>,
    /// One JSON object a line instead of a table.
    #[arg(long)]
    json: bool,
}

pub fn execute(arguments: Arguments) -> Outcome {
    let experiment = match experiment::find(&arguments.name) {
        Ok(experiment) => Arc::new(experiment),
        Err(error) => return Outcome::Wrong(error.to_string()),
    };
    let mut lab = match Lab::new(experiment, arguments.seed) {
        Ok(lab) => lab,
        Err(error) => return Outcome::Wrong(error.to_string()),
    };
    let mut store = Store::default();
    let warm = lab.warm_up(&mut store);
    if warm.is_ok() {
        lab.run(arguments.until, &mut store);
    }
    let teller = Teller { frames: Frames::of(store.events()), store: &store, lab: &lab };
    let mut text = String::new();
    if !arguments.json {
        text.push_str("  event            ms  node          what\n");
    }
    for event in store.events() {
        let described = teller.describe(event);
        match arguments.json {
            true => _ = writeln!(text, "{}", Json::from(described)),
            false => line(&mut text, &described),
        }
    }
    print(&text);
    match warm {
        Ok(()) => Outcome::Success,
        Err(cold) => Outcome::Failed(cold.to_string()),
    }
}

struct Teller<'a> {
    lab: &'a Lab,
    store: &'a Store,
    frames: Frames,
}

impl Teller<'_> {
    fn describe(&self, event: &Event) -> Map<String, Json> {
        let mut of = Map::new();
        of.insert("event".into(), event.id.ordinal.into());
        let begun = self.lab.begun().unwrap_or(Instant::ZERO);
        of.insert("us".into(), (event.at.0.cast_signed() - begun.0.cast_signed()).into());
        of.insert("node".into(), event.process().map_or(Json::Null, |process| self.name(process)));
        self.what(event, &mut of);
        if let Some(frame) = self.frames.of_event(event) {
            of.insert("frame".into(), self.frame(frame));
        }
        let causes = sim::causes(self.store, event, |_| true);
        of.insert("because".into(), causes.iter().map(|cause| cause.ordinal).collect());
        self.effects(event, &mut of);
        of
    }

    fn name(&self, process: ProcessId) -> Json {
        self.lab.world().spec(process).map_or(Json::Null, |spec| spec.name.as_str().into())
    }

    /// What happened, and what belongs to that kind of event alone.
    fn what(&self, event: &Event, of: &mut Map<String, Json>) {
        let mut tell = |kind: &str, details: Json| {
            of.insert("kind".into(), kind.into());
            if let Json::Object(details) = details {
                of.extend(details);
            }
        };
        match &event.what {
            What::Handled { input, .. } => match input {
                Input::Started => tell("started", Json::Null),
                Input::Listening { address, .. } => {
                    tell("listening", json!({"address": format!("{}:{}", address.host, address.port)}));
                }
                Input::Opened { conn, peer, .. } => {
                    tell("opened", json!({"connection": number_of(*conn), "peer": peer.host}));
                }
                Input::ConnectFailed { why, .. } => tell("connect-failed", json!({"why": why})),
                Input::Bytes { conn, bytes } => {
                    tell("bytes", json!({"connection": number_of(*conn), "bytes": bytes.len()}));
                }
                Input::Written { conn, up_to } => {
                    tell("written", json!({"connection": number_of(*conn), "up_to": up_to}));
                }
                Input::Closed { conn, why } => tell("closed", json!({"connection": number_of(*conn), "why": why})),
                Input::Flushed { result, .. } => tell("flushed", json!({"ok": result.is_ok()})),
                Input::Slice(_) => tell("slice", Json::Null),
                Input::Tick => tell("tick", Json::Null),
                Input::Command(call, command) => {
                    tell("command", json!({"call": call.0, "command": variant(json!(command))}));
                }
            },
            What::Fault(Fault::Frame { write, action }) => {
                let details = json!({"fault": action.name(), "for_us": action.span().0, "frame": self.written(*write)});
                tell("fault", details);
            }
            What::Fault(fault) => tell("fault", json!({"fault": variant(json!(fault))})),
            What::Booted { .. } => tell("booted", Json::Null),
            What::Buffered { conn, len, .. } => {
                tell("buffered", json!({"connection": number_of(*conn), "bytes": len}));
            }
            What::ConnectRefused { by, .. } => tell("connect-refused", json!({"peer": self.name(*by)})),
            What::Lost { conn, len, place, why, .. } => {
                tell("lost", json!({"connection": number_of(*conn), "bytes": len, "place": place, "why": why}));
            }
            What::Woke { .. } => tell("woke", Json::Null),
            What::Line { program, line } => {
                let client = self.lab.experiment().clients.get(*program as usize);
                let name = client.map_or("", |client| client.name.as_str());
                let lines = self.lab.experiment().program_of(name).map(|program| &program.lines);
                let text = lines.and_then(|lines| lines.get(*line as usize)).map(|text| text.trim());
                tell("line", json!({"program": name, "line": line + 1, "text": text}));
            }
            What::CommandLost { call, .. } => tell("command-lost", json!({"call": call.0})),
        }
    }

    /// What a node did about it: frames that it sent, answers to its program, notes.
    fn effects(&self, event: &Event, of: &mut Map<String, Json>) {
        let (mut sends, mut replies, mut notes) = (Vec::new(), Vec::new(), Vec::new());
        for (index, effect) in event.effects().iter().enumerate() {
            match &effect.kind {
                EffectKind::Send { .. } => {
                    let write = Cause { event: event.id, effect: Some(index as u32) };
                    sends.extend(self.frames.by_write(write).map(|frame| self.frame(frame)));
                }
                EffectKind::Reply(call, reply) => {
                    let mut told = json!({"call": call.0, "reply": variant(json!(reply))});
                    match reply {
                        Reply::Acked(metadata) => told["offset"] = metadata.offset.into(),
                        Reply::Failed(exception) | Reply::Threw(exception) => {
                            told["exception"] = format!("{}: {}", exception.class, exception.message).into();
                        }
                        _ => {}
                    }
                    replies.push(told);
                }
                EffectKind::Note(Note::FollowsFrom { .. }) => {}
                EffectKind::Note(note) => notes.push(json!(note)),
                _ => {}
            }
        }
        for (name, list) in [("sends", sends), ("replies", replies), ("notes", notes)] {
            if !list.is_empty() {
                of.insert(name.into(), list.into());
            }
        }
    }

    fn written(&self, write: WriteId) -> Json {
        let frame = self.frames.all().iter().find(|frame| WriteId::of(frame.write) == Some(write));
        frame.map_or(Json::Null, |frame| self.frame(frame))
    }

    /// The header's fixed part, and who sent it in which event.
    fn frame(&self, frame: &Frame) -> Json {
        let header = frame.header;
        let direction = header.map(|header| if header.answers.is_some() { "response" } else { "request" });
        json!({
            "sent_by": frame.write.event.ordinal,
            "from": self.name(frame.from),
            "to": self.name(frame.to),
            "connection": number_of(frame.conns.0),
            "direction": direction,
            "api": header.map(|header| ApiKey(header.api_key).name()),
            "version": header.map(|header| header.api_version),
            "correlation_id": header.map(|header| header.correlation_id),
            "bytes": frame.size,
        })
    }
}

/// Both ends of a connection under one number.
fn number_of(conn: ConnId) -> u64 {
    conn.0 / 2
}

/// The name of an enum's variant, which is how serde calls it.
fn variant(value: Json) -> Json {
    match value {
        Json::Object(fields) => fields.into_iter().next().map_or(Json::Null, |(name, _)| name.into()),
        other => other,
    }
}

/// One row of the table: everything but the ids and the node comes in one column.
fn line(text: &mut String, of: &Map<String, Json>) {
    let us = of["us"].as_i64().unwrap_or(0);
    let sign = if us < 0 { "-" } else { "" };
    let ms = format!("{sign}{}.{:03}", us.unsigned_abs() / 1000, us.unsigned_abs() % 1000);
    let mut what = String::new();
    for (key, value) in of {
        match key.as_str() {
            "event" | "us" | "node" => {}
            "kind" => what.push_str(plain(value).as_str()),
            "fault" => _ = write!(what, " {}", plain(value)),
            "frame" => _ = write!(what, ": {}", frame_text(value)),
            "because" => {
                let ids: Vec<String> = value.as_array().into_iter().flatten().map(Json::to_string).collect();
                if !ids.is_empty() {
                    _ = write!(what, "  ← {}", ids.join(", "));
                }
            }
            "sends" => each(&mut what, value, |frame| format!("sends {}", frame_text(frame))),
            "replies" => each(&mut what, value, |reply| format!("replies {}", fields_text(reply))),
            "notes" => each(&mut what, value, note_text),
            // The frame's own line says these.
            "connection" | "bytes" if of.contains_key("frame") => {}
            key => _ = write!(what, " {key} {}", plain(value)),
        }
    }
    let _ = writeln!(text, "{:>7}  {ms:>12}  {:<12}  {what}", plain(&of["event"]), plain(&of["node"]));
}

/// Below the row, in the column of what happened.
fn each(what: &mut String, list: &Json, text: impl Fn(&Json) -> String) {
    for item in list.as_array().into_iter().flatten() {
        let _ = write!(what, "\n{:39}{}", "", text(item));
    }
}

fn frame_text(frame: &Json) -> String {
    let ends = format!("{} → {}, {} B", plain(&frame["from"]), plain(&frame["to"]), frame["bytes"]);
    match frame["api"].as_str() {
        Some(api) => {
            let direction = plain(&frame["direction"]);
            format!("{api} v{} {direction} #{}, {ends}", frame["version"], frame["correlation_id"])
        }
        None => ends,
    }
}

fn note_text(note: &Json) -> String {
    match note.as_object().and_then(|note| note.iter().next()) {
        Some((name, fields)) => format!("{name} {}", fields_text(fields)),
        None => plain(note),
    }
}

fn fields_text(fields: &Json) -> String {
    let Some(fields) = fields.as_object() else { return plain(fields) };
    let of = |(name, value): (&String, &Json)| match (value["topic"].as_str(), &value["partition"]) {
        (Some(topic), partition) => format!("{name} {topic}-{partition}"),
        _ => format!("{name} {}", plain(value)),
    };
    fields.iter().map(of).collect::<Vec<_>>().join(", ")
}

/// Text without quotes, anything else as JSON.
fn plain(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Null => String::new(),
        other => other.to_string(),
    }
}
