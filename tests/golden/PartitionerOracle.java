import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import kafka.producer.ByteArrayPartitioner;
import kafka.producer.DefaultPartitioner;
import org.apache.kafka.common.utils.Utils;

/**
 * Says where the original's producers put a key. Each line of the input is a key in hex, and a
 * number of partitions. For each comes a line with three numbers: the default partitioner's of the
 * Scala producer (the key read as UTF-8), its byte array partitioner's, and the Java producer's.
 */
public final class PartitionerOracle {
    public static void main(String[] args) throws IOException {
        BufferedReader in =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        DefaultPartitioner byText = new DefaultPartitioner(null);
        ByteArrayPartitioner byBytes = new ByteArrayPartitioner(null);
        StringBuilder out = new StringBuilder();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] fields = line.split(" ", -1);
            byte[] key = HexFormat.of().parseHex(fields[0]);
            int count = Integer.parseInt(fields[1]);
            out.append(byText.partition(new String(key, StandardCharsets.UTF_8), count)).append(' ')
                .append(byBytes.partition(key, count)).append(' ')
                .append(Utils.abs(Utils.murmur2(key)) % count).append('\n');
        }
        System.out.print(out);
        System.out.flush();
    }
}
