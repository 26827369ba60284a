import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.*;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.*;
import org.apache.kafka.common.header.*;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.quota.ClientQuotaFilter;
import org.apache.kafka.common.serialization.*;

/**
 * kafka-clients against our broker; tests/clients/README.md says what is printed. Arguments: bootstrap, and a prefix for
 * topics. Compiles with 3.6.1 and 4.3.0: what only the newer one has is found by name.
 */
public class Client {
    static String bootstrap, prefix;

    interface Call {
        Object run() throws Exception;
    }

    /** Runs one row. A String that is returned is why it failed, a Read what was read. */
    static void row(String what, Call call) {
        try {
            Object told = call.run();
            if (told instanceof Read read) System.out.printf("{\"what\": \"%s\", \"count\": %d, \"sha256\": \"%s\"}%n", what, read.count, read.sha256);
            else if (told instanceof String wrong) fail(what, wrong);
            else System.out.printf("{\"what\": \"%s\"}%n", what);
        } catch (NoSuchMethodException older) {
            System.out.printf("{\"what\": \"%s\", \"missing\": true}%n", what);
        } catch (Throwable error) {
            while (error instanceof ExecutionException && error.getCause() != null) error = error.getCause();
            fail(what, error.getClass().getSimpleName() + ": " + error.getMessage());
        }
        System.out.flush();
    }

    static void fail(String what, String why) {
        String text = why.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", " ");
        System.out.printf("{\"what\": \"%s\", \"error\": \"%s\"}%n", what, text);
    }

    record Read(int count, String sha256) {}

    static byte[] bytes(String text) {
        return text == null ? null : text.getBytes(StandardCharsets.UTF_8);
    }

    /** The records that every client sends; tests/clients/records.mjs has the same. */
    static ProducerRecord<byte[], byte[]> record(String topic, int i) {
        String key = i % 4 == 0 ? null : "k" + i, value = i % 5 == 2 ? null : "value " + i + "x".repeat(i % 50);
        List<Header> headers = i % 3 == 0
            ? List.of(new RecordHeader("h", bytes("1")), new RecordHeader("n", (byte[]) null)) : List.of();
        return new ProducerRecord<>(topic, 0, bytes(key), bytes(value), headers);
    }

    static Map<String, Object> settings(Object... more) {
        Map<String, Object> all = new HashMap<>(Map.of("bootstrap.servers", bootstrap));
        for (int i = 0; i < more.length; i += 2) all.put((String) more[i], more[i + 1]);
        return all;
    }

    static Read roundTrip(String topic, Iterable<ProducerRecord<byte[], byte[]>> records, Object... producer) throws Exception {
        AtomicReference<Exception> failure = new AtomicReference<>();
        int sent = 0;
        var serializer = new ByteArraySerializer();
        try (var p = new KafkaProducer<>(settings(producer), serializer, serializer)) {
            for (var record : records) {
                sent++;
                p.send(record, (metadata, error) -> {
                    if (error != null) failure.compareAndSet(null, error);
                });
            }
        }
        if (failure.get() != null) throw failure.get();
        return read(topic, sent);
    }

    /** Reads from the beginning of partition 0, by assignment. */
    static Read read(String topic, int wanted) throws Exception {
        MessageDigest digest = MessageDigest.getInstance("SHA-256");
        int count = 0;
        var deserializer = new ByteArrayDeserializer();
        try (var consumer = new KafkaConsumer<>(settings(), deserializer, deserializer)) {
            List<TopicPartition> partition = List.of(new TopicPartition(topic, 0));
            consumer.assign(partition);
            consumer.seekToBeginning(partition);
            long deadline = System.nanoTime() + 30_000_000_000L;
            while (count < wanted && System.nanoTime() < deadline)
                for (var record : consumer.poll(Duration.ofMillis(200))) {
                    digest.update(bytes(line(record)));
                    count++;
                }
        }
        return new Read(count, HexFormat.of().formatHex(digest.digest()));
    }

    static String line(ConsumerRecord<byte[], byte[]> record) {
        StringJoiner headers = new StringJoiner(",");
        for (Header header : record.headers()) headers.add(header.key() + "=" + text("", header.value()));
        return text("k:", record.key()) + "\t" + text("v:", record.value()) + "\t" + headers + "\n";
    }

    static String text(String before, byte[] data) {
        return data == null ? "null" : before + new String(data, StandardCharsets.UTF_8);
    }

    /** All that a client may send at once, made as it is sent. */
    static Iterable<ProducerRecord<byte[], byte[]>> records(String topic, int count) {
        return () -> new Iterator<>() {
            int next = 0;

            public boolean hasNext() {
                return next < count;
            }

            public ProducerRecord<byte[], byte[]> next() {
                return record(topic, next++);
            }
        };
    }

    public static void main(String[] args) throws Exception {
        bootstrap = args[0];
        prefix = args[1];
        List<String> codecs = List.of("none", "gzip", "snappy", "lz4", "zstd"), acks = List.of("0", "1", "all");
        List<String> topics = new ArrayList<>(List.of(prefix + "-idempotent", prefix + "-large", prefix + "-admin"));
        for (String codec : codecs) for (String ack : acks) topics.add(prefix + "-" + codec + "-" + ack);
        try (Admin admin = Admin.create(settings("default.api.timeout.ms", 20_000, "request.timeout.ms", 10_000))) {
            row("CreateTopics", () -> admin.createTopics(topics.stream().map(t -> new NewTopic(t, 1, (short) 1)).toList()).all().get(30, TimeUnit.SECONDS));
            for (String codec : codecs)
                for (String ack : acks) {
                    String topic = prefix + "-" + codec + "-" + ack;
                    row(codec + ", acks=" + ack, () -> roundTrip(topic, records(topic, 2_000),
                        "compression.type", codec, "acks", ack, "enable.idempotence", false));
                }
            row("idempotent, 100,000 records", () -> roundTrip(prefix + "-idempotent", records(prefix + "-idempotent", 100_000)));
            row("1 MB record", () -> roundTrip(prefix + "-large", List.of(
                new ProducerRecord<>(prefix + "-large", 0, bytes("big"), bytes("abcdefghij".repeat(100_000))))));
            admin(admin, prefix + "-admin");
        }
    }

    static void admin(Admin admin, String topic) throws Exception {
        TopicPartition partition = new TopicPartition(topic, 0);
        ConfigResource topicConfig = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        roundTrip(topic, records(topic, 100));
        row("Metadata", () -> admin.listTopics().names().get().contains(topic) ? null : "the topic is not listed");
        row("DescribeTopicPartitions", () -> {
            TopicDescription found = admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic);
            return found.partitions().size() == 1 && found.partitions().get(0).leader() != null ? null : found.toString();
        });
        row("DescribeCluster", () -> admin.describeCluster().nodes().get().size() == 1 ? null : "not one node");
        row("CreatePartitions", () -> {
            admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(3))).all().get();
            int count = admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions().size();
            return count == 3 ? null : count + " partitions";
        });
        row("IncrementalAlterConfigs", () -> admin.incrementalAlterConfigs(Map.of(topicConfig, List.of(
            new AlterConfigOp(new ConfigEntry("retention.ms", "123456"), AlterConfigOp.OpType.SET)))).all().get());
        row("DescribeConfigs", () -> {
            Config config = admin.describeConfigs(List.of(topicConfig)).all().get().get(topicConfig);
            String value = config.get("retention.ms").value();
            return value.equals("123456") ? null : "retention.ms is " + value;
        });
        row("DescribeConfigs of the broker", () -> {
            ConfigResource broker = new ConfigResource(ConfigResource.Type.BROKER, "1");
            return admin.describeConfigs(List.of(broker)).all().get().get(broker).get("log.segment.bytes") == null ? "no log.segment.bytes" : null;
        });
        row("ListConfigResources", () -> admin.getClass().getMethod("listConfigResources") == null ? null : listConfigResources(admin));
        row("ListOffsets", () -> {
            List<Long> offsets = new ArrayList<>();
            for (OffsetSpec spec : List.of(OffsetSpec.earliest(), OffsetSpec.latest(), OffsetSpec.maxTimestamp(), OffsetSpec.forTimestamp(0)))
                offsets.add(admin.listOffsets(Map.of(partition, spec)).partitionResult(partition).get().offset());
            boolean right = offsets.get(0) == 0 && offsets.get(1) == 100 && offsets.get(2) >= 0 && offsets.get(3) == 0;
            return right ? null : "earliest, latest, of the latest time, of time 0: " + offsets;
        });
        row("OffsetForLeaderEpoch", () -> {
            try (var consumer = new KafkaConsumer<>(settings(), new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
                consumer.assign(List.of(partition));
                consumer.seek(partition, new OffsetAndMetadata(99, Optional.of(0), ""));
                long deadline = System.nanoTime() + 10_000_000_000L;
                while (System.nanoTime() < deadline)
                    if (!consumer.poll(Duration.ofMillis(200)).isEmpty()) return null;
            }
            return "the record at 99 did not come";
        });
        row("DescribeProducers", () -> {
            int count = admin.describeProducers(List.of(partition)).partitionResult(partition).get().activeProducers().size();
            return count == 1 ? null : count + " producers";
        });
        row("DescribeLogDirs", () -> {
            var directories = admin.describeLogDirs(List.of(1)).allDescriptions().get().get(1).values();
            return directories.stream().anyMatch(d -> d.replicaInfos().containsKey(partition)) ? null : "the partition is in no directory";
        });
        row("DeleteRecords", () -> {
            long low = admin.deleteRecords(Map.of(partition, RecordsToDelete.beforeOffset(40))).lowWatermarks().get(partition).get().lowWatermark();
            return low == 40 ? null : "low watermark " + low;
        });
        row("ElectLeaders", () -> {
            var result = admin.electLeaders(ElectionType.PREFERRED, Set.of(partition)).partitions().get().get(partition);
            return result.isPresent() && result.get() instanceof ElectionNotNeededException ? null : "not ELECTION_NOT_NEEDED but " + result;
        });
        row("ApiVersions, features", () -> admin.describeFeatures().featureMetadata().get().finalizedFeatures().containsKey("metadata.version") ? null : "no metadata.version");
        row("UpdateFeatures", () -> {
            short level = admin.describeFeatures().featureMetadata().get().finalizedFeatures().get("metadata.version").maxVersionLevel();
            admin.updateFeatures(
                Map.of("metadata.version", new FeatureUpdate(level, FeatureUpdate.UpgradeType.SAFE_DOWNGRADE)),
                new UpdateFeaturesOptions().validateOnly(true)).all().get();
            return null;
        });
        row("DescribeAcls", () -> refused(SecurityDisabledException.class, () -> admin.describeAcls(AclBindingFilter.ANY).values().get()));
        row("DescribeClientQuotas", () -> admin.describeClientQuotas(ClientQuotaFilter.all()).entities().get().isEmpty() ? null : "there are quotas");
        // On a connection without authentication that is what Kafka says first, whether tokens are configured or not.
        row("DescribeDelegationToken", () -> refused(UnsupportedByAuthenticationException.class, () -> admin.describeDelegationToken().delegationTokens().get()));
        row("DeleteTopics", () -> {
            admin.deleteTopics(List.of(topic)).all().get();
            return admin.listTopics().names().get().contains(topic) ? "the topic is still listed" : null;
        });
    }

    /** Of 4.x only. */
    static String listConfigResources(Admin admin) throws Exception {
        Object result = Admin.class.getMethod("listConfigResources").invoke(admin);
        Object future = result.getClass().getMethod("all").invoke(result);
        Collection<?> found = (Collection<?>) ((KafkaFuture<?>) future).get();
        return found.stream().anyMatch(resource -> resource.toString().contains(prefix)) ? null : "the altered topic is not among " + found;
    }

    /** Whether a call fails as it must where nothing of its kind is configured. */
    static String refused(Class<?> wanted, Call call) throws Exception {
        try {
            call.run();
        } catch (ExecutionException error) {
            return wanted.isInstance(error.getCause()) ? null : "not " + wanted.getSimpleName() + " but " + error.getCause();
        }
        return "not refused with " + wanted.getSimpleName();
    }
}
