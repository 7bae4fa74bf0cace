// Package writes reads in tests the writes of resources from the history of etcd, as the truth of package watchcheck.
//
//	log := writes.New("/registry/configmaps/", "/registry/example.com/boats/")
//	err := log.Read(ctx, client)                       // as often as needed, before etcd compacts its history
//	report := stream.Check(log.Truth("/registry/configmaps/"))
//
// A Log decodes the values as they are stored, without any part of the server. Encrypted objects cannot be read. A Log is not safe for concurrent
// use.
package writes

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"

	"holdfast.dev/holdfast/internal/watchcheck"
)

// Log has the writes of some resources.
type Log struct {
	truths map[string]*watchcheck.Truth
	// names are the keys of the objects in package watchcheck, by their keys in etcd.
	names map[string]string
	// next is the first revision that is not read yet.
	next int64
}

// New returns an empty log of the resources whose keys begin with the prefixes. No prefix may begin with another one.
func New(prefixes ...string) *Log {
	l := &Log{truths: map[string]*watchcheck.Truth{}, names: map[string]string{}, next: 2} // the first write has the revision 2
	for _, prefix := range prefixes {
		l.truths[prefix] = watchcheck.NewTruth(0, nil)
	}
	return l
}

// Truth returns the writes of a resource that are read.
func (l *Log) Truth(prefix string) *watchcheck.Truth { return l.truths[prefix] }

// Next returns the first revision that is not read yet.
func (l *Log) Next() uint64 { return uint64(l.next) }

// Read reads all writes up to now. If etcd has compacted writes that are not read yet, the truth begins anew at the first revision that etcd has.
func (l *Log) Read(ctx context.Context, client *clientv3.Client) error {
	now, err := client.Get(ctx, "revision")
	if err != nil {
		return fmt.Errorf("read the revision of etcd: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for l.next <= now.Header.Revision {
		if err := l.follow(ctx, client, now.Header.Revision); err != nil {
			return err
		}
	}
	for _, truth := range l.truths {
		truth.Complete(uint64(now.Header.Revision))
	}
	return nil
}

// follow reads the writes up to a revision, or until the watch ends. Each revision is that of a write, so the watch shows the last one.
func (l *Log) follow(ctx context.Context, client *clientv3.Client, last int64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for answer := range client.Watch(ctx, "", clientv3.WithPrefix(), clientv3.WithRev(l.next)) {
		if answer.CompactRevision > 0 {
			return l.restart(ctx, client, answer.CompactRevision)
		}
		if err := answer.Err(); err != nil {
			return fmt.Errorf("watch etcd: %w", err)
		}
		for _, event := range answer.Events {
			if err := l.add(event); err != nil {
				return err
			}
			// A transaction may have more writes with this revision, which the same answer has.
			l.next = event.Kv.ModRevision + 1
		}
		if l.next > last {
			return nil
		}
	}
	return ctx.Err()
}

// add adds a write of one of the resources.
func (l *Log) add(event *clientv3.Event) error {
	truth := l.of(event.Kv.Key)
	if truth == nil {
		return nil
	}
	revision := uint64(event.Kv.ModRevision)
	if event.Type == clientv3.EventTypeDelete {
		return truth.Add(revision, l.names[string(event.Kv.Key)], nil)
	}
	object, err := l.decode(event.Kv)
	if err != nil {
		return err
	}
	return truth.Add(revision, watchcheck.KeyOf(object), object)
}

// of returns the resource of a key.
func (l *Log) of(key []byte) *watchcheck.Truth {
	for prefix, truth := range l.truths {
		if strings.HasPrefix(string(key), prefix) {
			return truth
		}
	}
	return nil
}

// restart begins anew with the objects at a revision.
func (l *Log) restart(ctx context.Context, client *clientv3.Client, revision int64) error {
	for prefix := range l.truths {
		answer, err := client.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithRev(revision))
		if err != nil {
			return fmt.Errorf("read the objects at revision %d: %w", revision, err)
		}
		var objects []watchcheck.Object
		for _, pair := range answer.Kvs {
			object, err := l.decode(pair)
			if err != nil {
				return err
			}
			objects = append(objects, object)
		}
		l.truths[prefix] = watchcheck.NewTruth(uint64(revision), objects)
	}
	l.next = revision + 1
	return nil
}

// decode decodes a stored object, which is JSON or protobuf.
func (l *Log) decode(pair *mvccpb.KeyValue) (watchcheck.Object, error) {
	text := pair.Value
	if !strings.HasPrefix(string(text), "{") {
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(pair.Value, nil, nil)
		if err != nil {
			return nil, fmt.Errorf("decode %s: %w", pair.Key, err)
		}
		if text, err = json.Marshal(object); err != nil {
			return nil, fmt.Errorf("encode %s: %w", pair.Key, err)
		}
	}
	var object watchcheck.Object
	if err := json.Unmarshal(text, &object); err != nil {
		return nil, fmt.Errorf("decode %s: %w", pair.Key, err)
	}
	revision := strconv.FormatInt(pair.ModRevision, 10)
	l.names[string(pair.Key)] = watchcheck.KeyOf(object)
	return object, unstructured.SetNestedField(object, revision, "metadata", "resourceVersion")
}
