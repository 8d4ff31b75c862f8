import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.TopicPartition;
import org.apache.spark.sql.kafka010.KafkaMicroBatchStream;
import org.apache.spark.sql.kafka010.KafkaOffsetRange;
import org.apache.spark.sql.kafka010.KafkaOffsetRangeCalculator;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;
import sun.misc.Unsafe;

/**
 * How Spark's own Kafka source cuts ranges into tasks, and how it bounds a batch.
 *
 * "divide MIN MAX from:until ..." (- for no limit): partition:from:until of each piece.
 * "limit MAX start:latest ...": the end of each partition.
 */
public class SparkRangesOracle {
    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            System.out.println(words[0].equals("divide") ? divide(words) : limit(words));
        }
    }

    private static String divide(String[] words) {
        Map<String, String> options = new HashMap<>();
        if (!words[1].equals("-")) {
            options.put("minPartitions", words[1]);
        }
        if (!words[2].equals("-")) {
            options.put("maxRecordsPerPartition", words[2]);
        }
        List<KafkaOffsetRange> ranges = new ArrayList<>();
        for (int at = 3; at < words.length; at++) {
            long[] pair = pair(words[at]);
            ranges.add(new KafkaOffsetRange(partition(at - 3), pair[0], pair[1], Option.empty()));
        }
        KafkaOffsetRangeCalculator calculator =
            KafkaOffsetRangeCalculator.apply(new CaseInsensitiveStringMap(options));
        List<String> pieces = new ArrayList<>();
        for (KafkaOffsetRange piece : CollectionConverters.asJava(
                calculator.getRanges(
                    CollectionConverters.asScala(ranges).toSeq(),
                    CollectionConverters.asScala(new ArrayList<String>()).toSeq()))) {
            pieces.add(piece.partition() + ":" + piece.fromOffset() + ":" + piece.untilOffset());
        }
        return String.join(" ", pieces);
    }

    /** The method is private, and its object can't be made without a running Spark. */
    private static String limit(String[] words) throws Exception {
        Map<TopicPartition, Object> start = new HashMap<>();
        Map<TopicPartition, Object> latest = new HashMap<>();
        for (int at = 2; at < words.length; at++) {
            long[] pair = pair(words[at]);
            start.put(partition(at - 2), pair[0]);
            latest.put(partition(at - 2), pair[1]);
        }
        Field unsafe = Unsafe.class.getDeclaredField("theUnsafe");
        unsafe.setAccessible(true);
        Object stream = ((Unsafe) unsafe.get(null)).allocateInstance(KafkaMicroBatchStream.class);
        for (Method method : KafkaMicroBatchStream.class.getDeclaredMethods()) {
            if (method.getName().equals("rateLimit")) {
                method.setAccessible(true);
                Object ends = method.invoke(
                    stream, Long.parseLong(words[1]), scalaMap(start), scalaMap(latest));
                @SuppressWarnings("unchecked")
                Map<TopicPartition, Object> found = CollectionConverters.asJava(
                    (scala.collection.immutable.Map<TopicPartition, Object>) ends);
                List<String> shown = new ArrayList<>();
                for (int at = 2; at < words.length; at++) {
                    shown.add(String.valueOf(found.get(partition(at - 2))));
                }
                return String.join(" ", shown);
            }
        }
        throw new IllegalStateException("KafkaMicroBatchStream has no rateLimit");
    }

    private static scala.collection.immutable.Map<TopicPartition, Object> scalaMap(
            Map<TopicPartition, Object> map) {
        return scala.collection.immutable.Map$.MODULE$.from(CollectionConverters.asScala(map));
    }

    private static TopicPartition partition(int number) {
        return new TopicPartition("t", number);
    }

    private static long[] pair(String word) {
        String[] parts = word.split(":");
        return new long[] {Long.parseLong(parts[0]), Long.parseLong(parts[1])};
    }
}
