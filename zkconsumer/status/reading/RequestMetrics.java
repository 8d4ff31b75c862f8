import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import javax.management.MBeanServerConnection;
import javax.management.ObjectName;
import javax.management.remote.JMXConnector;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;
import javax.rmi.ssl.SslRMIClientSocketFactory;

/**
 * Reads how many requests brokers have counted, by JMX, which is Java's own.
 *
 * Arguments: for how long to wait, in milliseconds; then HOST:PORT of each broker. Standard input is a
 * file of properties, which may be empty: user, password, ssl, and javax.net.ssl's. It prints lines of
 * fields that tabs separate: the place, a count and the name of an MBean; or the place, "!" and why
 * it can't be read; or the place and ".", at the end of what it has. Run from its source by a JDK.
 */
public final class RequestMetrics {
    private static final String NAMES =
            "kafka.network:type=RequestMetrics,name=*RequestsPerSec,*";
    private static final int MOST_NAMES = 5000;
    private static final int MOST_CHARS = 300;

    public static void main(String[] arguments) throws InterruptedException, IOException {
        Map<String, Object> environment = environment();
        long end = System.nanoTime() + Long.parseLong(arguments[0]) * 1_000_000;
        List<Thread> readers = new ArrayList<>();
        for (int index = 1; index < arguments.length; index++) {
            String place = arguments[index];
            Thread reader = new Thread(() -> read(place, environment));
            reader.setDaemon(true);
            reader.start();
            readers.add(reader);
        }
        for (Thread reader : readers) {
            reader.join(Math.max(1, (end - System.nanoTime()) / 1_000_000));
        }
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    private static Map<String, Object> environment() throws IOException {
        Properties settings = new Properties();
        settings.load(System.in);
        for (String name : settings.stringPropertyNames()) {
            if (name.startsWith("javax.net.ssl.")) {
                System.setProperty(name, settings.getProperty(name));
            }
        }
        Map<String, Object> environment = new HashMap<>();
        if (settings.containsKey("user")) {
            String[] credentials = {settings.getProperty("user"), settings.getProperty("password")};
            environment.put(JMXConnector.CREDENTIALS, credentials);
        }
        if (Boolean.parseBoolean(settings.getProperty("ssl"))) {
            environment.put("com.sun.jndi.rmi.factory.socket", new SslRMIClientSocketFactory());
        }
        return environment;
    }

    private static void read(String place, Map<String, Object> environment) {
        StringBuilder lines = new StringBuilder();
        try {
            JMXServiceURL url =
                    new JMXServiceURL("service:jmx:rmi:///jndi/rmi://" + place + "/jmxrmi");
            try (JMXConnector connector = JMXConnectorFactory.connect(url, environment)) {
                MBeanServerConnection server = connector.getMBeanServerConnection();
                Set<ObjectName> names = server.queryNames(new ObjectName(NAMES), null);
                if (names.size() > MOST_NAMES) {
                    throw new IllegalStateException(names.size() + " MBeans are too many");
                }
                for (ObjectName name : names) {
                    lines.append(line(place, "" + server.getAttribute(name, "Count"), "" + name));
                }
            }
            lines.append(line(place, "."));
        } catch (Exception | Error error) {
            lines = new StringBuilder(line(place, "!", reason(error)));
        }
        System.out.print(lines);
    }

    /** The innermost cause: what is around it repeats it. */
    private static String reason(Throwable error) {
        Throwable cause = error;
        for (int depth = 0; depth < 8 && cause.getCause() != null; depth++) {
            cause = cause.getCause();
        }
        String text = cause.getClass().getSimpleName() + ": " + cause.getMessage();
        return text.substring(0, Math.min(MOST_CHARS, text.length()));
    }

    private static String line(String... fields) {
        for (int index = 0; index < fields.length; index++) {
            fields[index] = fields[index].replaceAll("[\\t\\r\\n]", " ");
        }
        return String.join("\t", fields) + "\n";
    }
}
