import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.*;
import org.apache.kafka.common.utils.Utils;

/**
 * Runs an experiment's producer programs with Kafka's own client, as the step list of `steplog list --json` says.
 * Arguments: bootstrap, and a file with one element of that list.
 * Prints `begin EPOCH_MS` at t = 0, when the topics exist and every producer knows those that it sends to; and at its
 * end one JSON object: each send and what it was told, what was printed, in which order topics are to be drained (who
 * runs this reads them from the broker's files), and when each program ended. Times are milliseconds since t = 0.
 */
public class Experiment {
    /** What one send() was told. The callback may come on another thread. */
    static final class Sent {
        public String client, topic, key, value;
        public double sent_ms, returned_ms = -1, told_ms = -1;
        public Integer partition;
        public Long offset, timestamp;
        public String error_class, error_message;
        public boolean threw;
    }

    static final List<Sent> sends = new ArrayList<>();
    static final List<String> printed = new ArrayList<>();
    static final List<String> drained = new ArrayList<>();
    /** The toy database: each table's rows, key and value. */
    static final Map<String, List<String[]>> tables = new TreeMap<>();
    static final Map<String, Double> ended = new TreeMap<>();
    static final Map<String, Integer> counters = new TreeMap<>();
    static final Map<String, CountDownLatch> programs = new HashMap<>();
    static long begun;

    static double now() {
        return Math.round((System.nanoTime() - begun) / 1e3) / 1e3;
    }

    static synchronized void print(String text) {
        printed.add(text);
    }

    public static void main(String[] args) throws Exception {
        // Kafka looks for the interceptors' classes there.
        Thread.currentThread().setContextClassLoader(Experiment.class.getClassLoader());
        String bootstrap = args[0];
        JsonNode experiment = new ObjectMapper().readTree(new File(args[1]));
        createTopics(bootstrap, experiment.get("topics"));
        List<Program> all = new ArrayList<>();
        for (JsonNode client : experiment.get("clients")) {
            if (client.get("steps").isNull()) continue;
            Program program = new Program(client, bootstrap);
            programs.put(program.name, new CountDownLatch(1));
            all.add(program);
        }
        for (Program program : all) program.learnTopics();
        begun = System.nanoTime();
        System.out.println("begin " + System.currentTimeMillis());
        List<Thread> threads = new ArrayList<>();
        for (Program program : all) threads.add(new Thread(program, program.name));
        for (Thread thread : threads) thread.start();
        for (Thread thread : threads) thread.join();
        var result = new LinkedHashMap<String, Object>();
        result.put("elapsed_ms", now());
        result.put("sends", sends);
        result.put("printed", printed);
        result.put("counters", counters);
        result.put("drained", drained);
        if (!tables.isEmpty()) result.put("tables", tables);
        result.put("ended", ended);
        System.out.println(new ObjectMapper().writeValueAsString(result));
        System.exit(0);
    }

    static void createTopics(String bootstrap, JsonNode topics) throws Exception {
        try (var admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            for (JsonNode topic : topics) {
                var created = new NewTopic(
                    topic.get("name").asText(), topic.get("partitions").asInt(), (short) topic.get("replication_factor").asInt());
                admin.createTopics(List.of(created.configs(settings(topic.get("config"))))).all().get();
            }
        }
    }

    static Map<String, String> settings(JsonNode config) {
        Map<String, String> settings = new HashMap<>();
        config.fields().forEachRemaining(field -> settings.put(field.getKey(), field.getValue().asText()));
        return settings;
    }

    /** A program's partitioner: the rule that fits first counts. */
    public static final class Rules implements Partitioner {
        static final String SETTING = "experiment.partitioner";
        JsonNode rules;

        @Override
        public void configure(Map<String, ?> settings) {
            rules = (JsonNode) settings.get(SETTING);
        }

        @Override
        public int partition(String topic, Object key, byte[] keyBytes, Object value, byte[] valueBytes, Cluster cluster) {
            for (JsonNode rule : rules) {
                JsonNode of = rule.get(0), to = rule.get(1);
                boolean fits = of.isTextual() ? of.asText().equals(key == null ? "Null" : "Any") || of.asText().equals("Any")
                    : key != null && (of.has("Is") ? of.get("Is").asText().equals(key) : ((String) key).startsWith(of.get("BeginsWith").asText()));
                if (!fits) continue;
                if (to.has("Partition")) return to.get("Partition").asInt();
                JsonNode over = to.get("Hash");
                return over.get(Utils.toPositive(Utils.murmur2(keyBytes == null ? new byte[0] : keyBytes)) % over.size()).asInt();
            }
            return 0;
        }

        @Override
        public void close() {}
    }

    /** One of a program's interceptors. Kafka makes it from its class's name, so each is a class of its own. */
    public abstract static class Hooks implements ProducerInterceptor<String, String> {
        static final String SETTING = "experiment.interceptors";
        final int index;
        JsonNode hooks;
        int sends, acks, errors;

        Hooks(int index) {
            this.index = index;
        }

        /** Prints, up to a throw. */
        void run(String when, Map<String, String> words) {
            for (JsonNode hook : hooks) {
                if (!hook.get("when").asText().equals(when)) continue;
                JsonNode does = hook.get("does");
                if (does.has("Print")) print(Program.fill(does.get("Print").asText(), 0, words));
                if (does.has("Throw")) throw new RuntimeException(does.get("Throw").asText());
            }
        }

        Map<String, String> calls() {
            return Map.of("sends", "" + sends, "acks", "" + acks, "errors", "" + errors);
        }

        @Override
        public void configure(Map<String, ?> settings) {
            hooks = ((JsonNode) settings.get(SETTING)).get(index).get("hooks");
            run("Configure", calls());
        }

        @Override
        public ProducerRecord<String, String> onSend(ProducerRecord<String, String> record) {
            sends++;
            for (JsonNode hook : hooks) {
                if (!hook.get("when").asText().equals("Send")) continue;
                JsonNode does = hook.get("does");
                var words = Map.of("key", "" + record.key(), "value", "" + record.value(), "topic", record.topic());
                if (does.has("Print")) print(Program.fill(does.get("Print").asText(), 0, words));
                if (does.has("Throw")) throw new RuntimeException(does.get("Throw").asText());
                if (does.has("Header")) record.headers().add(does.get("Header").get(0).asText(), does.get("Header").get(1).asText().getBytes());
                if (does.has("Prefix")) record = new ProducerRecord<>(
                    record.topic(), record.partition(), record.timestamp(), record.key(),
                    does.get("Prefix").asText() + record.value(), record.headers());
            }
            return record;
        }

        @Override
        public void onAcknowledgement(RecordMetadata metadata, Exception error) {
            Map<String, String> words = new HashMap<>(error == null ? Map.of() : Program.words(error));
            words.putAll(Map.of("metadata", "" + metadata, "topic", metadata.topic(),
                "partition", "" + metadata.partition(), "offset", "" + metadata.offset()));
            if (error == null) acks++;
            else errors++;
            run(error == null ? "Ack" : "Error", words);
        }

        @Override
        public void close() {
            run("Close", calls());
        }
    }

    public static final class First extends Hooks {
        public First() {
            super(0);
        }
    }

    public static final class Second extends Hooks {
        public Second() {
            super(1);
        }
    }

    public static final class Third extends Hooks {
        public Third() {
            super(2);
        }
    }

    /** One client's program: its steps, and where it is in them. */
    static final class Program implements Runnable {
        final String name, bootstrap;
        final JsonNode steps, counterNames, tableNames;
        final Map<String, String> config;
        final KafkaProducer<String, String> producer;
        /** What was drained last. */
        List<ConsumerRecord<String, String>> records = List.of();
        /** The turns of the blocks that it is in, outermost first. */
        final Deque<long[]> turns = new ArrayDeque<>();
        CompletableFuture<Void> last;

        Program(JsonNode client, String bootstrap) {
            name = client.get("name").asText();
            steps = client.get("steps");
            counterNames = client.get("counters");
            tableNames = client.get("tables");
            this.bootstrap = bootstrap;
            config = settings(client.get("config"));
            config.putIfAbsent("client.id", name);
            config.put("bootstrap.servers", bootstrap);
            boolean produces = client.get("kind").asText().equals("Producer");
            producer = produces ? new KafkaProducer<>(withPlugins(client), new StringSerializer(), new StringSerializer()) : null;
        }

        /** The program's partitioner and interceptors, which find their rules among the settings. */
        Map<String, Object> withPlugins(JsonNode client) {
            Map<String, Object> settings = new HashMap<>(config);
            JsonNode partitioner = client.path("partitioner"), interceptors = client.path("interceptors");
            if (partitioner.has("rules")) {
                settings.put("partitioner.class", Rules.class);
                settings.put(Rules.SETTING, partitioner.get("rules"));
            }
            if (!interceptors.isEmpty()) {
                var classes = List.of(First.class.getName(), Second.class.getName(), Third.class.getName());
                settings.put("interceptor.classes", classes.subList(0, interceptors.size()));
                settings.put(Hooks.SETTING, interceptors);
            }
            return settings;
        }

        void learnTopics() {
            for (JsonNode step : steps)
                if (step.get("what").has("Send")) producer.partitionsFor(step.get("what").get("Send").get("topic").asText());
        }

        @Override
        public void run() {
            try {
                for (int at = 0; at < steps.size(); at = step(at)) {}
            } catch (Exception e) {
                new IllegalStateException(name, e).printStackTrace();
                System.exit(1);
            }
            synchronized (ended) {
                ended.put(name, now());
            }
            programs.get(name).countDown();
        }

        long turn() {
            return turns.isEmpty() ? 0 : turns.peek()[0];
        }

        /** Runs one step; returns which comes next. */
        int step(int at) throws Exception {
            JsonNode step = steps.get(at), what = step.get("what");
            String kind = what.isTextual() ? what.asText() : what.fieldNames().next();
            JsonNode of = what.get(kind);
            switch (kind) {
                case "Repeat" -> turns.push(new long[] {0});
                case "ForEachRecord" -> {
                    if (records.isEmpty()) return of.get("end").asInt() + 1;
                    turns.push(new long[] {0});
                }
                case "Row" -> row(of);
                case "End" -> {
                    JsonNode repeat = steps.get(of.get("head").asInt()).get("what").get("Repeat");
                    if (++turns.peek()[0] < (repeat == null ? records.size() : repeat.get("times").asLong())) {
                        sleep(repeat == null ? 0 : repeat.get("every").asLong());
                        return of.get("head").asInt() + 1;
                    }
                    turns.pop();
                }
                case "Send" -> send(step, of);
                case "Await" -> await(step);
                case "Print" -> print(fill(of.asText(), turn(), Map.of()));
                case "PrintConfig" -> print(of.get("key").asText() + " = " + setting(of.get("key").asText()));
                case "Construct" -> construct(step, of);
                case "Flush" -> producer.flush();
                case "Close" -> {
                    if (producer != null) producer.close();
                }
                case "Wait" -> sleep(of.asLong());
                case "WaitFor" -> programs.get(of.get("client").asText()).await();
                case "Drain" -> drain(of.get("topic").asText());
                default -> throw new IllegalArgumentException("this program does not know " + kind);
            }
            return at + 1;
        }

        static void sleep(long us) throws InterruptedException {
            if (us > 0) TimeUnit.MICROSECONDS.sleep(us);
        }

        /** Who runs this reads the broker's files; a program that goes through the records reads them itself. */
        void drain(String topic) {
            drained.add(topic);
            boolean readsThem = false;
            for (JsonNode step : steps) readsThem |= step.get("what").has("ForEachRecord");
            if (!readsThem) return;
            records = new ArrayList<>();
            try (var consumer = new KafkaConsumer<>(new HashMap<>(config), new StringDeserializer(), new StringDeserializer())) {
                var all = consumer.partitionsFor(topic).stream().map(info -> new TopicPartition(topic, info.partition())).toList();
                consumer.assign(all);
                consumer.seekToBeginning(all);
                var end = consumer.endOffsets(all);
                while (all.stream().anyMatch(one -> consumer.position(one) < end.get(one)))
                    consumer.poll(Duration.ofMillis(500)).forEach(records::add);
            }
        }

        void row(JsonNode of) {
            var record = records.get((int) turn());
            var words = Map.of("key", "" + record.key(), "value", "" + record.value(), "offset", "" + record.offset());
            String[] row = {fill(of.get("key").asText(), turn(), words), fill(of.get("value").asText(), turn(), words)};
            var rows = tables.computeIfAbsent(tableNames.get(of.get("table").asInt()).asText(), name -> new ArrayList<>());
            String how = of.get("how").asText();
            var there = rows.stream().filter(known -> known[0].equals(row[0]) && !how.equals("Always")).findFirst();
            if (there.isEmpty()) rows.add(row);
            else if (how.equals("Upsert")) there.get()[1] = row[1];
        }

        void send(JsonNode step, JsonNode of) throws Exception {
            long turn = turn();
            Sent sent = new Sent();
            sent.client = name;
            sent.topic = of.get("topic").asText();
            sent.key = datum(of.get("key"), turn);
            sent.value = datum(of.get("value"), turn);
            synchronized (sends) {
                sent.sent_ms = now();
                sends.add(sent);
            }
            var told = new CompletableFuture<Void>();
            last = told;
            try {
                var headers = new RecordHeaders();
                for (JsonNode header : of.withArray("headers")) {
                    String value = datum(header.get(1), turn);
                    headers.add(header.get(0).asText(), value == null ? null : value.getBytes("UTF-8"));
                }
                JsonNode partition = of.get("partition"), timestamp = of.get("timestamp");
                var record = new ProducerRecord<>(
                    sent.topic,
                    partition == null || partition.isNull() ? null : (Integer) partition.asInt(),
                    timestamp == null || timestamp.isNull() ? null
                        : (Long) (timestamp.asLong() + (of.path("timestamp_counts").asBoolean() ? turn : 0)),
                    sent.key, sent.value, headers);
                producer.send(record, (metadata, error) -> {
                    sent.told_ms = now();
                    if (metadata != null && metadata.partition() >= 0) sent.partition = metadata.partition();
                    if (error == null) {
                        sent.offset = metadata.offset();
                        sent.timestamp = metadata.timestamp();
                        act(step, "Ok", turn, Map.of(
                            "metadata", metadata.toString(), "topic", metadata.topic(), "partition", "" + metadata.partition(),
                            "offset", "" + metadata.offset(), "timestamp", "" + metadata.timestamp()));
                        told.complete(null);
                    } else {
                        failed(sent, error);
                        act(step, "Error", turn, words(error));
                        told.completeExceptionally(error);
                    }
                });
            } catch (RuntimeException error) {
                sent.threw = true;
                sent.told_ms = now();
                failed(sent, error);
                act(step, "Throw", turn, words(error));
                told.completeExceptionally(error);
            }
            sent.returned_ms = now();
            if (of.path("awaited").asBoolean()) await(step);
        }

        void await(JsonNode step) throws InterruptedException {
            try {
                last.get();
            } catch (ExecutionException ignored) {
                // What the callback was told has been noted.
            }
        }

        static void failed(Sent sent, Exception error) {
            sent.error_class = error.getClass().getSimpleName();
            sent.error_message = error.getMessage();
        }

        static Map<String, String> words(Throwable error) {
            Throwable cause = error.getCause();
            return Map.of(
                "class", error.getClass().getSimpleName(), "message", "" + error.getMessage(),
                "cause", cause == null ? "" : cause.getClass().getSimpleName() + ": " + cause.getMessage());
        }

        void act(JsonNode step, String on, long turn, Map<String, String> words) {
            for (JsonNode callback : step.withArray("callbacks")) {
                if (!callback.get("on").asText().equals(on)) continue;
                JsonNode action = callback.get("action");
                if (action.has("Print")) print(fill(action.get("Print").asText(), turn, words));
                else synchronized (counters) {
                    counters.merge(counterNames.get(action.get("Count").asInt()).asText(), 1, Integer::sum);
                }
            }
        }

        static String fill(String text, long turn, Map<String, String> words) {
            StringBuilder filled = new StringBuilder();
            int at = 0;
            for (int open; (open = text.indexOf('{', at)) >= 0; at = text.indexOf('}', open) + 1) {
                String word = text.substring(open + 1, text.indexOf('}', open));
                long number = word.startsWith("i % ") ? turn % Long.parseLong(word.substring(4)) : turn;
                filled.append(text, at, open).append(words.getOrDefault(word, "" + number));
            }
            return filled.append(text.substring(at)).toString();
        }

        static String datum(JsonNode datum, long turn) {
            if (datum == null || datum.isNull()) return null;
            String text = fill(datum.get("text").asText(), turn, Map.of());
            JsonNode size = datum.get("size");
            return size == null || size.isNull() ? text : text + ".".repeat(Math.max(0, size.asInt() - text.length()));
        }

        /** As given, or by default. */
        String setting(String key) {
            var known = ProducerConfig.configDef().configKeys().get(key);
            return config.getOrDefault(key, ConfigDef.convertToString(known.defaultValue, known.type));
        }

        void construct(JsonNode step, JsonNode of) {
            Map<String, Object> given = new HashMap<>(Map.of("bootstrap.servers", "localhost:9092"));
            String kind = of.get("kind").asText();
            for (String which : kind.equals("Producer") ? List.of("key.serializer", "value.serializer") : List.<String>of())
                given.put(which, StringSerializer.class.getName());
            for (String which : kind.equals("Consumer") ? List.of("key.deserializer", "value.deserializer") : List.<String>of())
                given.put(which, StringDeserializer.class.getName());
            of.get("config").fields().forEachRemaining(field -> {
                if (field.getValue().isNull()) given.remove(field.getKey());
                else given.put(field.getKey(), field.getValue().asText());
            });
            try (AutoCloseable made = switch (kind) {
                case "Producer" -> new KafkaProducer<String, String>(given);
                case "Consumer" -> new KafkaConsumer<String, String>(given);
                default -> Admin.create(given);
            }) {
                act(step, "Ok", turn(), Map.of());
            } catch (Exception error) {
                act(step, "Error", turn(), words(error));
            }
        }
    }
}
