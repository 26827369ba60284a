import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.*;
import java.io.*;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.*;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.*;
import org.apache.kafka.common.protocol.*;
import org.apache.kafka.common.requests.*;

/**
 * Asks one fresh broker about topics and configurations, good and bad, request after request, and notes what it answers
 * in Kafka's own JSON.
 * Arguments: host:port of the broker, the file to write.
 */
@SuppressWarnings("unchecked")
public class ConfigReplies {
    static final ObjectMapper MAPPER = new ObjectMapper();
    static final ArrayNode CASES = MAPPER.createArrayNode();
    static final Map<String, Uuid> IDS = new HashMap<>();
    static String address;
    static int correlation = 1;

    static final byte UNKNOWN = 0, TOPIC = 2, BROKER = 4, BROKER_LOGGER = 8, CLIENT_METRICS = 16, GROUP = 32;
    static final byte SET = 0, DELETE = 1, APPEND = 2, SUBTRACT = 3;

    static JsonNode ask(String name, int version, ApiMessage body) throws Exception {
        ApiKeys key = ApiKeys.forId(body.apiKey());
        RequestHeader header = new RequestHeader(key, (short) version, "recorder", correlation++);
        ObjectSerializationCache cache = new ObjectSerializationCache();
        int size = header.data().size(cache, header.headerVersion()) + body.size(cache, (short) version);
        ByteBuffer buffer = ByteBuffer.allocate(4 + size);
        buffer.putInt(size);
        ByteBufferAccessor out = new ByteBufferAccessor(buffer);
        header.data().write(out, cache, header.headerVersion());
        body.write(out, cache, (short) version);
        ObjectNode entry = CASES.addObject();
        entry.put("case", name).put("api_key", key.id).put("api_version", version);
        entry.put("request", HexFormat.of().formatHex(buffer.array()));
        String[] target = address.split(":");
        JsonNode answer = NullNode.instance;
        try (Socket socket = new Socket(target[0], Integer.parseInt(target[1]))) {
            socket.setSoTimeout(6_000);
            socket.getOutputStream().write(buffer.array());
            DataInputStream in = new DataInputStream(socket.getInputStream());
            byte[] reply = new byte[in.readInt()];
            in.readFully(reply);
            AbstractResponse response = AbstractResponse.parseResponse(ByteBuffer.wrap(reply), header);
            Class<?> converter = Class.forName(response.data().getClass().getName() + "JsonConverter");
            answer = (JsonNode) converter
                .getMethod("write", response.data().getClass(), short.class)
                .invoke(null, response.data(), (short) version);
            entry.set("reply", answer);
        } catch (EOFException closed) {
            entry.put("reply", "closed");
        } catch (java.net.SocketTimeoutException silence) {
            entry.put("reply", "nothing");
        }
        System.out.println(name + " -> " + shortened(answer.toString()));
        // The broker replays what was committed before it answers, yet not what a config means to its parts.
        Thread.sleep(120);
        return answer;
    }

    static String shortened(String text) {
        return text.substring(0, Math.min(220, text.length()));
    }

    record Config(String name, byte op, String value) {}

    static Config set(String name, String value) {
        return new Config(name, SET, value);
    }

    static CreateTopicsRequestData.CreatableTopic topic(String name, int partitions, int replicas, Config... configs) {
        var topic = new CreateTopicsRequestData.CreatableTopic()
            .setName(name).setNumPartitions(partitions).setReplicationFactor((short) replicas);
        for (Config config : configs) {
            topic.configs().add(new CreateTopicsRequestData.CreatableTopicConfig()
                .setName(config.name).setValue(config.value));
        }
        return topic;
    }

    static CreateTopicsRequestData.CreatableTopic assigned(String name, int partitions, int replicas, Object... pairs) {
        var topic = topic(name, partitions, replicas);
        for (int i = 0; i < pairs.length; i += 2) {
            topic.assignments().add(new CreateTopicsRequestData.CreatableReplicaAssignment()
                .setPartitionIndex((int) pairs[i]).setBrokerIds((List<Integer>) pairs[i + 1]));
        }
        return topic;
    }

    static void create(String name, int version, boolean validateOnly, CreateTopicsRequestData.CreatableTopic... topics)
        throws Exception {
        var data = new CreateTopicsRequestData().setTimeoutMs(5000).setValidateOnly(validateOnly);
        for (var topic : topics) {
            data.topics().mustAdd(topic);
        }
        JsonNode answer = ask("CreateTopics v" + version + " " + name, version, data);
        for (JsonNode topic : answer.path("topics")) {
            if (topic.has("topicId") && topic.path("errorCode").asInt() == 0 && !validateOnly) {
                IDS.put(topic.path("name").asText(), Uuid.fromString(topic.path("topicId").asText()));
            }
        }
    }

    /** A topic that is refused, or not, for one config. */
    static void config(String key, String... values) throws Exception {
        for (String value : values) {
            create(key + "=" + value, 7, true, topic("checked", 1, 1, set(key, value)));
        }
    }

    static DescribeConfigsRequestData.DescribeConfigsResource of(int type, String name, String... keys) {
        return new DescribeConfigsRequestData.DescribeConfigsResource()
            .setResourceType((byte) type).setResourceName(name)
            .setConfigurationKeys(keys.length == 0 ? null : List.of(keys));
    }

    static void describe(String name, int version, boolean synonyms,
                         DescribeConfigsRequestData.DescribeConfigsResource... resources) throws Exception {
        ask("DescribeConfigs v" + version + " " + name, version, new DescribeConfigsRequestData()
            .setResources(List.of(resources)).setIncludeSynonyms(synonyms));
    }

    record Change(int type, String name, Config... configs) {}

    static void alter(String name, boolean validateOnly, Change... changes) throws Exception {
        var data = new IncrementalAlterConfigsRequestData().setValidateOnly(validateOnly);
        for (Change change : changes) {
            var configs = new IncrementalAlterConfigsRequestData.AlterableConfigCollection();
            for (Config config : change.configs) {
                configs.add(new IncrementalAlterConfigsRequestData.AlterableConfig()
                    .setName(config.name).setConfigOperation(config.op).setValue(config.value));
            }
            data.resources().add(new IncrementalAlterConfigsRequestData.AlterConfigsResource()
                .setResourceType((byte) change.type).setResourceName(change.name).setConfigs(configs));
        }
        ask("IncrementalAlterConfigs v1 " + name, 1, data);
    }

    static void alter(String name, int type, String resource, Config... configs) throws Exception {
        alter(name, false, new Change(type, resource, configs));
    }

    static void replace(String name, int version, boolean validateOnly, Change... changes) throws Exception {
        var data = new AlterConfigsRequestData().setValidateOnly(validateOnly);
        for (Change change : changes) {
            var configs = new AlterConfigsRequestData.AlterableConfigCollection();
            for (Config config : change.configs) {
                configs.add(new AlterConfigsRequestData.AlterableConfig().setName(config.name).setValue(config.value));
            }
            data.resources().add(new AlterConfigsRequestData.AlterConfigsResource()
                .setResourceType((byte) change.type).setResourceName(change.name).setConfigs(configs));
        }
        ask("AlterConfigs v" + version + " " + name, version, data);
    }

    static void list(int version, int... types) throws Exception {
        List<Byte> wanted = new ArrayList<>();
        for (int type : types) {
            wanted.add((byte) type);
        }
        ask("ListConfigResources v" + version + " " + wanted, version,
            new ListConfigResourcesRequestData().setResourceTypes(wanted));
    }

    static CreatePartitionsRequestData.CreatePartitionsTopic more(String name, int count, List<?>... assignments) {
        var topic = new CreatePartitionsRequestData.CreatePartitionsTopic().setName(name).setCount(count);
        if (assignments.length == 0) {
            return topic.setAssignments(null);
        }
        List<CreatePartitionsRequestData.CreatePartitionsAssignment> list = new ArrayList<>();
        for (List<?> replicas : assignments) {
            list.add(new CreatePartitionsRequestData.CreatePartitionsAssignment()
                .setBrokerIds((List<Integer>) replicas));
        }
        return topic.setAssignments(list);
    }

    static void partitions(String name, int version, boolean validateOnly,
                           CreatePartitionsRequestData.CreatePartitionsTopic... topics) throws Exception {
        var data = new CreatePartitionsRequestData().setTimeoutMs(5000).setValidateOnly(validateOnly);
        for (var topic : topics) {
            data.topics().add(topic);
        }
        ask("CreatePartitions v" + version + " " + name, version, data);
    }

    static void delete(String name, int version, String... topics) throws Exception {
        ask("DeleteTopics v" + version + " " + name, version,
            new DeleteTopicsRequestData().setTopicNames(List.of(topics)).setTimeoutMs(5000));
    }

    static DeleteTopicsRequestData.DeleteTopicState state(String name, Uuid id) {
        return new DeleteTopicsRequestData.DeleteTopicState().setName(name).setTopicId(id);
    }

    static void delete(String name, DeleteTopicsRequestData.DeleteTopicState... topics) throws Exception {
        ask("DeleteTopics v6 " + name, 6,
            new DeleteTopicsRequestData().setTopics(List.of(topics)).setTimeoutMs(5000));
    }

    public static void main(String[] args) throws Exception {
        address = args[0];
        creating();
        describing();
        alteringTopics();
        alteringBrokers();
        otherResources();
        replacing();
        list(0);
        list(1);
        list(1, TOPIC);
        list(1, BROKER, BROKER_LOGGER);
        list(1, CLIENT_METRICS, GROUP);
        list(1, 99);
        list(1, TOPIC, UNKNOWN);
        partitioning();
        deleting();
        MAPPER.writeValue(new File(args[1]), CASES);
    }

    static void creating() throws Exception {
        create("plain", 7, false, topic("plain", 1, 1));
        create("with configs", 7, false, topic("tuned", 2, 1, set("retention.ms", "3600000"),
            set("cleanup.policy", "compact, delete"), set("min.insync.replicas", "1"), set("segment.bytes", " 1048577 ")));
        create("v4 with configs", 4, false, topic("old", 1, 1, set("max.message.bytes", "1000")));
        create("validate only", 7, true, topic("ghost", 3, 1));
        create("validate only, an error", 7, true, topic("plain", 3, 1));
        create("internal.segment.bytes", 7, false, topic("inner", 1, 1, set("internal.segment.bytes", "200")));
        create("null value", 7, false, topic("nulls", 1, 1, set("retention.ms", null)));
        create("two null values", 7, false, topic("nulls", 1, 1, set("retention.ms", null), set("segment.ms", null)));
        create("the same key twice", 7, true, topic("checked", 1, 1, set("retention.ms", "1"), set("retention.ms", "2")));
        create("unknown key", 7, true, topic("checked", 1, 1, set("nope", "1")));
        create("__cluster_metadata", 7, false, topic("__cluster_metadata", 1, 1));
        create("__consumer_offsets", 7, true, topic("__consumer_offsets", 1, 1));
        create("name with a slash", 7, false, topic("a/b", 1, 1));
        create("name in another script", 7, false, topic("é", 1, 1));
        create("replication factor 0", 7, false, topic("checked", 1, 0));
        create("replication factor -2", 7, false, topic("checked", 1, -2));
        create("partitions -2", 7, false, topic("checked", -2, 1));
        create("10001 partitions", 7, false, topic("checked", 10_001, 1));
        create("assigned", 7, false, assigned("assigned", -1, -1, 0, List.of(1), 1, List.of(1)));
        create("assigned, with a count", 7, false, assigned("checked", 1, -1, 0, List.of(1)));
        create("assigned, with a factor", 7, false, assigned("checked", -1, 1, 0, List.of(1)));
        create("assigned to a broker that is not there", 7, false, assigned("checked", -1, -1, 0, List.of(2)));
        create("assigned twice to one broker", 7, false, assigned("checked", -1, -1, 0, List.of(1, 1)));
        create("assigned to nobody", 7, false, assigned("checked", -1, -1, 0, List.of()));
        create("assigned with a gap", 7, false, assigned("checked", -1, -1, 0, List.of(1), 2, List.of(1)));
        create("assigned one partition twice", 7, false, assigned("checked", -1, -1, 0, List.of(1), 0, List.of(1)));
        create("assigned from -1", 7, false, assigned("checked", -1, -1, -1, List.of(1)));
        config("cleanup.policy", "delete", "compact", "delete,delete", "", "compact,,delete", "keep", "Delete", "compact , delete");
        config("compression.type", "zstd", "none", "GZIP", "");
        config("compression.gzip.level", "-1", "0", "9", "10", "x");
        config("compression.lz4.level", "0", "18");
        config("compression.zstd.level", "-131073", "23", "0");
        config("delete.retention.ms", "-1", "1.5");
        config("file.delete.delay.ms", "-1");
        config("flush.messages", "0");
        config("flush.ms", "-1", "9223372036854775808");
        config("index.interval.bytes", "-1", "2147483648");
        config("leader.replication.throttled.replicas", "*", "0:1,1:2", "x", "0:1,*", "0:1, 1:2", "");
        config("follower.replication.throttled.replicas", "1");
        config("local.retention.bytes", "-3", "5");
        config("local.retention.ms", "-3", "-1");
        config("max.compaction.lag.ms", "0", "5");
        config("max.message.bytes", "-1", "0", "");
        config("message.timestamp.after.max.ms", "-1");
        config("message.timestamp.before.max.ms", "-1");
        config("message.timestamp.type", "LogAppendTime", "logappendtime");
        config("min.cleanable.dirty.ratio", "0", "1", "1.0000001", "-0.1", "half", "5e-1", "0.5f", ".5", "NaN", "2");
        config("min.compaction.lag.ms", "-1");
        config("min.insync.replicas", "0", "5");
        config("preallocate", "TRUE", "yes", " false ");
        config("remote.log.copy.disable", "true");
        config("remote.log.delete.on.disable", "true");
        config("remote.storage.enable", "true");
        config("retention.bytes", "-2", "x");
        config("retention.ms", "-1", "-2", "+5", "1_000", "5 ");
        config("segment.bytes", "1048575", "1048576");
        config("segment.index.bytes", "3");
        config("segment.jitter.ms", "-1");
        config("segment.ms", "0");
        config("unclean.leader.election.enable", "1");
        create("min above max compaction lag", 7, true,
            topic("checked", 1, 1, set("min.compaction.lag.ms", "10"), set("max.compaction.lag.ms", "5")));
        create("one bad of two", 7, true, topic("checked", 1, 1), topic("plain", 1, 1));
    }

    static void describing() throws Exception {
        describe("topic, all", 4, true, of(TOPIC, "tuned"));
        describe("topic without synonyms", 4, false, of(TOPIC, "plain"));
        describe("topic with an internal key", 4, true, of(TOPIC, "inner", "internal.segment.bytes", "segment.bytes"));
        for (int version = 1; version <= 3; version++) {
            describe("topic", version, true, of(TOPIC, "tuned", "retention.ms", "segment.ms", "flush.ms"));
        }
        describe("topic, unknown key", 4, true, of(TOPIC, "tuned", "nope"));
        describe("topic, the same twice", 4, false, of(TOPIC, "tuned", "flush.ms"), of(TOPIC, "tuned", "flush.ms"));
        describe("unknown topic", 4, true, of(TOPIC, "nope"));
        describe("bad topic name", 4, true, of(TOPIC, "a/b"));
        describe("empty topic name", 4, true, of(TOPIC, ""));
        describe("broker, all", 4, true, of(BROKER, "1"));
        describe("broker without synonyms", 1, false, of(BROKER, "1", "num.io.threads", "ssl.key.password"));
        describe("cluster default", 4, true, of(BROKER, ""));
        describe("broker with another name", 4, true, of(BROKER, "one"));
        describe("broker, number too large", 4, true, of(BROKER, "4294967297"));
        describe("broker with a plus", 4, true, of(BROKER, "+1", "node.id"));
        describe("logger of another broker", 4, true, of(BROKER_LOGGER, "2"));
        describe("logger of no broker", 4, true, of(BROKER_LOGGER, ""));
        describe("logger of a broker named", 4, true, of(BROKER_LOGGER, "one"));
        describe("root logger", 4, true, of(BROKER_LOGGER, "1", "root"));
        describe("client metrics of no name", 4, true, of(CLIENT_METRICS, ""));
        describe("client metrics", 4, true, of(CLIENT_METRICS, "nope"));
        describe("group of no name", 4, true, of(GROUP, ""));
        describe("group", 4, true, of(GROUP, "nope"));
        describe("unknown type beside a topic", 4, true, of(UNKNOWN, "x"), of(TOPIC, "plain", "flush.ms"));
    }

    static void alteringTopics() throws Exception {
        alter("topic, set", TOPIC, "plain", set("retention.ms", "1000"), set("max.message.bytes", "2000"));
        describe("topic after set", 4, true, of(TOPIC, "plain", "retention.ms", "max.message.bytes"));
        alter("topic, the same again", TOPIC, "plain", set("retention.ms", "1000"));
        alter("topic, delete", TOPIC, "plain", new Config("retention.ms", DELETE, null));
        alter("topic, delete what is not set", TOPIC, "plain", new Config("retention.ms", DELETE, null));
        alter("topic, delete an unknown key", TOPIC, "plain", new Config("nope", DELETE, null));
        alter("topic, append to a list", TOPIC, "plain", new Config("cleanup.policy", APPEND, "compact"));
        describe("topic after append", 4, true, of(TOPIC, "plain", "cleanup.policy"));
        alter("topic, append what is there", TOPIC, "plain", new Config("cleanup.policy", APPEND, "compact"));
        alter("topic, subtract from a list", TOPIC, "plain", new Config("cleanup.policy", SUBTRACT, "delete"));
        describe("topic after subtract", 4, true, of(TOPIC, "plain", "cleanup.policy"));
        alter("topic, subtract the rest", TOPIC, "plain", new Config("cleanup.policy", SUBTRACT, "compact"));
        describe("topic after subtracting all", 4, true, of(TOPIC, "plain", "cleanup.policy"));
        alter("topic, append a bad value", TOPIC, "plain", new Config("cleanup.policy", APPEND, "keep"));
        alter("topic, append to a number", TOPIC, "plain", new Config("retention.ms", APPEND, "1"));
        alter("topic, subtract from a number", TOPIC, "plain", new Config("retention.ms", SUBTRACT, "1"));
        alter("topic, append to an unknown key", TOPIC, "plain", new Config("nope", APPEND, "1"));
        alter("topic, unknown operation", TOPIC, "plain", new Config("retention.ms", (byte) 9, "1"));
        alter("topic, one of two bad", TOPIC, "plain", set("retention.ms", "7"), set("segment.bytes", "7"));
        describe("topic after one of two bad", 4, true, of(TOPIC, "plain", "retention.ms"));
        alter("topic, null", TOPIC, "plain", set("retention.ms", null));
        alter("topic, two nulls", TOPIC, "plain", set("retention.ms", null), set("segment.ms", null));
        alter("topic, the same key twice", TOPIC, "plain", set("retention.ms", "1"), new Config("retention.ms", DELETE, null));
        alter("topic, unknown key", TOPIC, "plain", set("nope", "1"));
        alter("topic, bad value", TOPIC, "plain", set("retention.ms", "soon"));
        alter("topic, value that can grow too long", TOPIC, "plain", set("leader.replication.throttled.replicas", replicas(1, 4500)));
        alter("topic, value grown too long", TOPIC, "plain", new Config("leader.replication.throttled.replicas", APPEND, replicas(2, 500)));
        alter("topic, long value removed", TOPIC, "plain", new Config("leader.replication.throttled.replicas", DELETE, null));
        alter("unknown topic", TOPIC, "nope", set("retention.ms", "1"));
        alter("unknown topic, bad value", TOPIC, "nope", set("retention.ms", "x"));
        alter("bad topic name", TOPIC, "a/b", set("retention.ms", "1"));
        alter("empty topic name", TOPIC, "", set("retention.ms", "1"));
        alter("topic, nothing", TOPIC, "plain");
        alter("topic, validate only", true, new Change(TOPIC, "plain", set("retention.ms", "5")));
        describe("topic after validate only", 4, true, of(TOPIC, "plain", "retention.ms"));
        alter("two topics, one bad", false, new Change(TOPIC, "plain", set("flush.ms", "5")),
            new Change(TOPIC, "tuned", set("flush.ms", "-5")));
        alter("one topic twice", false, new Change(TOPIC, "plain", set("flush.ms", "6")),
            new Change(TOPIC, "plain", set("flush.ms", "7")));
        alter("topic, compaction lags that cross", TOPIC, "plain", set("min.compaction.lag.ms", "10"), set("max.compaction.lag.ms", "5"));
        alter("topic, min.insync.replicas", TOPIC, "plain", set("min.insync.replicas", "2"));
    }

    /** Distinct entries of a list of throttled replicas. */
    static String replicas(int partition, int count) {
        StringJoiner list = new StringJoiner(",");
        for (int broker = 1; broker <= count; broker++) {
            list.add(partition + ":" + broker);
        }
        return list.toString();
    }

    static void alteringBrokers() throws Exception {
        alter("cluster default, set", BROKER, "", set("log.retention.ms", "7200000"), set("message.max.bytes", "900000"));
        describe("cluster default after set", 4, true, of(BROKER, ""));
        describe("broker after cluster default", 4, true, of(BROKER, "1", "log.retention.ms", "log.retention.hours", "log.retention.minutes", "message.max.bytes"));
        describe("topic after cluster default", 4, true, of(TOPIC, "assigned", "retention.ms", "max.message.bytes"));
        describe("topic of its own after cluster default", 4, true, of(TOPIC, "tuned", "retention.ms"), of(TOPIC, "plain", "max.message.bytes"));
        create("after cluster default", 7, true, topic("checked", 1, 1));
        alter("broker, set", BROKER, "1", set("log.retention.ms", "5400000"), set("log.segment.bytes", "3145728"));
        describe("broker after set", 4, true, of(BROKER, "1", "log.retention.ms", "log.segment.bytes"));
        describe("cluster default beside the broker's", 4, true, of(BROKER, ""));
        describe("topic after broker", 4, true, of(TOPIC, "assigned", "retention.ms", "segment.bytes"));
        alter("broker, synonym of less precedence", BROKER, "1", set("log.roll.hours", "5"));
        alter("broker, log.roll.ms", BROKER, "1", set("log.roll.ms", "86400000"));
        describe("broker after log.roll.ms", 4, true, of(BROKER, "1", "log.roll.ms", "log.roll.hours"));
        describe("topic after log.roll.ms", 4, true, of(TOPIC, "assigned", "segment.ms"));
        create("after log.roll.ms", 7, true, topic("checked", 1, 1));
        alter("broker, delete", BROKER, "1", new Config("log.roll.ms", DELETE, null), new Config("log.segment.bytes", DELETE, null));
        alter("broker, delete what is not set", BROKER, "1", new Config("log.roll.ms", DELETE, null));
        alter("broker, read-only", BROKER, "1", set("num.partitions", "3"));
        alter("broker, two read-only", BROKER, "1", set("node.id", "3"));
        alter("cluster default, read-only", BROKER, "", set("log.dirs", "/tmp/x"));
        alter("broker, delete a read-only key", BROKER, "1", new Config("num.partitions", DELETE, null));
        alter("broker, unknown key", BROKER, "1", set("some.plugin.key", "x"));
        describe("broker, unknown key after set", 4, true, of(BROKER, "1", "some.plugin.key"));
        alter("broker, unknown key deleted", BROKER, "1", new Config("some.plugin.key", DELETE, null));
        alter("broker, append to an unknown key", BROKER, "1", new Config("nope", APPEND, "x"));
        alter("broker, append to a number", BROKER, "1", new Config("num.io.threads", APPEND, "x"));
        alter("broker, subtract from a number", BROKER, "1", new Config("num.io.threads", SUBTRACT, "x"));
        alter("broker, append to a list", BROKER, "1", new Config("log.cleanup.policy", APPEND, "compact"));
        describe("broker after append", 4, true, of(BROKER, "1", "log.cleanup.policy"), of(TOPIC, "assigned", "cleanup.policy"));
        alter("broker, delete the list", BROKER, "1", new Config("log.cleanup.policy", DELETE, null));
        alter("broker, unknown operation", BROKER, "1", new Config("num.io.threads", (byte) 9, "1"));
        alter("broker, bad value", BROKER, "1", set("log.retention.ms", "soon"));
        alter("broker, value out of bounds", BROKER, "1", set("log.segment.bytes", "7"));
        alter("broker, bad list value", BROKER, "1", set("log.cleanup.policy", "keep"));
        alter("broker, bad boolean", BROKER, "1", set("unclean.leader.election.enable", "maybe"));
        alter("broker, bad choice", BROKER, "1", set("compression.type", "rar"));
        alter("broker, retention of 0", BROKER, "1", set("log.retention.ms", "0"));
        alter("broker, threads more than doubled", BROKER, "1", set("num.io.threads", "17"));
        alter("broker, threads less than half", BROKER, "1", set("num.io.threads", "3"));
        alter("broker, threads 0", BROKER, "1", set("num.io.threads", "0"));
        alter("broker, threads doubled", BROKER, "1", set("num.io.threads", "16"));
        alter("broker, threads back", BROKER, "1", new Config("num.io.threads", DELETE, null));
        alter("broker, network threads tripled", BROKER, "1", set("num.network.threads", "9"));
        alter("broker, cleaner threads tripled", BROKER, "1", set("log.cleaner.threads", "3"));
        alter("broker, cleaner threads 0", BROKER, "1", set("log.cleaner.threads", "0"));
        alter("broker, min.insync.replicas", BROKER, "1", set("min.insync.replicas", "2"));
        alter("cluster default, min.insync.replicas", BROKER, "", set("min.insync.replicas", "2"));
        describe("topic after min.insync.replicas", 4, true, of(TOPIC, "assigned", "min.insync.replicas"));
        alter("cluster default, min.insync.replicas removed", BROKER, "", new Config("min.insync.replicas", DELETE, null));
        alter("broker, security key without a listener", BROKER, "1", set("ssl.keystore.location", "/tmp/x"));
        alter("cluster default, security key without a listener", BROKER, "", set("ssl.keystore.type", "PKCS12"));
        alter("cluster default, per-broker key", BROKER, "", set("listeners", "PLAINTEXT://:1"));
        alter("cluster default, two per-broker keys", BROKER, "", set("principal.builder.class", "x"));
        alter("broker, cordoned.log.dirs", BROKER, "1", set("cordoned.log.dirs", "/nowhere"));
        alter("broker, throttle", BROKER, "1", set("leader.replication.throttled.rate", "1000"));
        describe("broker after throttle", 4, true, of(BROKER, "1", "leader.replication.throttled.rate"));
        alter("broker, bad throttle", BROKER, "1", set("leader.replication.throttled.rate", "-1"));
        alter("broker, throttle removed", BROKER, "1", new Config("leader.replication.throttled.rate", DELETE, null));
        alter("broker, max.connections", BROKER, "1", set("max.connections", "100"));
        alter("broker, producer id expiration", BROKER, "1", set("producer.id.expiration.ms", "0"));
        alter("broker, log.local.retention.ms above log.retention.ms", BROKER, "1", set("log.local.retention.ms", "99999999"));
        alter("broker, log.local.retention.ms -1", BROKER, "1", set("log.local.retention.ms", "-1"));
        alter("other broker", BROKER, "2", set("log.retention.ms", "1"));
        alter("broker with another name", BROKER, "one", set("log.retention.ms", "1"));
        alter("broker, null", BROKER, "1", set("log.retention.ms", null));
        alter("broker, nothing", BROKER, "1");
        alter("broker, validate only", true, new Change(BROKER, "1", set("log.retention.ms", "5")));
        alter("broker, delete all", BROKER, "1", new Config("log.retention.ms", DELETE, null), new Config("max.connections", DELETE, null));
        alter("cluster default, delete all", BROKER, "", new Config("log.retention.ms", DELETE, null), new Config("message.max.bytes", DELETE, null));
        describe("broker, all at the end", 4, true, of(BROKER, "1"));
    }

    static void otherResources() throws Exception {
        alter("logger, set", BROKER_LOGGER, "1", set("root", "WARN"));
        describe("root logger after set", 4, true, of(BROKER_LOGGER, "1", "root"));
        alter("logger, validate only", true, new Change(BROKER_LOGGER, "1", set("root", "INFO")));
        alter("logger, bad level", BROKER_LOGGER, "1", set("root", "LOUD"));
        alter("logger, unknown", BROKER_LOGGER, "1", set("no.such.logger", "INFO"));
        alter("logger, delete root", BROKER_LOGGER, "1", new Config("root", DELETE, null));
        alter("logger, append", BROKER_LOGGER, "1", new Config("root", APPEND, "INFO"));
        alter("logger, subtract", BROKER_LOGGER, "1", new Config("root", SUBTRACT, "INFO"));
        alter("logger, unknown operation", BROKER_LOGGER, "1", new Config("root", (byte) 9, "INFO"));
        alter("logger of another broker", BROKER_LOGGER, "2", set("root", "WARN"));
        alter("logger of a broker named", BROKER_LOGGER, "one", set("root", "WARN"));
        alter("client metrics of no name", CLIENT_METRICS, "", set("interval.ms", "1000"));
        alter("client metrics, unknown key", CLIENT_METRICS, "m", set("nope", "1"));
        alter("client metrics, interval too short", CLIENT_METRICS, "m", set("interval.ms", "99"));
        alter("client metrics, bad interval", CLIENT_METRICS, "m", set("interval.ms", "x"));
        alter("client metrics, bad match", CLIENT_METRICS, "m", set("match", "nope=1"));
        alter("client metrics, match without a value", CLIENT_METRICS, "m", set("match", "client_id"));
        alter("client metrics, twice the same metric", CLIENT_METRICS, "m", set("metrics", "a,a"));
        alter("client metrics, set", CLIENT_METRICS, "m", set("interval.ms", "1000"), set("metrics", "org.apache.kafka"), set("match", "client_id=a.*"));
        describe("client metrics after set", 4, true, of(CLIENT_METRICS, "m"));
        alter("client metrics, append", CLIENT_METRICS, "m", new Config("metrics", APPEND, "b"));
        list(0);
        alter("client metrics, delete all", CLIENT_METRICS, "m", new Config("interval.ms", DELETE, null), new Config("metrics", DELETE, null), new Config("match", DELETE, null));
        list(0);
        alter("group of no name", GROUP, "", set("consumer.session.timeout.ms", "50000"));
        alter("group, unknown key", GROUP, "g", set("nope", "1"));
        alter("group, bad value", GROUP, "g", set("consumer.session.timeout.ms", "x"));
        alter("group, session timeout below the broker's", GROUP, "g", set("consumer.session.timeout.ms", "1"));
        alter("group, session timeout above the broker's", GROUP, "g", set("consumer.session.timeout.ms", "60001"));
        alter("group, heartbeat above the broker's", GROUP, "g", set("consumer.heartbeat.interval.ms", "15001"));
        alter("group, share lock too long", GROUP, "g", set("share.record.lock.duration.ms", "60001"));
        alter("group, streams standby", GROUP, "g", set("streams.num.standby.replicas", "3"));
        alter("group, bad isolation", GROUP, "g", set("share.isolation.level", "none"));
        alter("group, share offset reset", GROUP, "g", set("share.auto.offset.reset", "never"));
        alter("group, set", GROUP, "g", set("consumer.session.timeout.ms", "50000"), set("share.isolation.level", "read_committed"));
        describe("group after set", 4, true, of(GROUP, "g", "consumer.session.timeout.ms", "share.isolation.level", "share.auto.offset.reset"));
        list(1, GROUP);
        alter("group, delete all", GROUP, "g", new Config("consumer.session.timeout.ms", DELETE, null), new Config("share.isolation.level", DELETE, null));
        alter("unknown type", UNKNOWN, "x", set("a", "b"));
        alter("type 99", 99, "x", set("a", "b"));
    }

    static void replacing() throws Exception {
        for (int version = 0; version <= 2; version++) {
            replace("topic", version, false, new Change(TOPIC, "plain", set("retention.ms", "10" + version)));
        }
        describe("topic after replacing", 4, true, of(TOPIC, "plain", "retention.ms", "flush.ms", "max.message.bytes", "min.insync.replicas"));
        replace("topic, validate only", 2, true, new Change(TOPIC, "plain"));
        replace("topic, bad value", 2, false, new Change(TOPIC, "plain", set("retention.ms", "x")));
        replace("topic, null", 2, false, new Change(TOPIC, "plain", set("retention.ms", null)));
        replace("topic, unknown key", 2, false, new Change(TOPIC, "plain", set("nope", "x")));
        replace("unknown topic", 2, false, new Change(TOPIC, "nope", set("retention.ms", "1")));
        replace("one topic twice", 2, false, new Change(TOPIC, "plain"), new Change(TOPIC, "plain"));
        replace("topic, nothing", 2, false, new Change(TOPIC, "plain"));
        describe("topic after replacing by nothing", 4, true, of(TOPIC, "plain", "retention.ms"));
        replace("broker", 2, false, new Change(BROKER, "1", set("log.retention.ms", "100")));
        replace("broker, nothing", 2, false, new Change(BROKER, "1"));
        replace("broker, read-only", 2, false, new Change(BROKER, "1", set("node.id", "2")));
        replace("cluster default, nothing", 2, false, new Change(BROKER, ""));
        replace("cluster default with min.insync.replicas", 2, false, new Change(BROKER, "", set("min.insync.replicas", "1"), set("log.retention.ms", "500000")));
        describe("cluster default after replacing", 4, true, of(BROKER, ""));
        replace("cluster default back", 2, false, new Change(BROKER, "", set("min.insync.replicas", "1")));
        replace("logger", 2, false, new Change(BROKER_LOGGER, "1", set("root", "WARN")));
        replace("unknown type", 2, false, new Change(UNKNOWN, "x"));
    }

    static void partitioning() throws Exception {
        partitions("more", 3, false, more("plain", 3));
        partitions("as many", 3, false, more("plain", 3));
        partitions("fewer", 3, false, more("plain", 2));
        partitions("none", 3, false, more("plain", 0));
        partitions("unknown topic", 3, false, more("nope", 2));
        partitions("validate only", 3, true, more("plain", 9));
        partitions("after validate only", 3, true, more("plain", 3));
        partitions("assigned", 3, false, more("plain", 5, List.of(1), List.of(1)));
        partitions("assigned, too few", 3, false, more("plain", 7, List.of(1)));
        partitions("assigned to a broker that is not there", 3, false, more("plain", 6, List.of(2)));
        partitions("assigned twice to one broker", 3, false, more("plain", 6, List.of(1, 1)));
        partitions("assigned to nobody", 3, false, more("plain", 6, List.of()));
        partitions("the same topic twice", 3, false, more("plain", 6), more("plain", 7));
        partitions("two topics, one bad", 1, false, more("tuned", 1), more("old", 2));
        partitions("v0", 0, false, more("old", 3));
        partitions("10001 more", 3, true, more("old", 10_100));
        partitions("nothing", 3, false);
    }

    static void deleting() throws Exception {
        delete("by name", 1, "old");
        delete("unknown", 1, "old");
        delete("unknown", 3, "old");
        delete("unknown", 5, "old");
        delete("by id", state(null, IDS.get("tuned")));
        delete("by id again", state(null, IDS.get("tuned")));
        delete("by name", state("inner", Uuid.ZERO_UUID));
        delete("one name twice", state("plain", Uuid.ZERO_UUID), state("plain", Uuid.ZERO_UUID));
        delete("one id twice", state(null, IDS.get("plain")), state(null, IDS.get("plain")));
        delete("name and id of one topic", state("plain", Uuid.ZERO_UUID), state(null, IDS.get("plain")));
        delete("name and id together", state("plain", IDS.get("plain")));
        delete("neither", state(null, Uuid.ZERO_UUID));
        delete("a name that cannot be", state("a/b", Uuid.ZERO_UUID));
        delete("nothing");
        describe("topic that is gone", 4, true, of(TOPIC, "tuned"));
        alter("topic that is gone", TOPIC, "tuned", set("retention.ms", "1"));
        create("again", 7, false, topic("tuned", 1, 1));
        describe("topic that came again", 4, true, of(TOPIC, "tuned", "retention.ms"));
    }
}
