import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Properties;
import java.util.TreeSet;
import kafka.consumer.Whitelist;

/**
 * Says what Java makes of texts. Every text goes in and comes out as hex.
 *
 * "filters": each line of the input is a whitelist, in UTF-8, then names of topics, parted by
 * spaces. For each comes a line with 1 or 0 for each topic, or "refused".
 *
 * "properties": each line of the input is a .properties file. For each comes a line with its
 * entries as "key=value" in UTF-16, parted by spaces and sorted, or "refused".
 */
public final class JavaTextOracle {
    private static final HexFormat HEX = HexFormat.of();

    public static void main(String[] args) throws IOException {
        BufferedReader in =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        StringBuilder out = new StringBuilder();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.append(args[0].equals("filters") ? filter(line) : properties(line)).append('\n');
        }
        System.out.print(out);
        System.out.flush();
    }

    private static String filter(String line) {
        String[] fields = line.split(" ", -1);
        Whitelist filter;
        try {
            filter = new Whitelist(utf8(fields[0]));
        } catch (RuntimeException error) {
            return "refused";
        }
        StringBuilder answers = new StringBuilder();
        for (int i = 1; i < fields.length; i++) {
            answers.append(filter.isTopicAllowed(utf8(fields[i]), false) ? '1' : '0');
        }
        return answers.toString();
    }

    private static String properties(String line) throws IOException {
        Properties properties = new Properties();
        try {
            properties.load(new ByteArrayInputStream(HEX.parseHex(line)));
        } catch (IllegalArgumentException error) {
            return "refused";
        }
        TreeSet<String> entries = new TreeSet<>();
        properties.forEach((key, value) -> entries.add(utf16(key) + "=" + utf16(value)));
        return String.join(" ", entries);
    }

    private static String utf8(String hex) {
        return new String(HEX.parseHex(hex), StandardCharsets.UTF_8);
    }

    /** By code unit: getBytes would replace half a surrogate pair. */
    private static String utf16(Object value) {
        StringBuilder units = new StringBuilder();
        value.toString().chars().forEach(unit -> units.append(HEX.toHexDigits((char) unit)));
        return units.toString();
    }
}
