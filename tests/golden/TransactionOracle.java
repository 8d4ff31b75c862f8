import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Writes to partition 0 of a topic in and out of transactions, then reads what is committed.
 *
 * <p>Arguments: bootstrap servers, topic, codec. Lines: {@code PRODUCER begin|commit|abort}, or
 * {@code PRODUCER send TEXT...}; the producer {@code -} has no transactions. Answers a line for
 * each committed record, offset and text, up to the end that a reader of committed records has.
 */
public final class TransactionOracle {
    public static void main(String[] args) throws Exception {
        Map<String, KafkaProducer<String, String>> producers = new HashMap<>();
        Set<String> ended = new TreeSet<>();
        BufferedReader in =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            if (!producers.containsKey(words[0])) {
                producers.put(words[0], producer(args, words[0]));
            }
            KafkaProducer<String, String> producer = producers.get(words[0]);
            ended.remove(words[0]);
            switch (words[1]) {
                case "begin" -> producer.beginTransaction();
                case "commit" -> {
                    producer.commitTransaction();
                    ended.add(words[0]);
                }
                case "abort" -> {
                    producer.flush();
                    producer.abortTransaction();
                    ended.add(words[0]);
                }
                default -> {
                    for (int at = 2; at < words.length; at++) {
                        producer.send(new ProducerRecord<>(args[1], 0, "key", words[at]));
                    }
                    producer.flush();
                }
            }
        }
        // A transaction that has ended can still lack its markers; the next of its name waits for them.
        for (String name : ended) {
            producer(args, name);
        }
        read(args);
        System.out.flush();
        Runtime.getRuntime().halt(0); // closing would abort the transaction that stays open
    }

    private static KafkaProducer<String, String> producer(String[] args, String name) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", args[0]);
        settings.put("compression.type", args[2]);
        settings.put("linger.ms", "50");
        settings.put("enable.idempotence", "true");
        if (!name.equals("-")) {
            settings.put("transactional.id", args[1] + "-" + name);
        }
        KafkaProducer<String, String> producer =
            new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
        if (!name.equals("-")) {
            producer.initTransactions();
        }
        return producer;
    }

    @SuppressWarnings("deprecation") // the newer poll is not in 0.11
    private static void read(String[] args) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", args[0]);
        settings.put("isolation.level", "read_committed");
        settings.put("enable.auto.commit", "false");
        KafkaConsumer<String, String> consumer =
            new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
        TopicPartition partition = new TopicPartition(args[1], 0);
        consumer.assign(List.of(partition));
        consumer.seekToBeginning(List.of(partition));
        long end = consumer.endOffsets(List.of(partition)).get(partition);
        while (consumer.position(partition) < end) {
            for (ConsumerRecord<String, String> record : consumer.poll(100)) {
                System.out.println(record.offset() + " " + record.value());
            }
        }
    }
}
