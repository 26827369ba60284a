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
        byte[][] values = texts(size);
        int[] acked = {0};
        try (var producer = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
            int partitions = producer.partitionsFor(topic).size();
            for (int i = 0; i < records; i++)
                producer.send(new ProducerRecord<>(topic, i % partitions, null, values[i % values.length]), (metadata, error) -> {
                    if (error == null) acked[0]++;
                });
        }
        return acked[0];
    }

    /** Values of that size, of words and numbers, so that codecs have something to find: a third is left. */
    static byte[][] texts(int size) {
        Random random = new Random(1);
        String[] words = random.ints(2000, 3, 10).mapToObj(n -> random.ints(n, 'a', 'z' + 1)
            .collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append).toString()).toArray(String[]::new);
        byte[][] values = new byte[Math.max(1, Math.min(1024, (4 << 20) / size))][];
        for (int i = 0; i < values.length; i++) {
            StringBuilder text = new StringBuilder();
            while (text.length() < size) text.append(words[(int) (words.length * Math.pow(random.nextDouble(), 2))]).append(random.nextInt(4) == 0 ? "=" + random.nextInt(1000) : "").append(' ');
            values[i] = text.substring(0, size).getBytes();
        }
        return values;
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
