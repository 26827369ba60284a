//! A send with its record and callbacks, and the construction of a client, as Java.

use super::{java_text, java_words, turn};
use crate::experiment::ClientKind;
use crate::experiment::program::{Action, Callback, Datum, On, Program, SendRecord, What};
use crate::ordered::BTreeMap;

impl Program {
    /// What the `on` lines of one kind do, one statement each.
    fn java_actions(&self, callbacks: &[Callback], on: On, depth: usize) -> Vec<String> {
        let of_kind = callbacks.iter().filter(|callback| callback.on == on);
        let java = |callback: &Callback| match &callback.action {
            Action::Count(counter) => {
                let name = self.counters.get(*counter as usize).map_or("", String::as_str);
                format!("{name}.incrementAndGet();")
            }
            Action::Print(text) => format!("System.out.println({});", java_words(text, depth, "metadata")),
        };
        of_kind.map(java).collect()
    }

    pub(super) fn java_send(&self, send: &SendRecord, callbacks: &[Callback], depth: usize) -> Vec<String> {
        let actions = |on| self.java_actions(callbacks, on, depth);
        let (ok, error, throw) = (actions(On::Ok), actions(On::Error), actions(On::Throw));
        let is_awaited_later = self.steps.iter().any(|step| step.what == What::Await);
        let sent = if is_awaited_later && !send.awaited { "sent = " } else { "" };
        let wait = if send.awaited { ".get()" } else { "" };
        let record = java_record(send, depth);
        let mut lines = match (ok.is_empty(), error.is_empty()) {
            (true, true) => vec![format!("{sent}producer.send({record}){wait};")],
            _ => {
                let mut lines = vec![format!("{sent}producer.send({record}, (metadata, exception) -> {{")];
                for (when, actions) in [("==", &ok), ("!=", &error)] {
                    lines.extend(java_if(&format!("exception {when} null"), actions));
                }
                lines.push(format!("}}){wait};"));
                lines
            }
        };
        let mut catches = Vec::new();
        if send.awaited && !error.is_empty() {
            catches.push(("ExecutionException", vec!["// told to the callback".to_string()]));
        }
        if !throw.is_empty() {
            catches.push(("RuntimeException", throw));
        }
        if !catches.is_empty() {
            lines = java_try(lines, &catches);
        }
        lines
    }

    pub(super) fn java_construct(
        &self,
        kind: ClientKind,
        config: &BTreeMap<String, Option<String>>,
        callbacks: &[Callback],
        depth: usize,
    ) -> Vec<String> {
        let mut keys = vec![("bootstrap.servers", Some("localhost:9092"))];
        keys.retain(|(key, _)| !config.contains_key(*key));
        keys.extend(config.iter().map(|(key, value)| (key.as_str(), value.as_deref())));
        let given = keys.iter().filter_map(|(key, value)| Some(format!("\"{key}\", \"{}\"", (*value)?)));
        let given = format!("Map.of({})", given.collect::<Vec<_>>().join(", "));
        let made = match kind {
            ClientKind::Producer => {
                format!("new KafkaProducer<>({given}, new StringSerializer(), new StringSerializer())")
            }
            ClientKind::Consumer => {
                format!("new KafkaConsumer<>({given}, new StringDeserializer(), new StringDeserializer())")
            }
            ClientKind::Admin | ClientKind::Raw => format!("Admin.create({given})"),
        };
        let mut lines = vec![format!("{made}.close();")];
        lines.extend(self.java_actions(callbacks, On::Ok, depth));
        match self.java_actions(callbacks, On::Error, depth) {
            error if error.is_empty() => lines,
            error => java_try(lines, &[("KafkaException", error)]),
        }
    }
}

fn java_try(body: Vec<String>, catches: &[(&str, Vec<String>)]) -> Vec<String> {
    let indented = |line: &String| format!("    {line}");
    let mut lines = vec!["try {".to_string()];
    lines.extend(body.iter().map(indented));
    for (class, actions) in catches {
        lines.push(format!("}} catch ({class} exception) {{"));
        lines.extend(actions.iter().map(indented));
    }
    lines.push("}".to_string());
    lines
}

/// Within a callback.
fn java_if(condition: &str, actions: &[String]) -> Vec<String> {
    match actions {
        [] => Vec::new(),
        [one] => vec![format!("    if ({condition}) {one}")],
        many => {
            let mut lines = vec![format!("    if ({condition}) {{")];
            lines.extend(many.iter().map(|action| format!("        {action}")));
            lines.push("    }".to_string());
            lines
        }
    }
}

fn java_record(send: &SendRecord, depth: usize) -> String {
    let datum =
        |datum: &Option<Datum>| datum.as_ref().map_or_else(|| "null".to_string(), |datum| java_datum(datum, depth));
    let or_null = |number: Option<String>| number.unwrap_or_else(|| "null".to_string());
    let mut arguments = vec![format!("\"{}\"", send.topic)];
    let counts = if send.timestamp_counts { format!(" + {}", turn(depth)) } else { String::new() };
    let timestamp = send.timestamp.map(|timestamp| format!("{timestamp}L{counts}"));
    let has_headers = !send.headers.is_empty();
    if send.partition.is_some() || timestamp.is_some() || has_headers {
        arguments.push(or_null(send.partition.map(|partition| partition.to_string())));
        if timestamp.is_some() || has_headers {
            arguments.push(or_null(timestamp));
        }
        arguments.push(datum(&send.key));
    } else if send.key.is_some() {
        arguments.push(datum(&send.key));
    }
    arguments.push(datum(&send.value));
    if has_headers {
        let header = |(name, value): &(String, Option<Datum>)| {
            let bytes = match value {
                Some(value) if value.size.is_none() && !value.text.0.contains("{i") => {
                    format!("{}.getBytes()", java_datum(value, depth))
                }
                Some(value) => format!("({}).getBytes()", java_datum(value, depth)),
                None => "null".to_string(),
            };
            format!("new RecordHeader(\"{name}\", {bytes})")
        };
        let headers: Vec<String> = send.headers.iter().map(header).collect();
        arguments.push(format!("List.of({})", headers.join(", ")));
    }
    format!("new ProducerRecord<>({})", arguments.join(", "))
}

/// Filled up with dots by formatting to a width.
fn java_datum(datum: &Datum, depth: usize) -> String {
    let text = java_text(&datum.text, depth);
    match datum.size {
        Some(size) => format!("String.format(\"%-{size}s\", {text}).replace(' ', '.')"),
        None => text,
    }
}
