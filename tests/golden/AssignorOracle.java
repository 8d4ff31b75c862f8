import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.TreeMap;
import kafka.common.TopicAndPartition;
import kafka.consumer.AssignmentContext;
import kafka.consumer.ConsumerThreadId;
import kafka.consumer.PartitionAssignor;
import kafka.consumer.PartitionAssignor$;
import kafka.utils.ZKStringSerializer$;
import org.I0Itec.zkclient.ZkClient;
import scala.Tuple2;

/**
 * Says what the original's assignors, and Scala's hash maps, answer.
 *
 * "assign HOST:PORT": each line of the input is "chroot TAB strategy TAB excludeInternal TAB group
 * TAB members, by commas"; the groups lie in that ZooKeeper. For each thread with partitions of a
 * topic comes a line "chroot TAB member TAB thread TAB topic TAB partitions, by commas", and for a
 * member whose assignor threw, "chroot TAB member TAB name of the exception".
 *
 * "orders": each line of the input is a list of keys, by commas. For each comes a line with the
 * same keys as an immutable map is walked, TAB, as a mutable map is walked.
 */
public final class AssignorOracle {
    private static final int TIMEOUT_MS = 30000;
    private static final PrintStream OUT = new PrintStream(System.out, false, StandardCharsets.UTF_8);

    public static void main(String[] args) throws Exception {
        BufferedReader in =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            if (args[0].equals("assign")) {
                assign(args[1], line.split("\t"));
            } else {
                orders(line.split(","));
            }
        }
        OUT.flush();
    }

    private static void assign(String host, String[] fields) {
        String chroot = fields[0];
        ZkClient zk =
            new ZkClient(host + chroot, TIMEOUT_MS, TIMEOUT_MS, ZKStringSerializer$.MODULE$);
        try {
            for (String member : fields[4].split(",")) {
                try {
                    assignMember(zk, fields, member);
                } catch (IllegalArgumentException | NullPointerException error) {
                    // The second comes from the first element of an empty map (KAFKA-1648).
                    OUT.println(chroot + "\t" + member + "\t" + error.getClass().getSimpleName());
                }
            }
        } finally {
            zk.close();
        }
    }

    private static void assignMember(ZkClient zk, String[] fields, String member) {
        AssignmentContext context =
            new AssignmentContext(fields[3], member, Boolean.parseBoolean(fields[2]), zk);
        PartitionAssignor assignor = PartitionAssignor$.MODULE$.createInstance(fields[1]);
        TreeMap<String, List<Integer>> shares = new TreeMap<>();
        scala.collection.Iterator<Tuple2<TopicAndPartition, ConsumerThreadId>> pairs =
            assignor.assign(context).iterator();
        while (pairs.hasNext()) {
            Tuple2<TopicAndPartition, ConsumerThreadId> pair = pairs.next();
            String key = pair._2() + "\t" + pair._1().topic();
            shares.computeIfAbsent(key, unused -> new ArrayList<>()).add(pair._1().partition());
        }
        shares.forEach((key, partitions) -> {
            Collections.sort(partitions);
            String joined = partitions.toString().replaceAll("[\\[\\] ]", "");
            OUT.println(fields[0] + "\t" + member + "\t" + key + "\t" + joined);
        });
    }

    private static void orders(String[] keys) {
        scala.collection.immutable.Map<String, Integer> fixed =
            scala.collection.immutable.Map$.MODULE$.empty();
        scala.collection.mutable.HashMap<String, Integer> growing =
            new scala.collection.mutable.HashMap<>();
        for (String key : keys) {
            fixed = fixed.updated(key, 1);
            growing.put(key, 1);
        }
        OUT.println(joined(fixed.iterator()) + "\t" + joined(growing.iterator()));
    }

    private static String joined(scala.collection.Iterator<Tuple2<String, Integer>> pairs) {
        List<String> keys = new ArrayList<>();
        while (pairs.hasNext()) {
            keys.add(pairs.next()._1());
        }
        return String.join(",", keys);
    }
}
