package faults_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"holdfast.dev/holdfast/internal/waittest"
)

// connectMember returns a client of one member.
func connectMember(t *testing.T, m *member) *clientv3.Client {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{m.url}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// mustPut writes a key and returns the revision of the write. A member without a leader is asked again.
func mustPut(t *testing.T, client *clientv3.Client, key, value string) int64 {
	t.Helper()
	var revision int64
	waittest.Until(t, "etcd stores "+key, func() error {
		answer, err := client.Put(t.Context(), key, value)
		if err == nil {
			revision = answer.Header.Revision
		}
		return err
	})
	return revision
}

// follow reads the events of a watch until it has one with the last revision. It returns their revisions.
func follow(t *testing.T, watch clientv3.WatchChan, last int64) []int64 {
	t.Helper()
	var revisions []int64
	for len(revisions) == 0 || revisions[len(revisions)-1] < last {
		response := waittest.Receive(t, fmt.Sprintf("events of a watch up to revision %d", last), watch)
		if err := response.Err(); err != nil {
			t.Fatalf("a watch ended after %d events: %v", len(revisions), err)
		}
		for _, event := range response.Events {
			revisions = append(revisions, event.Kv.ModRevision)
		}
		// A notification of progress says that all events up to its revision were sent.
		if response.IsProgressNotify() && len(revisions) > 0 && response.Header.Revision < revisions[len(revisions)-1] {
			t.Fatalf("a notification has revision %d after an event with %d", response.Header.Revision, revisions[len(revisions)-1])
		}
	}
	return revisions
}

// checkRevisions checks that a watch had one event for each revision from the first to the last.
func checkRevisions(t *testing.T, what string, revisions []int64, first, last int64) {
	t.Helper()
	for i, revision := range revisions {
		if revision != first+int64(i) {
			t.Fatalf("%s: event %d has revision %d, want %d", what, i, revision, first+int64(i))
		}
	}
	if n := int64(len(revisions)); n != last-first+1 {
		t.Errorf("%s: %d events, want %d", what, n, last-first+1)
	}
}

// etcd 15271: a member that was cut off got a snapshot from the leader, and its watches then showed old events again. etcd 20221: a watch from
// a later revision on such a member got events and notifications from before that revision.
func TestEtcd15271And20221(t *testing.T) {
	t.Parallel()
	const cutOff = 300
	etcd := startCluster(t, 3, "--snapshot-count=50", "--snapshot-catchup-entries=50", "--watch-progress-notify-interval=100ms")
	leader := etcd.leader(t)
	lagging := (leader + 1) % 3
	writer, reader := connectMember(t, etcd.members[leader]), connectMember(t, etcd.members[lagging])
	first := mustPut(t, writer, "key/0", "0")
	watch := reader.Watch(t.Context(), "key/", clientv3.WithPrefix(), clientv3.WithRev(first), clientv3.WithProgressNotify(), clientv3.WithPrevKV())
	checkRevisions(t, "a watch of the whole cluster", follow(t, watch, first), first, first)

	etcd.links.isolate(lagging)
	later := reader.Watch(t.Context(), "key/", clientv3.WithPrefix(), clientv3.WithRev(first+cutOff/2), clientv3.WithProgressNotify(), clientv3.WithCreatedNotify())
	if created := waittest.Receive(t, "the watch from a later revision", later); !created.Created {
		t.Fatalf("the first response is %+v", created)
	}
	for i := range cutOff {
		mustPut(t, writer, fmt.Sprintf("key/%d", i%10), fmt.Sprint(i))
	}
	etcd.links.heal()
	waittest.Until(t, "the member has got a snapshot", func() error { return hasSnapshot(t.Context(), etcd.members[lagging]) })
	last := mustPut(t, writer, "key/0", "last")
	checkRevisions(t, "the watch of a member that got a snapshot", follow(t, watch, last), first+1, last)
	checkRevisions(t, "a watch from a later revision", follow(t, later, last), first+cutOff/2, last)
}

var errNoSnapshot = errors.New("the member has got no snapshot")

// hasSnapshot returns an error unless a member has received a snapshot from another one.
func hasSnapshot(ctx context.Context, m *member) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, m.url+"/metrics", nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if !strings.Contains(string(text), "etcd_network_snapshot_receive_success{") {
		return errNoSnapshot
	}
	return nil
}

// etcd 17529: watches that share a stream lost events when their client was slow and the history was compacted. Each watch must have all
// events, or end and say that its revision is compacted.
func TestEtcd17529(t *testing.T) {
	t.Parallel()
	const watches, writes = 100, 3000
	etcd := startCluster(t, 1)
	client := connectMember(t, etcd.members[0])
	first := mustPut(t, client, "key/0", "first")
	stream, err := pb.NewWatchClient(client.ActiveConnection()).Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	create := pb.WatchCreateRequest{Key: []byte("key/"), RangeEnd: []byte("key0"), StartRevision: first, PrevKv: true}
	for range watches {
		if err := stream.Send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{CreateRequest: &create}}); err != nil {
			t.Fatal(err)
		}
	}
	// The client does not read: the responses fill the connection, and the watches fall behind.
	var writing sync.WaitGroup
	text := strings.Repeat("x", 1<<10)
	for i := range 8 {
		writing.Go(func() {
			for range writes / 8 {
				_, err := client.Put(t.Context(), fmt.Sprintf("key/%d", i), text)
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	writing.Wait()
	last := mustPut(t, client, "key/0", "last")
	if _, err := client.Compact(t.Context(), last-10); err != nil {
		t.Fatal(err)
	}
	last = mustPut(t, client, "key/0", "after the compaction")
	seen := map[int64]int64{} // the last revision of each watch
	for ended, compacted := 0, 0; ended < watches; {
		response, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		for _, event := range response.Events {
			if before := seen[response.WatchId]; before != 0 && event.Kv.ModRevision != before+1 {
				t.Fatalf("watch %d has the revision %d after %d", response.WatchId, event.Kv.ModRevision, before)
			}
			if seen[response.WatchId] = event.Kv.ModRevision; event.Kv.ModRevision == last {
				ended++
			}
		}
		if response.Canceled {
			if response.CompactRevision == 0 {
				t.Fatalf("watch %d ended: %s", response.WatchId, response.CancelReason)
			}
			ended, compacted = ended+1, compacted+1
		}
		if ended == watches {
			t.Logf("%d watches have all of %d events, %d were told that their revision is compacted", ended-compacted, last-first+1, compacted)
		}
	}
}

// etcd 17780: a member that died during a compaction whose last revision is a deletion went back to an earlier revision. etcd 18089: a watch
// from the revision of a compaction missed the deletion with this revision. etcd 19179: it missed the deletion if the member had died before.
func TestEtcd17780And18089And19179(t *testing.T) {
	t.Parallel()
	program := buildBreakable(t)
	etcd := startProgram(t, filepath.Join(program.dir, "etcd"), 1, "--compaction-batch-limit=5")
	m := etcd.members[0]
	switches, env := newSwitches(t)
	m.env = env
	m.kill()
	m.start(t)
	etcd.leader(t)
	// Without failpoints in etcd, the member dies right after it has confirmed the compaction.
	for round, name := range either([]string{"", ""}, []string{
		"compactBeforeCommitScheduledCompact", "compactAfterCommitScheduledCompact", "compactAfterAcquiredBatchTxLock", "compactBeforeCommitBatch",
		"compactAfterCommitBatch", "compactBeforeSetFinishedCompact", "compactAfterSetFinishedCompact",
	}) {
		client := connectMember(t, m)
		for i := range 20 {
			mustPut(t, client, fmt.Sprintf("key/%d", i), fmt.Sprint(round))
		}
		var last int64
		for i := range 3 {
			answer, err := client.Delete(t.Context(), fmt.Sprintf("key/%d", i))
			if err != nil {
				t.Fatal(err)
			}
			last = answer.Header.Revision
		}
		if name != "" {
			if err := switches.arm(program.point(t, name), "1*panic"); err != nil {
				t.Fatal(err)
			}
		}
		_, err := client.Compact(t.Context(), last, clientv3.WithCompactPhysical())
		if name == "" {
			if err != nil {
				t.Fatal(err)
			}
			checkTombstone(t, client, last)
			m.kill()
		}
		waittest.Until(t, "the member dies at "+name, m.hasEnded)
		_ = client.Close()
		m.start(t)
		etcd.leader(t)
		client = connectMember(t, m)
		checkTombstone(t, client, last)
		if next := mustPut(t, client, "key/0", "next"); next != last+1 {
			t.Fatalf("%s: the revision after %d is %d", name, last, next)
		}
		checkTombstone(t, client, last)
	}
}

// checkTombstone checks that the store is not before a revision, and that a watch from there begins with the deletion of this revision.
func checkTombstone(t *testing.T, client *clientv3.Client, revision int64) {
	t.Helper()
	found, err := client.Get(t.Context(), "key/0")
	if err != nil {
		t.Fatal(err)
	}
	if found.Header.Revision < revision {
		t.Fatalf("the store has the revision %d, and had confirmed %d", found.Header.Revision, revision)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	response := waittest.Receive(t, "the deletion at the revision of the compaction",
		client.Watch(ctx, "key/", clientv3.WithPrefix(), clientv3.WithRev(revision)))
	if err := response.Err(); err != nil {
		t.Fatal(err)
	}
	if event := response.Events[0]; event.Kv.ModRevision != revision || event.Type != clientv3.EventTypeDelete {
		t.Fatalf("the first event is %s with the revision %d, want the deletion with %d", event.Type, event.Kv.ModRevision, revision)
	}
}
