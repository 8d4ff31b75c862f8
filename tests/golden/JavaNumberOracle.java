import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.text.SimpleDateFormat;
import java.util.Date;
import java.util.Locale;
import java.util.Properties;
import java.util.StringJoiner;
import java.util.TimeZone;
import scala.collection.Iterator;
import scala.collection.mutable.HashMap;

/**
 * Says how Java prints numbers and times, and in which order it walks tables.
 *
 * "fixed": each line of the input is the bits of a double in hex. For each comes what
 * "%.4f" makes of it.
 *
 * "dates": each line is a time in ms since the epoch, a tab, and a pattern of SimpleDateFormat. For
 * each comes that time in UTC, or "refused".
 *
 * "properties": each line is keys, parted by commas. For each come the keys of Properties into
 * which they were put in this order, as these are walked.
 *
 * "numbers": the same with a mutable Scala map and keys that are numbers.
 */
public final class JavaNumberOracle {
    public static void main(String[] args) throws IOException {
        BufferedReader in =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        StringBuilder out = new StringBuilder();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String answer = switch (args[0]) {
                case "fixed" -> fixed(line);
                case "dates" -> date(line);
                case "properties" -> properties(line);
                default -> numbers(line);
            };
            out.append(answer).append('\n');
        }
        System.out.write(out.toString().getBytes(StandardCharsets.UTF_8));
        System.out.flush();
    }

    private static String fixed(String line) {
        double value = Double.longBitsToDouble(Long.parseUnsignedLong(line, 16));
        return String.format(Locale.ROOT, "%.4f", value);
    }

    private static String date(String line) {
        String[] fields = line.split("\t", -1);
        try {
            SimpleDateFormat format = new SimpleDateFormat(fields[1], Locale.ROOT);
            format.setTimeZone(TimeZone.getTimeZone("UTC"));
            return format.format(new Date(Long.parseLong(fields[0])));
        } catch (IllegalArgumentException error) {
            return "refused";
        }
    }

    private static String properties(String line) {
        Properties table = new Properties();
        for (String key : line.split(",")) {
            table.setProperty(key, "");
        }
        StringJoiner walked = new StringJoiner(",");
        table.forEach((key, value) -> walked.add((String) key));
        return walked.toString();
    }

    private static String numbers(String line) {
        HashMap<Object, Object> table = new HashMap<>();
        for (String key : line.split(",")) {
            table.put(Integer.valueOf(key), "");
        }
        StringJoiner walked = new StringJoiner(",");
        Iterator<Object> keys = table.keysIterator();
        while (keys.hasNext()) {
            walked.add(keys.next().toString());
        }
        return walked.toString();
    }
}
