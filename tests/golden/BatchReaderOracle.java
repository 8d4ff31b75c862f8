import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.MutableRecordBatch;
import org.apache.kafka.common.record.Record;
import org.apache.kafka.common.record.RecordBatch;

/**
 * Reads record sets in hex, a line each, as Kafka does. Answers each with words: for every batch
 * {@code BASE,LAST,LEADER,PRODUCER,EPOCH,SEQUENCE,TRANSACTIONAL,CONTROL}, behind it for each record
 * {@code OFFSET:TIMESTAMP:TYPE:KEY:VALUE} and {@code :NAME=VALUE} for each header, all bytes in hex,
 * {@code -} for null and {@code .} for none.
 */
public final class BatchReaderOracle {
    public static void main(String[] args) throws IOException {
        BufferedReader in =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            StringBuilder out = new StringBuilder();
            ByteBuffer data = ByteBuffer.wrap(HexFormat.of().parseHex(line));
            for (MutableRecordBatch batch : MemoryRecords.readableRecords(data).batches()) {
                batch.ensureValid();
                describe(batch, out);
            }
            System.out.println(out.toString().trim());
        }
    }

    private static void describe(RecordBatch batch, StringBuilder out) {
        out.append(batch.baseOffset()).append(',').append(batch.lastOffset()).append(',')
            .append(batch.partitionLeaderEpoch()).append(',').append(batch.producerId())
            .append(',').append(batch.producerEpoch()).append(',').append(batch.baseSequence())
            .append(',').append(batch.isTransactional()).append(',')
            .append(batch.isControlBatch()).append(' ');
        for (Record record : batch) {
            record.ensureValid();
            out.append(record.offset()).append(':').append(record.timestamp()).append(':')
                .append(batch.timestampType().id).append(':').append(hex(record.key()))
                .append(':').append(hex(record.value()));
            for (Header header : record.headers()) {
                byte[] name = header.key().getBytes(StandardCharsets.UTF_8);
                byte[] value = header.value();
                out.append(':').append(hex(ByteBuffer.wrap(name))).append('=')
                    .append(hex(value == null ? null : ByteBuffer.wrap(value)));
            }
            out.append(' ');
        }
    }

    private static String hex(ByteBuffer data) {
        if (data == null) {
            return "-";
        }
        byte[] bytes = new byte[data.remaining()];
        data.duplicate().get(bytes);
        return bytes.length == 0 ? "." : HexFormat.of().formatHex(bytes);
    }
}
