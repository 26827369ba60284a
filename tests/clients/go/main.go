// franz-go against our broker; tests/clients/README.md says what is printed. Arguments: bootstrap, prefix.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const patience = 20 * time.Second

var bootstrap, prefix string

// What was read: a number of records and the SHA-256 of their lines.
type read struct {
	Count  int    `json:"count"`
	Sha256 string `json:"sha256"`
}

// Runs one row and prints it.
func row(what string, call func(ctx context.Context) (*read, error)) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	told := map[string]any{"what": what}
	found, err := call(ctx)
	if err != nil {
		told["error"] = err.Error()
	} else if found != nil {
		told["count"], told["sha256"] = found.Count, found.Sha256
	}
	line, _ := json.Marshal(told)
	fmt.Println(string(line))
}

// A row that reads nothing back.
func check(what string, call func(ctx context.Context) error) {
	row(what, func(ctx context.Context) (*read, error) { return nil, call(ctx) })
}

// The i-th record; tests/clients/records.mjs has the same.
func record(topic string, i int) *kgo.Record {
	r := &kgo.Record{Topic: topic, Partition: 0}
	if i%4 != 0 {
		r.Key = []byte(fmt.Sprint("k", i))
	}
	if i%5 != 2 {
		r.Value = []byte(fmt.Sprint("value ", i, strings.Repeat("x", i%50)))
	}
	if i%3 == 0 {
		r.Headers = []kgo.RecordHeader{{Key: "h", Value: []byte("1")}, {Key: "n"}}
	}
	return r
}

func records(topic string, count int) (all []*kgo.Record) {
	for i := 0; i < count; i++ {
		all = append(all, record(topic, i))
	}
	return all
}

func text(before string, data []byte) string {
	if data == nil {
		return "null"
	}
	return before + string(data)
}

func line(r *kgo.Record) string {
	var headers []string
	for _, h := range r.Headers {
		headers = append(headers, h.Key+"="+text("", h.Value))
	}
	return text("k:", r.Key) + "\t" + text("v:", r.Value) + "\t" + strings.Join(headers, ",") + "\n"
}

func client(options ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(bootstrap), kgo.RetryTimeout(patience)}, options...)...)
}

func roundTrip(ctx context.Context, topic string, all []*kgo.Record, options ...kgo.Opt) (*read, error) {
	producer, err := client(append(options, kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	if err != nil {
		return nil, err
	}
	defer producer.Close()
	if err := producer.ProduceSync(ctx, all...).FirstErr(); err != nil {
		return nil, err
	}
	consumer, err := client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}))
	if err != nil {
		return nil, err
	}
	defer consumer.Close()
	digest, count := sha256.New(), 0
	for count < len(all) && ctx.Err() == nil {
		fetches := consumer.PollFetches(ctx)
		for _, failed := range fetches.Errors() {
			if ctx.Err() == nil {
				return nil, failed.Err
			}
		}
		fetches.EachRecord(func(r *kgo.Record) {
			digest.Write([]byte(line(r)))
			count++
		})
	}
	return &read{count, fmt.Sprintf("%x", digest.Sum(nil))}, nil
}

func main() {
	bootstrap, prefix = os.Args[1], os.Args[2]
	codecs := []struct {
		name  string
		codec kgo.CompressionCodec
	}{
		{"none", kgo.NoCompression()}, {"gzip", kgo.GzipCompression()}, {"snappy", kgo.SnappyCompression()},
		{"lz4", kgo.Lz4Compression()}, {"zstd", kgo.ZstdCompression()},
	}
	acks := []struct {
		name string
		acks kgo.Acks
	}{{"0", kgo.NoAck()}, {"1", kgo.LeaderAck()}, {"all", kgo.AllISRAcks()}}
	names := []string{"idempotent", "large", "admin"}
	for _, codec := range codecs {
		for _, ack := range acks {
			names = append(names, codec.name+"-"+ack.name)
		}
	}
	for i := range names {
		names[i] = prefix + "-" + names[i]
	}
	connection, err := client()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	admin := kadm.NewClient(connection)
	defer admin.Close()
	check("CreateTopics", func(ctx context.Context) error {
		created, err := admin.CreateTopics(ctx, 1, 1, nil, names...)
		if err != nil {
			return err
		}
		return created.Error()
	})
	for _, codec := range codecs {
		for _, ack := range acks {
			topic := prefix + "-" + codec.name + "-" + ack.name
			row(codec.name+", acks="+ack.name, func(ctx context.Context) (*read, error) {
				return roundTrip(ctx, topic, records(topic, 2_000),
					kgo.ProducerBatchCompression(codec.codec), kgo.RequiredAcks(ack.acks), kgo.DisableIdempotentWrite())
			})
		}
	}
	row("idempotent, 100,000 records", func(ctx context.Context) (*read, error) {
		return roundTrip(ctx, names[0], records(names[0], 100_000), kgo.ProducerBatchCompression(kgo.NoCompression()),
			kgo.MaxBufferedRecords(200_000))
	})
	row("1 MB record", func(ctx context.Context) (*read, error) {
		large := &kgo.Record{Topic: names[1], Key: []byte("big"), Value: []byte(strings.Repeat("abcdefghij", 100_000))}
		// Its own limit is 1,000,012 bytes for a batch, of which the batch itself takes some.
		return roundTrip(ctx, names[1], []*kgo.Record{large}, kgo.ProducerBatchCompression(kgo.NoCompression()),
			kgo.ProducerBatchMaxBytes(1_048_576))
	})
	administer(connection, admin, names[2])
}

func administer(connection *kgo.Client, admin *kadm.Client, topic string) {
	none := kgo.ProducerBatchCompression(kgo.NoCompression())
	if _, err := roundTrip(context.Background(), topic, records(topic, 100), none); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	check("Metadata", func(ctx context.Context) error {
		topics, err := admin.ListTopics(ctx)
		if err == nil && !topics.Has(topic) {
			err = errors.New("the topic is not listed")
		}
		return err
	})
	check("DescribeTopicPartitions", func(ctx context.Context) error {
		request := kmsg.NewPtrDescribeTopicPartitionsRequest()
		request.Topics = append(request.Topics, kmsg.DescribeTopicPartitionsRequestTopic{Topic: topic})
		request.ResponsePartitionLimit = 2000
		response, err := request.RequestWith(ctx, connection)
		if err == nil && (len(response.Topics) != 1 || len(response.Topics[0].Partitions) != 1) {
			err = fmt.Errorf("%+v", response)
		}
		return err
	})
	check("DescribeCluster", func(ctx context.Context) error {
		response, err := kmsg.NewPtrDescribeClusterRequest().RequestWith(ctx, connection)
		if err == nil && len(response.Brokers) != 1 {
			err = fmt.Errorf("%d brokers", len(response.Brokers))
		}
		return err
	})
	check("CreatePartitions", func(ctx context.Context) error {
		updated, err := admin.UpdatePartitions(ctx, 3, topic)
		if err != nil {
			return err
		}
		return updated.Error()
	})
	value := "123456"
	check("IncrementalAlterConfigs", func(ctx context.Context) error {
		altered, err := admin.AlterTopicConfigs(ctx, []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "retention.ms", Value: &value}}, topic)
		if err == nil {
			err = altered[0].Err
		}
		return err
	})
	check("AlterConfigs", func(ctx context.Context) error {
		altered, err := admin.AlterTopicConfigsState(ctx, []kadm.AlterConfig{{Name: "retention.ms", Value: &value}}, topic)
		if err == nil {
			err = altered[0].Err
		}
		return err
	})
	check("DescribeConfigs", func(ctx context.Context) error {
		found, err := admin.DescribeTopicConfigs(ctx, topic)
		if err != nil {
			return err
		}
		for _, config := range found[0].Configs {
			if config.Key == "retention.ms" && config.MaybeValue() == value {
				return found[0].Err
			}
		}
		return fmt.Errorf("retention.ms is not %s: %v", value, found[0].Err)
	})
	check("DescribeConfigs of the broker", func(ctx context.Context) error {
		found, err := admin.DescribeBrokerConfigs(ctx, 1)
		if err == nil && len(found[0].Configs) < 100 {
			err = fmt.Errorf("%d configs: %v", len(found[0].Configs), found[0].Err)
		}
		return err
	})
	check("ListConfigResources", func(ctx context.Context) error {
		response, err := kmsg.NewPtrListConfigResourcesRequest().RequestWith(ctx, connection)
		if err == nil {
			err = kerr.ErrorForCode(response.ErrorCode)
		}
		return err
	})
	check("ListOffsets", func(ctx context.Context) error {
		start, err := admin.ListStartOffsets(ctx, topic)
		if err != nil {
			return err
		}
		end, err := admin.ListEndOffsets(ctx, topic)
		if err != nil {
			return err
		}
		first, _ := start.Lookup(topic, 0)
		last, _ := end.Lookup(topic, 0)
		if first.Offset != 0 || last.Offset != 100 {
			return fmt.Errorf("start %d, end %d", first.Offset, last.Offset)
		}
		return nil
	})
	check("OffsetForLeaderEpoch", func(ctx context.Context) error {
		var request kadm.OffsetForLeaderEpochRequest
		request.Add(topic, 0, 0)
		found, err := admin.OffsetForLeaderEpoch(ctx, request)
		if err == nil && found[topic][0].EndOffset != 100 {
			err = fmt.Errorf("%+v", found)
		}
		return err
	})
	check("DescribeProducers", func(ctx context.Context) error {
		found, err := admin.DescribeProducers(ctx, kadm.TopicsSet{topic: {0: {}}})
		if err == nil && len(found[topic].Partitions[0].ActiveProducers) != 1 {
			err = fmt.Errorf("%+v", found)
		}
		return err
	})
	check("DescribeLogDirs", func(ctx context.Context) error {
		found, err := admin.DescribeAllLogDirs(ctx, kadm.TopicsSet{topic: {0: {}}})
		if err == nil && found[1].Error() != nil {
			err = found[1].Error()
		}
		return err
	})
	check("DeleteRecords", func(ctx context.Context) error {
		offsets := kadm.Offsets{}
		offsets.Add(kadm.Offset{Topic: topic, Partition: 0, At: 40})
		found, err := admin.DeleteRecords(ctx, offsets)
		if err == nil && found[topic][0].LowWatermark != 40 {
			err = fmt.Errorf("low watermark %d: %v", found[topic][0].LowWatermark, found[topic][0].Err)
		}
		return err
	})
	check("ElectLeaders", func(ctx context.Context) error {
		found, err := admin.ElectLeaders(ctx, kadm.ElectPreferredReplica, kadm.TopicsSet{topic: {0: {}}})
		if err == nil && !errors.Is(found[topic][0].Err, kerr.ElectionNotNeeded) {
			err = fmt.Errorf("not ELECTION_NOT_NEEDED but %v", found[topic][0].Err)
		}
		return err
	})
	check("ApiVersions, features", func(ctx context.Context) error {
		found, err := admin.ApiVersions(ctx)
		if err == nil && len(found) != 1 {
			err = fmt.Errorf("%d brokers", len(found))
		}
		return err
	})
	check("DescribeAcls", func(ctx context.Context) error {
		every := kadm.NewACLs().AnyResource().Allow().AllowHosts().Deny().DenyHosts().Operations(kadm.OpAny).ResourcePatternType(kadm.ACLPatternAny)
		found, err := admin.DescribeACLs(ctx, every)
		if err == nil && len(found) > 0 {
			err = found[0].Err
		}
		if errors.Is(err, kerr.SecurityDisabled) {
			return nil
		}
		return fmt.Errorf("not SECURITY_DISABLED but %v", err)
	})
	check("DescribeClientQuotas", func(ctx context.Context) error {
		found, err := admin.DescribeClientQuotas(ctx, false, nil)
		if err == nil && len(found) != 0 {
			err = fmt.Errorf("%+v", found)
		}
		return err
	})
	check("DeleteTopics", func(ctx context.Context) error {
		deleted, err := admin.DeleteTopics(ctx, topic)
		if err != nil {
			return err
		}
		return deleted.Error()
	})
}
