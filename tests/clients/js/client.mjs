// kafkajs against our broker; tests/clients/README.md says what is printed. It reads only in groups, so kcat reads what
// it sent. Arguments: bootstrap, prefix, the folder that has kafkajs in its node_modules.
import { createRequire } from "node:module";
import { join } from "node:path";
import { LARGE, records } from "../records.mjs";

const [bootstrap, prefix, home] = process.argv.slice(2);
const {
  AclOperationTypes,
  AclPermissionTypes,
  AclResourceTypes,
  CompressionTypes,
  ConfigResourceTypes,
  Kafka,
  ResourcePatternTypes,
  logLevel,
} = createRequire(join(home, "package.json"))("kafkajs");

const CODECS = { none: CompressionTypes.None, gzip: CompressionTypes.GZIP };
const ACKS = { 0: 0, 1: 1, all: -1 };

/** Runs one row. A string that is returned is why it failed; a number, how many records kcat is to read from `topic`. */
async function row(what, call, topic) {
  let told = {};
  try {
    const result = await call();
    if (typeof result === "string") told = { error: result };
    if (typeof result === "number") told = { topic, sent: result };
  } catch (error) {
    told = { error: `${error.name}: ${error.message}` };
  }
  console.log(JSON.stringify({ what, ...told }));
}

async function main() {
  const kafka = new Kafka({
    brokers: [bootstrap],
    clientId: prefix,
    logLevel: logLevel.NOTHING,
    retry: { retries: 3 },
  });
  const admin = kafka.admin();
  await admin.connect();

  const messages = (list) =>
    Array.from(list, ({ key, value, headers }) => ({
      key,
      value,
      partition: 0,
      // kafkajs has no null in headers: it writes an empty text there. So only the first header is sent.
      headers: Object.fromEntries(headers.filter(([, content]) => content !== null)),
    }));
  const send = async (topic, list, settings, batch = 10_000) => {
    const { idempotent = false, ...options } = settings;
    const producer = kafka.producer({ idempotent, allowAutoTopicCreation: false });
    await producer.connect();
    const all = messages(list);
    for (let at = 0; at < all.length; at += batch)
      await producer.send({ topic, messages: all.slice(at, at + batch), ...options });
    await producer.disconnect();
    return all.length;
  };

  const names = ["idempotent", "large", "admin"];
  for (const codec of Object.keys(CODECS)) for (const acks of Object.keys(ACKS)) names.push(`${codec}-${acks}`);
  await row("CreateTopics", async () => {
    const topics = names.map((name) => ({ topic: `${prefix}-${name}`, numPartitions: 1, replicationFactor: 1 }));
    await admin.createTopics({ topics, waitForLeaders: true });
  });
  for (const [codec, compression] of Object.entries(CODECS))
    for (const [acks, number] of Object.entries(ACKS)) {
      const topic = `${prefix}-${codec}-${acks}`;
      await row(`${codec}, acks=${acks}`, () => send(topic, records(2_000), { compression, acks: number }), topic);
    }
  const [idempotent, large, topic] = names.map((name) => `${prefix}-${name}`);
  await row(
    "idempotent, 100,000 records",
    () => send(idempotent, records(100_000), { idempotent: true, acks: -1 }),
    idempotent,
  );
  await row("1 MB record", () => send(large, LARGE, { acks: -1 }), large);
  await send(topic, records(100), { acks: -1 });

  await row("Metadata", async () => ((await admin.listTopics()).includes(topic) ? null : "the topic is not listed"));
  await row("DescribeCluster", async () =>
    (await admin.describeCluster()).brokers.length === 1 ? null : "not one broker",
  );
  await row("CreatePartitions", async () => {
    await admin.createPartitions({ topicPartitions: [{ topic, count: 3 }] });
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
    return topics[0].partitions.length === 3 ? null : `${topics[0].partitions.length} partitions`;
  });
  await row("AlterConfigs", () =>
    admin
      .alterConfigs({
        validateOnly: false,
        resources: [
          { type: ConfigResourceTypes.TOPIC, name: topic, configEntries: [{ name: "retention.ms", value: "123456" }] },
        ],
      })
      .then(() => null),
  );
  await row("DescribeConfigs", async () => {
    const { resources } = await admin.describeConfigs({
      includeSynonyms: true,
      resources: [{ type: ConfigResourceTypes.TOPIC, name: topic }],
    });
    const found = resources[0].configEntries.find(({ configName }) => configName === "retention.ms");
    return found?.configValue === "123456" ? null : `retention.ms is ${found?.configValue}`;
  });
  await row("ListOffsets", async () => {
    const [found] = (await admin.fetchTopicOffsets(topic)).filter(({ partition }) => partition === 0);
    return found.low === "0" && found.high === "100" ? null : JSON.stringify(found);
  });
  await row("DeleteRecords", async () => {
    await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: "40" }] });
    const [found] = (await admin.fetchTopicOffsets(topic)).filter(({ partition }) => partition === 0);
    return found.low === "40" ? null : `low watermark ${found.low}`;
  });
  await row("DescribeAcls", async () => {
    try {
      await admin.describeAcls({
        resourceType: AclResourceTypes.ANY,
        resourcePatternType: ResourcePatternTypes.ANY,
        operation: AclOperationTypes.ANY,
        permissionType: AclPermissionTypes.ANY,
      });
    } catch (error) {
      return error.type === "SECURITY_DISABLED" ? null : `not SECURITY_DISABLED but ${error.message}`;
    }
    return "not refused";
  });
  await row("DeleteTopics", async () => {
    await admin.deleteTopics({ topics: [topic] });
    return (await admin.listTopics()).includes(topic) ? "the topic is still listed" : null;
  });
  await admin.disconnect();
}

await main();
