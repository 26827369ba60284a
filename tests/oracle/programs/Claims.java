import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.lang.reflect.Field;
import java.net.URL;
import java.net.URLClassLoader;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigException;

/**
 * What books say about producers and no other program here tries: interceptors that change the configuration, callbacks
 * of failures, partitioners that are gone, topics that are internal, and since which version idempotence is the default.
 * Arguments: bootstrap, and one jar of each kafka-clients to be asked. Prints one JSON object.
 */
public class Claims {
    static final Map<String, Object> STRINGS = Map.of(
        "key.serializer", "org.apache.kafka.common.serialization.StringSerializer",
        "value.serializer", "org.apache.kafka.common.serialization.StringSerializer");

    /** Writes other settings into what configure() is given, and keeps what the other methods are told. */
    public static class Meddler implements ProducerInterceptor<String, String> {
        static final List<Map<String, Object>> acknowledged = new CopyOnWriteArrayList<>();
        static String meddling;

        @Override
        public void configure(Map<String, ?> configs) {
            @SuppressWarnings("unchecked")
            Map<String, Object> open = (Map<String, Object>) configs;
            try {
                open.put("acks", "0");
                open.put("enable.idempotence", false);
                meddling = "put() returned";
            } catch (UnsupportedOperationException refused) {
                meddling = "put() threw " + refused.getClass().getName();
            }
        }

        @Override
        public ProducerRecord<String, String> onSend(ProducerRecord<String, String> record) {
            return record;
        }

        @Override
        public void onAcknowledgement(RecordMetadata metadata, Exception error) {
            acknowledged.add(told(metadata, error));
        }

        @Override
        public void close() {}
    }

    /** What a callback or an interceptor hears, and on which thread. */
    static Map<String, Object> told(RecordMetadata metadata, Exception error) {
        Map<String, Object> told = new LinkedHashMap<>();
        told.put("metadata", metadata == null ? null : metadata.topic() + "-" + metadata.partition());
        told.put("has_offset", metadata != null && metadata.hasOffset());
        told.put("error", error == null ? null : error.getClass().getName());
        boolean network = Thread.currentThread().getName().startsWith("kafka-producer-network-thread");
        told.put("thread", network ? "the producer's network thread" : "the thread that called send()");
        return told;
    }

    static Map<String, Object> settings(String bootstrap, Object... more) {
        Map<String, Object> all = new HashMap<>(STRINGS);
        all.put("bootstrap.servers", bootstrap);
        for (int i = 0; i < more.length; i += 2) all.put((String) more[i], more[i + 1]);
        return all;
    }

    public static void main(String[] args) throws Exception {
        String bootstrap = args[0];
        Map<String, Object> found = new LinkedHashMap<>();
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            admin.createTopics(List.of(new NewTopic("claims", 1, (short) 1))).all().get();
            found.put("interceptor", interceptor(bootstrap));
            found.put("callback", callback(bootstrap));
            found.put("partitioner_class", partitioners());
            found.put("internal_topics", internalTopics(admin, bootstrap));
        }
        found.put("idempotence_by_default", idempotence(args));
        System.out.println(new ObjectMapper().writeValueAsString(found));
    }

    /** An acks=0 producer would be told no offset; this one has acks=all, whatever the interceptor writes. */
    static Map<String, Object> interceptor(String bootstrap) throws Exception {
        Map<String, Object> found = new LinkedHashMap<>();
        Map<String, Object> settings = settings(
            bootstrap, "interceptor.classes", List.of(Meddler.class), "max.block.ms", 2000);
        Map<String, Object> given = new HashMap<>(settings);
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(settings)) {
            RecordMetadata metadata = producer.send(new ProducerRecord<>("claims", "a")).get();
            found.put("configure_writes_acks_0", Meddler.meddling);
            found.put("then_an_offset_is_told", metadata.hasOffset());
            found.put("the_programs_own_map_is_unchanged", given.equals(settings));
            found.put("idempotent", isIdempotent(producer));
            try {
                producer.send(new ProducerRecord<>("claims", 7, null, "to no partition")).get();
            } catch (ExecutionException expected) {
                found.put("send_to_no_partition", expected.getCause().getClass().getName());
            }
        }
        found.put("on_acknowledgement_heard", List.copyOf(Meddler.acknowledged));
        return found;
    }

    static Map<String, Object> callback(String bootstrap) throws Exception {
        Map<String, Object> found = new LinkedHashMap<>();
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(settings(bootstrap, "max.block.ms", 2000))) {
            CompletableFuture<Map<String, Object>> success = new CompletableFuture<>(), failure = new CompletableFuture<>();
            producer.send(new ProducerRecord<>("claims", "a"), (m, e) -> success.complete(told(m, e)));
            found.put("of_a_record_that_was_written", success.get(30, TimeUnit.SECONDS));
            producer.send(new ProducerRecord<>("claims", 7, null, "b"), (m, e) -> failure.complete(told(m, e)));
            found.put("of_a_record_to_no_partition", failure.get(30, TimeUnit.SECONDS));
            CompletableFuture<Map<String, Object>> refused = new CompletableFuture<>();
            producer.send(new ProducerRecord<>("__consumer_offsets_is_not_it bad", "c"), (m, e) -> refused.complete(told(m, e)));
            found.put("of_a_record_to_a_topic_with_an_illegal_name", refused.get(30, TimeUnit.SECONDS));
        }
        return found;
    }

    static Map<String, Object> partitioners() {
        Map<String, Object> found = new LinkedHashMap<>();
        for (String name : List.of(
                "org.apache.kafka.clients.producer.internals.DefaultPartitioner",
                "org.apache.kafka.clients.producer.UniformStickyPartitioner",
                "org.apache.kafka.clients.producer.RoundRobinPartitioner")) {
            try (var producer = new KafkaProducer<>(settings("127.0.0.1:1", "partitioner.class", name))) {
                found.put(name, "accepted");
                producer.close(Duration.ZERO);
            } catch (ConfigException refused) {
                found.put(name, refused.getMessage());
            }
        }
        return found;
    }

    /** Which topics a broker calls internal. Those of groups are there once a group has committed; the rest is made here. */
    static Map<String, Object> internalTopics(Admin admin, String bootstrap) throws Exception {
        List<String> names = List.of("__consumer_offsets", "__transaction_state", "__share_group_state", "__remote_log_metadata", "claims");
        for (String name : names)
            try {
                admin.createTopics(List.of(new NewTopic(name, 1, (short) 1))).all().get();
            } catch (ExecutionException already) {
                if (!(already.getCause() instanceof org.apache.kafka.common.errors.TopicExistsException)) throw already;
            }
        Map<String, Object> found = new TreeMap<>();
        admin.describeTopics(names).allTopicNames().get().forEach((name, topic) -> found.put(name, topic.isInternal()));
        return found;
    }

    /** Of each version's client, with nothing set but addresses and serializers. */
    static Map<String, Object> idempotence(String[] args) throws Exception {
        Map<String, Object> found = new LinkedHashMap<>();
        List<URL> others = new ArrayList<>();
        for (String path : System.getProperty("java.class.path").split(File.pathSeparator))
            if (!new File(path).getName().contains("kafka")) others.add(new File(path).toURI().toURL());
        for (String jar : Arrays.copyOfRange(args, 1, args.length)) {
            String version = new File(jar).getName().replaceAll("kafka-clients-|\\.jar", "");
            List<URL> urls = new ArrayList<>(others);
            urls.add(0, new File(jar).toURI().toURL());
            try (URLClassLoader loader = new URLClassLoader(urls.toArray(URL[]::new), ClassLoader.getPlatformClassLoader())) {
                Thread.currentThread().setContextClassLoader(loader);
                Class<?> type = loader.loadClass("org.apache.kafka.clients.producer.KafkaProducer");
                Map<String, Object> settings = new HashMap<>(STRINGS);
                settings.put("bootstrap.servers", "127.0.0.1:1");
                try (AutoCloseable producer = (AutoCloseable) type.getConstructor(Map.class).newInstance(settings)) {
                    found.put(version, isIdempotent(producer));
                    try {
                        type.getMethod("close", Duration.class).invoke(producer, Duration.ZERO);
                    } catch (NoSuchMethodException older) {
                        type.getMethod("close", long.class, TimeUnit.class).invoke(producer, 0L, TimeUnit.MILLISECONDS);
                    }
                }
            }
        }
        return found;
    }

    /** A producer that numbers its batches has a transaction manager, and one that does not has none. */
    static boolean isIdempotent(Object producer) throws Exception {
        Field field = producer.getClass().getDeclaredField("transactionManager");
        field.setAccessible(true);
        return field.get(producer) != null;
    }
}
