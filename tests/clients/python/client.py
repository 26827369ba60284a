"""confluent-kafka against our broker; tests/clients/README.md says what is printed. Arguments: bootstrap, prefix."""

import hashlib
import json
import sys
import time

from confluent_kafka import (
    Consumer,
    ElectionType,
    IsolationLevel,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourcePatternType,
    ResourceType,
)

BOOTSTRAP, PREFIX = sys.argv[1:3]
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
ACKS = ["0", "1", "all"]
SECONDS = 20


def row(what, call):
    """A string that is returned is why it failed, a dict what was read."""
    try:
        told = call()
        if isinstance(told, str):
            told = {"error": told}
    except Exception as error:  # every failure is a row of the table
        told = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps({"what": what, **(told or {})}), flush=True)


def records(count):
    """tests/clients/records.mjs has the same."""
    for i in range(count):
        key = None if i % 4 == 0 else f"k{i}"
        value = None if i % 5 == 2 else f"value {i}{'x' * (i % 50)}"
        yield key, value, [("h", b"1"), ("n", None)] if i % 3 == 0 else []


def text(before, data):
    return "null" if data is None else before + data.decode()


def line(message):
    headers = ",".join(f"{name}={text('', value)}" for name, value in message.headers() or [])
    return f"{text('k:', message.key())}\t{text('v:', message.value())}\t{headers}\n"


def round_trip(topic, all_records, **settings):
    producer = Producer({"bootstrap.servers": BOOTSTRAP, "message.max.bytes": 2_000_000, **settings})
    failures = []
    sent = 0
    for key, value, headers in all_records:
        told = lambda error, _: failures.append(str(error)) if error else None
        while True:
            try:
                producer.produce(topic, value, key, partition=0, headers=headers, on_delivery=told)
                break
            except BufferError:
                producer.poll(0.1)
        sent += 1
        producer.poll(0)
    if left := producer.flush(SECONDS):
        return f"{left} records were not delivered"
    return failures[0] if failures else read(topic, sent)


def read(topic, wanted):
    consumer = Consumer({"bootstrap.servers": BOOTSTRAP, "group.id": PREFIX, "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, 0)])
    digest, count, deadline = hashlib.sha256(), 0, time.monotonic() + SECONDS
    while count < wanted and time.monotonic() < deadline:
        for message in consumer.consume(1000, 0.2):
            if message.error():
                return str(message.error())
            digest.update(line(message).encode())
            count += 1
    consumer.close()
    return {"count": count, "sha256": digest.hexdigest()}


def one(futures):
    """The result of the only future of a call."""
    (future,) = futures.values()
    return future.result(SECONDS)


def administer(admin, topic):
    partition = TopicPartition(topic, 0)
    config = ConfigResource(ConfigResource.Type.TOPIC, topic)
    round_trip(topic, records(100))

    def describe():
        found = one(admin.describe_topics(TopicCollection([topic])))
        if topic not in admin.list_topics(timeout=SECONDS).topics:
            return "the topic is not listed"
        return None if len(found.partitions) == 1 else f"{len(found.partitions)} partitions"

    row("Metadata", describe)
    row("DescribeCluster", lambda: None if len(admin.describe_cluster().result(SECONDS).nodes) == 1 else "not one node")

    def create_partitions():
        one(admin.create_partitions([NewPartitions(topic, 3)]))
        count = len(admin.list_topics(timeout=SECONDS).topics[topic].partitions)
        return None if count == 3 else f"{count} partitions"

    row("CreatePartitions", create_partitions)

    def alter(name, value, incremental):
        entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[entry])
        if not incremental:
            resource = ConfigResource(ConfigResource.Type.TOPIC, topic, set_config={name: value})
        one(admin.incremental_alter_configs([resource]) if incremental else admin.alter_configs([resource]))

    row("AlterConfigs", lambda: alter("retention.ms", "654321", False))
    row("IncrementalAlterConfigs", lambda: alter("retention.ms", "123456", True))

    def describe_configs():
        value = one(admin.describe_configs([config]))["retention.ms"].value
        return None if value == "123456" else f"retention.ms is {value}"

    row("DescribeConfigs", describe_configs)

    def describe_broker():
        found = one(admin.describe_configs([ConfigResource(ConfigResource.Type.BROKER, "1")]))
        return None if "log.segment.bytes" in found else "no log.segment.bytes"

    row("DescribeConfigs of the broker", describe_broker)

    def list_offsets():
        specs = [OffsetSpec.earliest(), OffsetSpec.latest(), OffsetSpec.max_timestamp(), OffsetSpec.for_timestamp(0)]
        level = {"isolation_level": IsolationLevel.READ_UNCOMMITTED}
        found = [one(admin.list_offsets({partition: spec}, **level)).offset for spec in specs]
        right = found[0] == 0 and found[1] == 100 and found[2] >= 0 and found[3] == 0
        return None if right else f"earliest, latest, of the latest time, of time 0: {found}"

    row("ListOffsets", list_offsets)

    def delete_records():
        low = one(admin.delete_records([TopicPartition(topic, 0, 40)])).low_watermark
        return None if low == 40 else f"low watermark {low}"

    row("DeleteRecords", delete_records)

    def elect_leaders():
        (error,) = admin.elect_leaders(ElectionType.PREFERRED, [partition]).result(SECONDS).values()
        return None if error and error.name() == "ELECTION_NOT_NEEDED" else f"not ELECTION_NOT_NEEDED but {error}"

    row("ElectLeaders", elect_leaders)

    def describe_acls():
        every = AclBindingFilter(
            ResourceType.ANY, None, ResourcePatternType.ANY, None, None, AclOperation.ANY, AclPermissionType.ANY
        )
        # librdkafka drops the broker's SECURITY_DISABLED: of Apache Kafka, too, it tells an empty list.
        found = admin.describe_acls(every).result(SECONDS)
        return None if found == [] else f"{found}"

    row("DescribeAcls", describe_acls)

    def delete_topics():
        one(admin.delete_topics([topic]))
        return "the topic is still listed" if topic in admin.list_topics(timeout=SECONDS).topics else None

    row("DeleteTopics", delete_topics)


def main():
    admin = AdminClient({"bootstrap.servers": BOOTSTRAP})
    topics = [f"{PREFIX}-idempotent", f"{PREFIX}-large", f"{PREFIX}-admin"]
    topics += [f"{PREFIX}-{codec}-{acks}" for codec in CODECS for acks in ACKS]

    def create():
        for future in admin.create_topics([NewTopic(topic, 1, 1) for topic in topics]).values():
            future.result(SECONDS)

    row("CreateTopics", create)
    for codec in CODECS:
        for acks in ACKS:
            topic = f"{PREFIX}-{codec}-{acks}"
            settings = {"compression.type": codec, "acks": acks}
            row(f"{codec}, acks={acks}", lambda: round_trip(topic, records(2_000), **settings))
    idempotent = {"enable.idempotence": True}
    row("idempotent, 100,000 records", lambda: round_trip(topics[0], records(100_000), **idempotent))
    large = [("big", "abcdefghij" * 100_000, [])]
    row("1 MB record", lambda: round_trip(topics[1], large))
    administer(admin, topics[2])


main()
