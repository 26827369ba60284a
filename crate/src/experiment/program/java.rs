//! The same program as Java on kafka-clients, for readers who know that better. A rendering: nothing runs it.

use super::{Insert, Number, Program, RawSend, Row, SendRecord, StartAt, Template, What};
use crate::experiment::{Client, ClientKind};
use crate::node::{Duration, RawDomain};

/// A line of Java, and the program's line that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JavaLine {
    pub text: String,
    /// Index into [`Program::lines`]; `None` before the first.
    pub of: Option<u32>,
}

impl Program {
    /// Lines of Java: how the client is made, and what it then does.
    pub fn as_java(&self, client: &Client) -> Vec<JavaLine> {
        let head = self.java_head(client).into_iter().map(|text| JavaLine { text, of: None });
        head.chain(self.java_body(client.kind)).collect()
    }

    fn java_head(&self, client: &Client) -> Vec<String> {
        if client.kind == ClientKind::Raw {
            let mut lines = vec!["Socket socket = new Socket(\"localhost\", 9092);".to_string()];
            lines.extend(self.answers.iter().map(|answer| format!("List<Answer> {answer} = new ArrayList<>();")));
            lines.push(String::new());
            return lines;
        }
        let mut lines = vec![
            "Properties p = new Properties();".to_string(),
            "p.put(\"bootstrap.servers\", \"localhost:9092\");".to_string(),
        ];
        let (what, class) = match client.kind {
            ClientKind::Producer => ("serializer", "StringSerializer"),
            _ => ("deserializer", "StringDeserializer"),
        };
        for of in ["key", "value"].into_iter().filter(|_| client.kind != ClientKind::Admin) {
            lines.push(format!("p.put(\"{of}.{what}\", {class}.class.getName());"));
        }
        for (key, value) in &client.config {
            lines.push(format!("p.put(\"{key}\", \"{value}\");"));
        }
        lines.push(match client.kind {
            ClientKind::Producer => "KafkaProducer<String, String> producer = new KafkaProducer<>(p);".to_string(),
            ClientKind::Consumer => "KafkaConsumer<String, String> consumer = new KafkaConsumer<>(p);".to_string(),
            ClientKind::Admin | ClientKind::Raw => "Admin admin = Admin.create(p);".to_string(),
        });
        if self.goes_through_records() {
            lines.push("Iterable<ConsumerRecord<String, String>> records = List.of();".to_string());
        }
        for counter in &self.counters {
            lines.push(format!("AtomicInteger {counter} = new AtomicInteger();"));
        }
        lines.push(String::new());
        lines
    }

    fn goes_through_records(&self) -> bool {
        self.steps.iter().any(|step| matches!(step.what, What::ForEachRecord { .. }))
    }

    fn java_body(&self, kind: ClientKind) -> Vec<JavaLine> {
        let mut lines = Vec::new();
        let mut depth = 0;
        for step in &self.steps {
            let line = |depth: usize, text: &str| JavaLine {
                text: format!("{}{text}", "    ".repeat(depth)),
                of: Some(step.line),
            };
            if matches!(step.what, What::End { .. }) {
                if let What::End { head } = step.what
                    && let Some(What::Repeat { every, .. }) = self.steps.get(head as usize).map(|head| &head.what)
                    && *every > Duration::ZERO
                {
                    lines.push(line(depth, &format!("Thread.sleep({});", every.as_ms())));
                }
                depth -= 1;
            }
            lines.extend(self.java_of(&step.what, kind, depth).iter().map(|text| line(depth, text)));
            if matches!(step.what, What::Repeat { .. } | What::ForEachRecord { .. }) {
                depth += 1;
            }
        }
        lines
    }

    fn java_of(&self, what: &What, kind: ClientKind, depth: usize) -> Vec<String> {
        let client = match kind {
            ClientKind::Producer => "producer",
            ClientKind::Consumer => "consumer",
            ClientKind::Admin => "admin",
            ClientKind::Raw => "socket",
        };
        match what {
            What::Repeat { times, .. } => {
                let i = turn(depth + 1);
                vec![format!("for (int {i} = 0; {i} < {times}; {i}++) {{")]
            }
            What::ForEachRecord { .. } => vec!["for (ConsumerRecord<String, String> record : records) {".to_string()],
            What::End { .. } => vec!["}".to_string()],
            What::ProduceRaw(raw) => vec![self.java_raw(raw, depth)],
            What::Row(row) => vec![self.java_row(row, depth)],
            What::Send(send) => self.java_send(send, depth),
            What::Flush => vec![format!("{client}.flush();")],
            What::Close => vec![format!("{client}.close();")],
            What::Wait(span) => vec![format!("Thread.sleep({});", span.as_ms())],
            What::WaitFor { client } => vec![format!("// when {client} has ended")],
            What::Assign { topic, partition, from } => {
                let mut lines = vec![format!("consumer.assign(List.of({}));", java_partition(topic, *partition))];
                lines.push(java_seek(topic, *partition, *from));
                lines
            }
            What::Seek { topic, partition, to } => vec![java_seek(topic, *partition, *to)],
            What::Poll(span) => {
                let kept = if self.goes_through_records() { "records = " } else { "" };
                vec![format!("{kept}consumer.poll(Duration.ofMillis({}));", span.as_ms())]
            }
            What::Drain { topic } => vec![
                format!("List<TopicPartition> all = consumer.partitionsFor(\"{topic}\").stream()"),
                "    .map(info -> new TopicPartition(info.topic(), info.partition())).toList();".to_string(),
                "consumer.assign(all);".to_string(),
                "consumer.seekToBeginning(all);".to_string(),
                "Map<TopicPartition, Long> end = consumer.endOffsets(all);".to_string(),
                "List<ConsumerRecord<String, String>> landed = new ArrayList<>();".to_string(),
                "while (all.stream().anyMatch(one -> consumer.position(one) < end.get(one)))".to_string(),
                "    consumer.poll(Duration.ofMillis(500)).forEach(landed::add);".to_string(),
            ]
            .into_iter()
            .chain(self.goes_through_records().then(|| "records = landed;".to_string()))
            .collect(),
        }
    }

    /// No class of kafka-clients sends such a request; `produce` stands for the code that writes its bytes.
    fn java_raw(&self, raw: &RawSend, depth: usize) -> String {
        let mut fields = String::new();
        for (field, value) in &raw.fields {
            let (name, domain) = field.spelling();
            let value = match (value, domain) {
                (Number::Turn, _) => turn(depth),
                (Number::Is(at), RawDomain::Words(words)) => {
                    format!("\"{}\"", usize::try_from(*at).ok().and_then(|at| words.get(at)).unwrap_or(&""))
                }
                (Number::Is(value), _) => value.to_string(),
            };
            fields.push_str(&format!(", \"{name}\", {value}"));
        }
        let topic = raw.instead.as_ref().unwrap_or(&raw.topic);
        let request = format!("socket.ask(produce(\"{topic}\", {}{fields}))", raw.partition);
        match raw.answer.and_then(|answer| self.answers.get(answer as usize)) {
            Some(answer) => format!("{answer}.add({request});"),
            None => format!("{request};"),
        }
    }

    fn java_row(&self, row: &Row, depth: usize) -> String {
        let table = self.tables.get(row.table as usize).map_or("", String::as_str);
        let conflict = match row.how {
            Insert::Always => "",
            Insert::Once => " on conflict (id) do nothing",
            Insert::Upsert => " on conflict (id) do update set what = excluded.what",
        };
        let (key, value) = (java_text(&row.key, depth), java_text(&row.value, depth));
        format!("db.update(\"insert into {table} (id, what) values (?, ?){conflict}\", {key}, {value});")
    }

    fn java_send(&self, send: &SendRecord, depth: usize) -> Vec<String> {
        let key = send.key.as_ref().map(|key| format!("{}, ", java_text(key, depth))).unwrap_or_default();
        let record = format!("new ProducerRecord<>(\"{}\", {key}{})", send.topic, java_text(&send.value, depth));
        let wait = if send.awaited { ".get()" } else { "" };
        let name = |counts: super::Counts| self.counters.get(counts.counter as usize).cloned().unwrap_or_default();
        let counting = match (send.on_ok.map(name), send.on_error.map(name)) {
            (None, None) => return vec![format!("producer.send({record}){wait};")],
            (Some(ok), None) => format!("if (exception == null) {ok}.incrementAndGet();"),
            (None, Some(error)) => format!("if (exception != null) {error}.incrementAndGet();"),
            (Some(ok), Some(error)) => format!("(exception == null ? {ok} : {error}).incrementAndGet();"),
        };
        vec![
            format!("producer.send({record}, (metadata, exception) -> {{"),
            format!("    {counting}"),
            format!("}}){wait};"),
        ]
    }
}

/// The loop variable at this depth: `i`, and `i2` in a loop within a loop.
fn turn(depth: usize) -> String {
    if depth > 1 { format!("i{depth}") } else { "i".to_string() }
}

/// `v{i}` is `"v" + i`, and `{key}` is `record.key()`.
fn java_text(template: &Template, depth: usize) -> String {
    let mut parts = Vec::new();
    let mut rest = template.0.as_str();
    while let Some((before, (name, after))) =
        rest.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    {
        // A number alone is no String yet.
        if !before.is_empty() || (parts.is_empty() && name == "i") {
            parts.push(format!("\"{before}\""));
        }
        parts.push(if name == "i" { turn(depth) } else { format!("record.{name}()") });
        rest = after;
    }
    if !rest.is_empty() {
        parts.push(format!("\"{rest}\""));
    }
    parts.join(" + ")
}

fn java_partition(topic: &str, partition: i32) -> String {
    format!("new TopicPartition(\"{topic}\", {partition})")
}

fn java_seek(topic: &str, partition: i32, to: StartAt) -> String {
    let partition = java_partition(topic, partition);
    match to {
        StartAt::Beginning => format!("consumer.seekToBeginning(List.of({partition}));"),
        StartAt::End => format!("consumer.seekToEnd(List.of({partition}));"),
        StartAt::Offset(offset) => format!("consumer.seek({partition}, {offset}L);"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::program::{Names, parse};

    fn java(kind: ClientKind, program: &str) -> String {
        let names = Names { clients: vec!["A", "B"], topics: vec![("t", 1)] };
        let config = [("acks".to_string(), "0".to_string())].into();
        let client = Client { name: "A".to_string(), kind, config };
        let lines = parse("A", program, &names).unwrap().as_java(&client);
        lines.into_iter().map(|line| format!("{}\n", line.text)).collect()
    }

    #[test]
    fn a_producers_program_reads_as_java() {
        let program = "repeat 4 every 20 ms:\n  send(t, k, v{i}x)\n    on ok: told_ok += 1\nawait send(t, last)\nclose";
        let wanted = r#"Properties p = new Properties();
p.put("bootstrap.servers", "localhost:9092");
p.put("key.serializer", StringSerializer.class.getName());
p.put("value.serializer", StringSerializer.class.getName());
p.put("acks", "0");
KafkaProducer<String, String> producer = new KafkaProducer<>(p);
AtomicInteger told_ok = new AtomicInteger();

for (int i = 0; i < 4; i++) {
    producer.send(new ProducerRecord<>("t", "k", "v" + i + "x"), (metadata, exception) -> {
        if (exception == null) told_ok.incrementAndGet();
    });
    Thread.sleep(20);
}
producer.send(new ProducerRecord<>("t", "last")).get();
producer.close();
"#;
        assert_eq!(java(ClientKind::Producer, program), wanted);
    }

    #[test]
    fn a_drain_reads_from_the_beginning_to_the_end_offset_in_java_too() {
        let text = java(ClientKind::Consumer, "wait for B\ndrain(t)\nclose");
        for line in ["// when B has ended", "consumer.seekToBeginning(all);", "consumer.close();"] {
            assert!(text.lines().any(|found| found == line), "{line}: {text}");
        }
    }

    #[test]
    fn rows_and_raw_requests_have_their_java_too() {
        let text = java(ClientKind::Consumer, "drain(t)\nfor each record:\n  db.insert_once(orders, {key}, a{value})");
        for line in [
            "Iterable<ConsumerRecord<String, String>> records = List.of();",
            "records = landed;",
            "for (ConsumerRecord<String, String> record : records) {",
            "    db.update(\"insert into orders (id, what) values (?, ?) on conflict (id) do nothing\", record.key(), \"a\" + record.value());",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}: {text}");
        }
        let text = java(ClientKind::Raw, "repeat 2:\n  gap = produce_raw(t-0, {pid: 7, sequence: {i}, crc: wrong})");
        let line = "    gap.add(socket.ask(produce(\"t\", 0, \"pid\", 7, \"sequence\", i, \"crc\", \"wrong\")));";
        assert!(text.lines().any(|found| found == line), "{text}");
    }
}
