import java.util.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.*;

/**
 * The load of the benchmarks, the same for every broker. Arguments: produce|fetch, bootstrap, topic, records, record
 * bytes, then client settings as key=value. Prints one JSON object.
 */
public class Load {
    public static void main(String[] args) throws Exception {
        String topic = args[2];
        int records = Integer.parseInt(args[3]), size = Integer.parseInt(args[4]);
        Map<String, Object> settings = new HashMap<>(Map.of("bootstrap.servers", args[1]));
        for (String setting : Arrays.copyOfRange(args, 5, args.length)) {
            String[] pair = setting.split("=", 2);
            settings.put(pair[0], pair[1]);
        }
        long started = System.nanoTime();
        int done = args[0].equals("produce") ? produce(settings, topic, records, size) : fetch(settings, topic, records);
        System.out.printf("{\"records\": %d, \"ms\": %d}%n", done, (System.nanoTime() - started) / 1_000_000);
    }

    static int produce(Map<String, Object> settings, String topic, int records, int size) {
        byte[] value = new byte[size];
        new Random(1).nextBytes(value);
        int[] acked = {0};
        try (var producer = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
            int partitions = producer.partitionsFor(topic).size();
            for (int i = 0; i < records; i++)
                producer.send(new ProducerRecord<>(topic, i % partitions, null, value), (metadata, error) -> {
                    if (error == null) acked[0]++;
                });
        }
        return acked[0];
    }

    static int fetch(Map<String, Object> settings, String topic, int records) {
        int count = 0;
        try (var consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            List<TopicPartition> partitions = new ArrayList<>();
            consumer.partitionsFor(topic).forEach(info -> partitions.add(new TopicPartition(topic, info.partition())));
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            long deadline = System.nanoTime() + 120_000_000_000L;
            while (count < records && System.nanoTime() < deadline) count += consumer.poll(java.time.Duration.ofMillis(200)).count();
        }
        return count;
    }
}
