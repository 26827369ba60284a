//! A program's partitioner and interceptors as classes.

use super::{JavaLine, java_words};
use crate::experiment::ClientKind;
use crate::experiment::program::Program;
use crate::experiment::program::plugins::{Does, Interceptor, Key, PartitionerRules, To, When};

/// The name of the class that a program's partitioner becomes.
const PARTITIONER: &str = "Rules";

impl Program {
    /// The classes, before the client that loads them.
    pub(super) fn java_classes(&self, kind: ClientKind) -> Vec<JavaLine> {
        let partitioner = self.partitioner.iter().flat_map(java_partitioner);
        let interceptors = self.interceptors.iter().flat_map(|interceptor| match kind {
            ClientKind::Consumer => java_consumer_interceptor(interceptor),
            _ => java_producer_interceptor(interceptor),
        });
        partitioner.chain(interceptors).collect()
    }

    /// The keys that name them.
    pub(super) fn java_plugin_keys(&self) -> Vec<String> {
        let put = |key: &str, value: String| format!("p.put(\"{key}\", {value});");
        let mut lines = Vec::new();
        if self.partitioner.is_some() {
            lines.push(put("partitioner.class", format!("{PARTITIONER}.class")));
        }
        if !self.interceptors.is_empty() {
            let classes: Vec<String> = self.interceptors.iter().map(|one| format!("{}.class", one.name)).collect();
            lines.push(put("interceptor.classes", format!("List.of({})", classes.join(", "))));
        }
        lines
    }
}

fn java_partitioner(partitioner: &PartitionerRules) -> Vec<JavaLine> {
    let line = |of: u32, text: &str| JavaLine { text: text.to_string(), of: Some(of) };
    let head = partitioner.line;
    let mut lines = vec![
        line(head, &format!("class {PARTITIONER} implements Partitioner {{")),
        line(head, "    public void configure(Map<String, ?> configs) {}"),
        line(
            head,
            "    public int partition(String topic, Object key, byte[] keyBytes, Object value, byte[] valueBytes,",
        ),
        line(head, "                         Cluster cluster) {"),
    ];
    for (of, (key, to)) in (head + 1..).zip(&partitioner.rules) {
        let condition = match key {
            Key::Is(text) => format!("if (\"{text}\".equals(key)) "),
            Key::BeginsWith(start) => format!("if (key != null && key.toString().startsWith(\"{start}\")) "),
            Key::Null => "if (key == null) ".to_string(),
            Key::Any => String::new(),
        };
        let to = match to {
            To::Partition(partition) => partition.to_string(),
            To::Hash(over) => {
                let list: Vec<String> = over.iter().map(i32::to_string).collect();
                let hash = "Utils.toPositive(Utils.murmur2(keyBytes == null ? new byte[0] : keyBytes))";
                format!("List.of({}).get({hash} % {})", list.join(", "), over.len())
            }
        };
        lines.push(line(of, &format!("        {condition}return {to};")));
    }
    lines.extend([line(head, "    }"), line(head, "    public void close() {}"), line(head, "}")]);
    lines
}

/// A method with what the hooks of these kinds do in it.
fn method(of: &Interceptor, signature: &str, body: &[(When, &str)], last: Option<&str>, lines: &mut Vec<JavaLine>) {
    lines.push(JavaLine { text: format!("    {signature} {{"), of: Some(of.line) });
    for (when, condition) in body {
        let counter = match when {
            When::Send => "sends",
            When::Ack => "acks",
            When::Error => "errors",
            _ => "",
        };
        let counts = of.hooks.iter().any(|hook| hook.when == When::Close);
        if counts && !counter.is_empty() {
            lines.push(JavaLine { text: format!("        {condition}{counter}++;"), of: Some(of.line) });
        }
        for hook in of.hooks.iter().filter(|hook| hook.when == *when) {
            let record = "record.topic(), record.partition(), record.timestamp(), record.key()";
            let text = match &hook.does {
                Does::Print(text) => {
                    let words = if *when == When::Send { "record" } else { "metadata" };
                    format!("System.out.println({});", java_words(text, 0, words))
                }
                Does::Throw(message) => format!("throw new RuntimeException(\"{message}\");"),
                Does::Prefix(prefix) => {
                    format!("record = new ProducerRecord<>({record}, \"{prefix}\" + record.value(), record.headers());")
                }
                Does::Header(name, value) => format!("record.headers().add(\"{name}\", \"{value}\".getBytes());"),
            };
            lines.push(JavaLine { text: format!("        {condition}{text}"), of: Some(hook.line) });
        }
    }
    if let Some(last) = last {
        lines.push(JavaLine { text: format!("        {last}"), of: Some(of.line) });
    }
    lines.push(JavaLine { text: "    }".to_string(), of: Some(of.line) });
}

fn java_producer_interceptor(of: &Interceptor) -> Vec<JavaLine> {
    let line = |text: String| JavaLine { text, of: Some(of.line) };
    let mut lines = vec![line(format!("class {} implements ProducerInterceptor<String, String> {{", of.name))];
    if of.hooks.iter().any(|hook| hook.when == When::Close) {
        lines.push(line("    int sends, acks, errors;".to_string()));
    }
    method(of, "public void configure(Map<String, ?> configs)", &[(When::Configure, "")], None, &mut lines);
    let on_send = "public ProducerRecord<String, String> onSend(ProducerRecord<String, String> record)";
    let throws = of.hooks.iter().any(|hook| hook.when == When::Send && matches!(hook.does, Does::Throw(_)));
    let last = if throws { None } else { Some("return record;") };
    method(of, on_send, &[(When::Send, "")], last, &mut lines);
    let on_ack = "public void onAcknowledgement(RecordMetadata metadata, Exception exception)";
    let both = [(When::Ack, "if (exception == null) "), (When::Error, "if (exception != null) ")];
    method(of, on_ack, &both, None, &mut lines);
    method(of, "public void close()", &[(When::Close, "")], None, &mut lines);
    lines.push(line("}".to_string()));
    lines
}

fn java_consumer_interceptor(of: &Interceptor) -> Vec<JavaLine> {
    let line = |text: String| JavaLine { text, of: Some(of.line) };
    let mut lines = vec![line(format!("class {} implements ConsumerInterceptor<String, String> {{", of.name))];
    method(of, "public void configure(Map<String, ?> configs)", &[(When::Configure, "")], None, &mut lines);
    let on_consume = "public ConsumerRecords<String, String> onConsume(ConsumerRecords<String, String> records)";
    let throws = of.hooks.iter().any(|hook| matches!(hook.does, Does::Throw(_)));
    let last = if throws { None } else { Some("return records;") };
    method(of, on_consume, &[(When::Consume, "")], last, &mut lines);
    lines.push(line("    public void onCommit(Map<TopicPartition, OffsetAndMetadata> offsets) {}".to_string()));
    method(of, "public void close()", &[(When::Close, "")], None, &mut lines);
    lines.push(line("}".to_string()));
    lines
}
