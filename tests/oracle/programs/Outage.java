import com.fasterxml.jackson.databind.ObjectMapper;
import java.time.Duration;
import java.util.*;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.*;

/**
 * Sends numbered records at an interval, whatever happens to the broker meanwhile, and notes what each send was told;
 * then reads what is in the log.
 * Arguments: bootstrap, topic, sends, interval in ms, then producer settings as key=value.
 * Prints `begin EPOCH_MS` when the first send is about to be called, and one JSON object at its end.
 */
public class Outage {
    /** What one send() was told. Times are milliseconds since the first send(); the callback may come on another thread. */
    static final class Sent {
        public int id;
        public long send_ms, blocked_ms;
        public volatile long callback_ms = -1, offset = Long.MIN_VALUE;
        public volatile boolean in_send_call;
        public volatile String error_class, error_message;
    }

    static long begun;

    static long now() {
        return (System.nanoTime() - begun) / 1_000_000;
    }

    public static void main(String[] args) throws Exception {
        String bootstrap = args[0], topic = args[1];
        int sends = Integer.parseInt(args[2]);
        long interval = Long.parseLong(args[3]);
        Map<String, Object> settings = new HashMap<>(Map.of("bootstrap.servers", bootstrap));
        for (String setting : Arrays.copyOfRange(args, 4, args.length)) {
            String[] pair = setting.split("=", 2);
            settings.put(pair[0], pair[1]);
        }
        try (var admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            admin.createTopics(List.of(new NewTopic(topic, 1, (short) 1))).all().get();
        }

        Map<String, Object> result = new LinkedHashMap<>();
        List<Sent> told = new ArrayList<>();
        var producer = new KafkaProducer<String, String>(settings, new StringSerializer(), new StringSerializer());
        producer.partitionsFor(topic);
        begun = System.nanoTime();
        System.out.println("begin " + System.currentTimeMillis());
        for (int id = 0; id < sends; id++) {
            told.add(send(producer, topic, id));
            Thread.sleep(interval);
        }
        result.put("sends_done_ms", now());
        producer.flush();
        producer.close();
        result.put("elapsed_ms", now());
        result.put("sends", told);
        result.put("landed", landed(bootstrap, topic));
        System.out.println(new ObjectMapper().writeValueAsString(result));
    }

    static Sent send(Producer<String, String> producer, String topic, int id) {
        Sent sent = new Sent();
        Thread caller = Thread.currentThread();
        sent.id = id;
        sent.send_ms = now();
        producer.send(new ProducerRecord<>(topic, 0, null, "v" + id), (metadata, error) -> {
            sent.callback_ms = now();
            sent.in_send_call = Thread.currentThread() == caller;
            if (metadata != null) sent.offset = metadata.offset();
            if (error != null) {
                sent.error_class = error.getClass().getName();
                sent.error_message = error.getMessage();
            }
        });
        sent.blocked_ms = now() - sent.send_ms;
        return sent;
    }

    /** The numbers of the records in the log, in its order. */
    static List<Integer> landed(String bootstrap, String topic) {
        List<Integer> ids = new ArrayList<>();
        var partition = List.of(new TopicPartition(topic, 0));
        Map<String, Object> settings = Map.of("bootstrap.servers", bootstrap);
        try (var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.assign(partition);
            consumer.seekToBeginning(partition);
            long end = consumer.endOffsets(partition).get(partition.get(0));
            while (consumer.position(partition.get(0)) < end)
                consumer.poll(Duration.ofMillis(200)).forEach(record -> ids.add(Integer.parseInt(record.value().substring(1))));
        }
        return ids;
    }
}
