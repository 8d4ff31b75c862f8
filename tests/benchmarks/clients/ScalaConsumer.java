import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import kafka.consumer.Consumer;
import kafka.consumer.ConsumerConfig;
import kafka.consumer.ConsumerIterator;
import kafka.consumer.KafkaStream;
import kafka.javaapi.consumer.ConsumerConnector;

/**
 * The original's consumer in a JVM that lives on: pass after pass, or the delays of stamped messages.
 *
 * <p>Arguments: the ZooKeeper connect string, the fetch size. Each line of the standard input asks
 * for one thing: {@code read GROUP TOPIC RECORDS} or {@code latency GROUP TOPIC}. Answers are lines
 * of JSON. A pass is what kafka.tools.ConsumerPerformance does with one thread (a second of sleep
 * before the clock starts included), without ending the JVM.
 */
public final class ScalaConsumer {
    private static final int LAST = -1;

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        say("{\"ready\": true}");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            boolean latency = words[0].equals("latency");
            ConsumerConnector connector =
                    Consumer.createJavaConsumerConnector(config(args, words[1], latency));
            Map<String, List<KafkaStream<byte[], byte[]>>> streams =
                    connector.createMessageStreams(Collections.singletonMap(words[2], 1));
            ConsumerIterator<byte[], byte[]> messages = streams.get(words[2]).get(0).iterator();
            if (latency) {
                latency(messages);
            } else {
                read(messages, Long.parseLong(words[3]));
            }
            connector.shutdown();
        }
    }

    private static ConsumerConfig config(String[] args, String group, boolean latency) {
        Properties props = new Properties();
        props.put("zookeeper.connect", args[0]);
        props.put("group.id", group);
        props.put("fetch.message.max.bytes", args[1]);
        props.put("socket.receive.buffer.bytes", "2097152");
        props.put("auto.offset.reset", latency ? "largest" : "smallest");
        props.put("consumer.timeout.ms", "30000");
        return new ConsumerConfig(props);
    }

    private static void read(ConsumerIterator<byte[], byte[]> messages, long records)
            throws Exception {
        Thread.sleep(1000);
        long beganNs = System.nanoTime();
        long beganCpuNs = cpuNs();
        long count = 0;
        long bytes = 0;
        while (count < records && messages.hasNext()) {
            bytes += messages.next().message().length;
            count++;
        }
        double seconds = (System.nanoTime() - beganNs) / 1e9;
        double cpuSeconds = (cpuNs() - beganCpuNs) / 1e9;
        say(
                String.format(
                        Locale.ROOT,
                        "{\"records\": %d, \"value_bytes\": %d, \"seconds\": %.6f,"
                                + " \"cpu_seconds\": %.6f}",
                        count,
                        bytes,
                        seconds,
                        cpuSeconds));
    }

    private static void latency(ConsumerIterator<byte[], byte[]> messages) {
        List<String> delays = new ArrayList<>();
        say("{\"ready\": true}");
        while (messages.hasNext()) {
            ByteBuffer value = ByteBuffer.wrap(messages.next().message());
            long delayNs = System.nanoTime() - value.getLong();
            delays.add(Long.toString(delayNs / 1000));
            if (value.getInt() == LAST) {
                break;
            }
        }
        say("{\"delays_us\": [" + String.join(", ", delays) + "]}");
    }

    private static long cpuNs() {
        return ((com.sun.management.OperatingSystemMXBean)
                        java.lang.management.ManagementFactory.getOperatingSystemMXBean())
                .getProcessCpuTime();
    }

    private static void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    private ScalaConsumer() {}
}
