import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.Set;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.CompressionType;
import org.apache.kafka.common.record.ControlRecordType;
import org.apache.kafka.common.record.EndTransactionMarker;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.MemoryRecordsBuilder;
import org.apache.kafka.common.record.Record;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.utils.BufferSupplier;

/**
 * Writes batches of magic 2 as Kafka 2.8 does, from lines of words; answers each with hex.
 *
 * <p>{@code write CODEC TIME APPENDED BASE PRODUCER EPOCH SEQUENCE TRANSACTIONAL LEADER RECORD...},
 * where a record is {@code OFFSET:TIMESTAMP:KEY:VALUE} and {@code :NAME=VALUE} for each header, all
 * bytes in hex and {@code -} for null. {@code marker TYPE OFFSET TIMESTAMP PRODUCER EPOCH LEADER
 * COORDINATOR}. {@code compact HEX OFFSET...}: what the log cleaner leaves if only these stay.
 */
public final class BatchWriterOracle {
    private static final HexFormat HEX = HexFormat.of();

    public static void main(String[] args) throws IOException {
        BufferedReader in =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            ByteBuffer written = switch (words[0]) {
                case "write" -> write(words);
                case "marker" -> marker(words);
                default -> compact(words);
            };
            byte[] bytes = new byte[written.remaining()];
            written.get(bytes);
            System.out.println(HEX.formatHex(bytes));
        }
    }

    private static ByteBuffer write(String[] words) {
        MemoryRecordsBuilder builder = MemoryRecords.builder(
            ByteBuffer.allocate(1 << 16), RecordBatch.MAGIC_VALUE_V2,
            CompressionType.forName(words[1]), TimestampType.forName(words[2]),
            Long.parseLong(words[4]), Long.parseLong(words[3]), Long.parseLong(words[5]),
            Short.parseShort(words[6]), Integer.parseInt(words[7]),
            Boolean.parseBoolean(words[8]), Integer.parseInt(words[9]));
        for (String word : Arrays.copyOfRange(words, 10, words.length)) {
            String[] parts = word.split(":");
            Header[] headers = Arrays.stream(parts).skip(4).map(part -> {
                String[] pair = part.split("=");
                String name = new String(HEX.parseHex(pair[0]), StandardCharsets.UTF_8);
                return new RecordHeader(name, bytes(pair[1]));
            }).toArray(Header[]::new);
            builder.appendWithOffset(Long.parseLong(parts[0]), Long.parseLong(parts[1]),
                bytes(parts[2]), bytes(parts[3]), headers);
        }
        return builder.build().buffer();
    }

    private static ByteBuffer marker(String[] words) {
        EndTransactionMarker marker = new EndTransactionMarker(
            ControlRecordType.valueOf(words[1]), Integer.parseInt(words[7]));
        return MemoryRecords.withEndTransactionMarker(Long.parseLong(words[2]),
            Long.parseLong(words[3]), Integer.parseInt(words[6]), Long.parseLong(words[4]),
            Short.parseShort(words[5]), marker).buffer();
    }

    private static ByteBuffer compact(String[] words) {
        Set<Long> kept = new HashSet<>();
        for (String word : Arrays.copyOfRange(words, 2, words.length)) {
            kept.add(Long.parseLong(word));
        }
        MemoryRecords.RecordFilter filter = new MemoryRecords.RecordFilter() {
            @Override
            protected BatchRetention checkBatchRetention(RecordBatch batch) {
                return BatchRetention.RETAIN_EMPTY;
            }

            @Override
            protected boolean shouldRetainRecord(RecordBatch batch, Record record) {
                return kept.contains(record.offset());
            }
        };
        ByteBuffer left = ByteBuffer.allocate(1 << 16);
        MemoryRecords.readableRecords(ByteBuffer.wrap(HEX.parseHex(words[1]))).filterTo(
            new TopicPartition("t", 0), filter, left, 1 << 16, BufferSupplier.NO_CACHING);
        left.flip();
        return left;
    }

    private static byte[] bytes(String hex) {
        return hex.equals("-") ? null : HEX.parseHex(hex.equals(".") ? "" : hex);
    }
}
