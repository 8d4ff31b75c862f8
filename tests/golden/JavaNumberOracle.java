import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.text.SimpleDateFormat;
import java.util.Date;
import java.util.Locale;
import java.util.TimeZone;

/**
 * Says how Java prints numbers and times.
 *
 * "fixed": each line of the input is the bits of a double in hex. For each comes what
 * "%.4f" makes of it.
 *
 * "dates": each line is a time in ms since the epoch, a tab, and a pattern of SimpleDateFormat. For
 * each comes that time in UTC, or "refused".
 */
public final class JavaNumberOracle {
    public static void main(String[] args) throws IOException {
        BufferedReader in =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        StringBuilder out = new StringBuilder();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.append(args[0].equals("fixed") ? fixed(line) : date(line)).append('\n');
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
}
