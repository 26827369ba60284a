//! The same program as Java on kafka-clients, for readers who know that better. A rendering: nothing runs it.

use super::{Insert, Number, Program, RawSend, Row, StartAt, Step, Template, What, modulus, next_word};
use crate::experiment::{Client, ClientKind};
use crate::node::{Duration, RawDomain};

mod plugins;
mod send;

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
        self.java_classes(client.kind).into_iter().chain(head).chain(self.java_body(client.kind)).collect()
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
        lines.extend(self.java_plugin_keys());
        lines.push(match client.kind {
            ClientKind::Producer => "KafkaProducer<String, String> producer = new KafkaProducer<>(p);".to_string(),
            ClientKind::Consumer => "KafkaConsumer<String, String> consumer = new KafkaConsumer<>(p);".to_string(),
            ClientKind::Admin | ClientKind::Raw => "Admin admin = Admin.create(p);".to_string(),
        });
        if self.goes_through_records() {
            lines.push("Iterable<ConsumerRecord<String, String>> records = List.of();".to_string());
        }
        if self.steps.iter().any(|step| step.what == What::Await) {
            lines.push("Future<RecordMetadata> sent;".to_string());
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
            lines.extend(self.java_of(step, kind, depth).iter().map(|text| line(depth, text)));
            if matches!(step.what, What::Repeat { .. } | What::ForEachRecord { .. }) {
                depth += 1;
            }
        }
        lines
    }

    fn java_of(&self, step: &Step, kind: ClientKind, depth: usize) -> Vec<String> {
        let client = match kind {
            ClientKind::Producer => "producer",
            ClientKind::Consumer => "consumer",
            ClientKind::Admin => "admin",
            ClientKind::Raw => "socket",
        };
        match &step.what {
            What::Repeat { times, .. } => {
                let i = turn(depth + 1);
                vec![format!("for (int {i} = 0; {i} < {times}; {i}++) {{")]
            }
            What::ForEachRecord { .. } => vec!["for (ConsumerRecord<String, String> record : records) {".to_string()],
            What::End { .. } => vec!["}".to_string()],
            What::ProduceRaw(raw) => vec![self.java_raw(raw, depth)],
            What::Row(row) => vec![self.java_row(row, depth)],
            What::Send(send) => self.java_send(send, &step.callbacks, depth),
            What::Await => vec!["sent.get();".to_string()],
            What::Print(text) => vec![format!("System.out.println({});", java_text(text, depth))],
            What::PrintConfig { key } => {
                let class = match kind {
                    ClientKind::Producer => "ProducerConfig",
                    ClientKind::Consumer => "ConsumerConfig",
                    ClientKind::Admin | ClientKind::Raw => "AdminClientConfig",
                };
                vec![format!("System.out.println(\"{key} = \" + new {class}(p).values().get(\"{key}\"));")]
            }
            What::Construct { kind, config } => self.java_construct(*kind, config, &step.callbacks, depth),
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
}

/// The loop variable at this depth: `i`, and `i2` in a loop within a loop.
fn turn(depth: usize) -> String {
    if depth > 1 { format!("i{depth}") } else { "i".to_string() }
}

/// `v{i}` is `"v" + i`, and `{key}` is `record.key()`.
fn java_text(template: &Template, depth: usize) -> String {
    java_words(template, depth, "record")
}

/// Words in braces are methods of `of`, except those that an exception is asked for.
fn java_words(template: &Template, depth: usize, of: &str) -> String {
    let mut parts = Vec::new();
    let mut rest = template.0.as_str();
    while let Some((before, word, after)) = next_word(rest) {
        // A number alone is no String yet.
        if !before.is_empty() || (parts.is_empty() && word != "key" && word != "value") {
            parts.push(format!("\"{before}\""));
        }
        parts.push(match word {
            "i" => turn(depth),
            word if modulus(word).is_some() => word.replacen('i', &turn(depth), 1),
            "metadata" | "sends" | "acks" | "errors" => word.to_string(),
            "count" => "records.count()".to_string(),
            "class" => "exception.getClass().getSimpleName()".to_string(),
            "message" => "exception.getMessage()".to_string(),
            "cause" => "exception.getCause()".to_string(),
            _ => format!("{of}.{word}()"),
        });
        rest = after;
    }
    if !rest.is_empty() || parts.is_empty() {
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
        let lines = parse("A", kind, program, &names).unwrap().as_java(&client);
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
    fn what_a_record_can_say_and_what_a_callback_hears_reads_as_java() {
        let program = r#"repeat 2:
  send(t, k, v{i} of 9 bytes, partition 2)
    on ok: print "{metadata} at {offset}"
    on ok: told += 1
    on error: print "{class}: {message}"
  print "sent {i}"
  await
send(t, null, "a b", timestamp 5, header trace=x{i}y, header none=null)
  on throw: print "{class}"
construct producer(acks=1, enable.idempotence=true)
  on error: print "{message}"
print config linger.ms"#
            .replace("x{i}y", "xy");
        let java = java(ClientKind::Producer, &program);
        let wanted = r#"Future<RecordMetadata> sent;
AtomicInteger told = new AtomicInteger();

for (int i = 0; i < 2; i++) {
    sent = producer.send(new ProducerRecord<>("t", 2, "k", String.format("%-9s", "v" + i).replace(' ', '.')), (metadata, exception) -> {
        if (exception == null) {
            System.out.println("" + metadata + " at " + metadata.offset());
            told.incrementAndGet();
        }
        if (exception != null) System.out.println("" + exception.getClass().getSimpleName() + ": " + exception.getMessage());
    });
    System.out.println("sent " + i);
    sent.get();
}
try {
    sent = producer.send(new ProducerRecord<>("t", null, 5L, null, "a b", List.of(new RecordHeader("trace", "xy".getBytes()), new RecordHeader("none", null))));
} catch (RuntimeException exception) {
    System.out.println("" + exception.getClass().getSimpleName());
}
try {
    new KafkaProducer<>(Map.of("bootstrap.servers", "localhost:9092", "acks", "1", "enable.idempotence", "true"), new StringSerializer(), new StringSerializer()).close();
} catch (KafkaException exception) {
    System.out.println("" + exception.getMessage());
}
System.out.println("linger.ms = " + new ProducerConfig(p).values().get("linger.ms"));
"#;
        assert!(java.ends_with(wanted), "{java}");
    }

    #[test]
    fn rules_and_interceptors_read_as_classes_that_the_client_loads() {
        let program = r#"partitioner:
  key vip: 0
  others: hash 1, 2
interceptor Prefix:
  on send: prefix "x-"
  on error: print "{class}"
  on close: print "{sends}"
flush"#;
        let java = java(ClientKind::Producer, program);
        let wanted = r#"class Rules implements Partitioner {
    public void configure(Map<String, ?> configs) {}
    public int partition(String topic, Object key, byte[] keyBytes, Object value, byte[] valueBytes,
                         Cluster cluster) {
        if ("vip".equals(key)) return 0;
        return List.of(1, 2).get(Utils.toPositive(Utils.murmur2(keyBytes == null ? new byte[0] : keyBytes)) % 2);
    }
    public void close() {}
}
class Prefix implements ProducerInterceptor<String, String> {
    int sends, acks, errors;
    public void configure(Map<String, ?> configs) {
    }
    public ProducerRecord<String, String> onSend(ProducerRecord<String, String> record) {
        sends++;
        record = new ProducerRecord<>(record.topic(), record.partition(), record.timestamp(), record.key(), "x-" + record.value(), record.headers());
        return record;
    }
    public void onAcknowledgement(RecordMetadata metadata, Exception exception) {
        if (exception == null) acks++;
        if (exception != null) errors++;
        if (exception != null) System.out.println("" + exception.getClass().getSimpleName());
    }
    public void close() {
        System.out.println("" + sends);
    }
}
"#;
        assert!(java.starts_with(wanted), "{java}");
        for key in
            ["p.put(\"partitioner.class\", Rules.class);", "p.put(\"interceptor.classes\", List.of(Prefix.class));"]
        {
            assert!(java.lines().any(|line| line == key), "{java}");
        }
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
