import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.clients.consumer.internals.AbstractPartitionAssignor;
import org.apache.kafka.common.TopicPartition;

/**
 * Says what the assignors of Kafka's consumer answer.
 *
 * A line is "strategy TAB topic=count,... TAB member/instance or empty/topics by +/generation/
 * claims as topic-number by +, by commas"; its answer is "member=topic-number by +, by commas".
 */
public final class CoordinatedOracle {
    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            System.out.println(answer(line.split("\t", -1)));
        }
    }

    private static String answer(String[] fields) {
        Map<String, Integer> counts = new HashMap<>();
        for (String one : words(fields[1], ",")) {
            counts.put(one.split("=")[0], Integer.valueOf(one.split("=")[1]));
        }
        Map<String, Subscription> members = new HashMap<>();
        for (String one : words(fields[2], ",")) {
            String[] parts = one.split("/", -1);
            members.put(parts[0], subscription(fields[0], parts));
        }
        return new TreeMap<>(assignor(fields[0]).assign(counts, members)).entrySet().stream()
            .map(one -> one.getKey() + "=" + one.getValue().stream()
                .map(TopicPartition::toString).sorted().collect(Collectors.joining("+")))
            .collect(Collectors.joining(","));
    }

    private static Subscription subscription(String strategy, String[] parts) {
        List<String> topics = words(parts[2], "\\+");
        List<TopicPartition> owned = new ArrayList<>();
        for (String one : words(parts[4], "\\+")) {
            owned.add(new TopicPartition(one.split("-")[0], Integer.parseInt(one.split("-")[1])));
        }
        StickyAssignor memory = new StickyAssignor();
        memory.onAssignment(
            new Assignment(owned),
            new ConsumerGroupMetadata("g", Integer.parseInt(parts[3]), parts[0], Optional.empty()));
        Subscription made = new Subscription(
            topics, strategy.equals("sticky") ? memory.subscriptionUserData(new HashSet<>(topics)) : null);
        made.setGroupInstanceId(parts[1].isEmpty() ? Optional.empty() : Optional.of(parts[1]));
        return made;
    }

    private static AbstractPartitionAssignor assignor(String strategy) {
        switch (strategy) {
            case "range": return new RangeAssignor();
            case "roundrobin": return new RoundRobinAssignor();
            default: return new StickyAssignor();
        }
    }

    private static List<String> words(String text, String separator) {
        return text.isEmpty() ? List.of() : Arrays.asList(text.split(separator));
    }
}
