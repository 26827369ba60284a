import java.nio.ByteBuffer;
import java.util.*;
import java.util.concurrent.atomic.AtomicReference;
import java.util.zip.CRC32;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.*;

/**
 * Produces records with random values and headers, reads them back by assignment, and compares checksums.
 * Arguments: bootstrap, topic, records, then producer settings as key=value. Prints one JSON object.
 */
public class RoundTrip {
    static long checksum(byte[] key, byte[] value) {
        CRC32 crc = new CRC32();
        crc.update(key);
        crc.update(value);
        return crc.getValue();
    }

    public static void main(String[] args) throws Exception {
        String bootstrap = args[0], topic = args[1];
        int records = Integer.parseInt(args[2]);
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        for (String setting : Arrays.copyOfRange(args, 3, args.length)) {
            String[] pair = setting.split("=", 2);
            settings.put(pair[0], pair[1]);
        }
        Random random = new Random(records);
        long sent = 0;
        AtomicReference<Exception> failure = new AtomicReference<>();
        try (var producer = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
            for (int i = 0; i < records; i++) {
                byte[] key = ByteBuffer.allocate(4).putInt(i).array(), value = new byte[random.nextInt(200)];
                random.nextBytes(value);
                sent += checksum(key, value);
                producer.send(new ProducerRecord<>(topic, key, value), (metadata, error) -> {
                    if (error != null) failure.compareAndSet(null, error);
                });
            }
        }
        if (failure.get() != null) throw failure.get();

        long read = 0;
        int count = 0;
        try (var consumer = new KafkaConsumer<>(
                Map.<String, Object>of("bootstrap.servers", bootstrap), new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            List<TopicPartition> partitions = new ArrayList<>();
            consumer.partitionsFor(topic).forEach(info -> partitions.add(new TopicPartition(topic, info.partition())));
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            long deadline = System.nanoTime() + 60_000_000_000L;
            while (count < records && System.nanoTime() < deadline)
                for (var record : consumer.poll(java.time.Duration.ofMillis(200))) {
                    read += checksum(record.key(), record.value());
                    count++;
                }
        }
        System.out.printf("{\"sent\": %d, \"read\": %d, \"checksums_equal\": %b}%n", records, count, sent == read);
    }
}
