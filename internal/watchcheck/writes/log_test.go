package writes_test

import (
	"fmt"
	"net/url"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"

	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/watchcheck"
	"holdfast.dev/holdfast/internal/watchcheck/writes"
)

const boats = "/registry/example.com/boats/"

// startEtcd runs an etcd without a port.
func startEtcd(t *testing.T) *clientv3.Client {
	t.Helper()
	config := embed.NewConfig()
	config.Dir, config.LogLevel = t.TempDir(), "fatal"
	config.TickMs, config.ElectionMs = 10, 100
	config.ListenPeerUrls, config.ListenClientUrls = []url.URL{}, []url.URL{}
	server, err := embed.StartEtcd(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	waittest.Receive(t, "etcd is ready", server.Server.ReadyNotify())
	return v3client.New(server.Server)
}

// put stores a boat, and returns it as a list has it.
func put(t *testing.T, client *clientv3.Client, name string, value int) watchcheck.Object {
	t.Helper()
	text := fmt.Sprintf(`{"metadata": {"name": %q, "namespace": "n", "uid": "u"}, "value": %d}`, name, value)
	answer, err := client.Put(t.Context(), boats+"n/"+name, text)
	if err != nil {
		t.Fatal(err)
	}
	return watchcheck.Object{"value": value, "metadata": map[string]any{
		"name": name, "namespace": "n", "uid": "u", "resourceVersion": fmt.Sprint(answer.Header.Revision),
	}}
}

// TestRead reads the history of etcd in parts. When etcd has compacted writes before they are read, the truth begins behind them.
func TestRead(t *testing.T) {
	t.Parallel()
	client := startEtcd(t)
	log := writes.New(boats)
	read := func() *watchcheck.Truth {
		t.Helper()
		if err := log.Read(t.Context(), client); err != nil {
			t.Fatal(err)
		}
		return log.Truth(boats)
	}
	if n := read().Writes(); n != 0 {
		t.Errorf("%d writes of an empty etcd", n)
	}
	stream := &watchcheck.Stream{Name: "boats"}
	first, second := put(t, client, "a", 1), put(t, client, "b", 2)
	stream.Listed(watchcheck.RevisionOf(second), []watchcheck.Object{first, second})
	stream.Began(watchcheck.RevisionOf(second))
	read()
	deletion, err := client.Delete(t.Context(), boats+"n/a")
	if err != nil {
		t.Fatal(err)
	}
	first["metadata"].(map[string]any)["resourceVersion"] = fmt.Sprint(deletion.Header.Revision)
	stream.Event("DELETED", first)
	if _, err := client.Put(t.Context(), "/another/key", "1"); err != nil {
		t.Fatal(err)
	}
	truth := read()
	if report := stream.Check(truth); truth.Writes() != 3 || len(report.Violations) > 0 || report.Unknown > 0 {
		t.Errorf("%d writes, %v", truth.Writes(), report.Violations)
	}

	third, fourth, fifth := put(t, client, "b", 3), put(t, client, "c", 4), put(t, client, "c", 5)
	stream.Event("MODIFIED", third)
	stream.Event("ADDED", fourth)
	stream.Event("MODIFIED", fifth)
	if _, err := client.Compact(t.Context(), int64(watchcheck.RevisionOf(fourth))); err != nil {
		t.Fatal(err)
	}
	truth = read()
	report := stream.Check(truth)
	if truth.Writes() != 1 || len(report.Violations) > 0 || report.Unknown != 4 {
		t.Errorf("%d writes after a compaction, %v, %d unknown", truth.Writes(), report.Violations, report.Unknown)
	}
	stream.Event("ADDED", put(t, client, "d", 6))
	stream.Event("MODIFIED", put(t, client, "d", 7))
	if report := stream.Check(truth); len(report.Violations) != 2 {
		t.Errorf("%d violations by two events that are not read yet", len(report.Violations))
	}
	if report := stream.Check(read()); len(report.Violations) > 0 {
		t.Errorf("%v", report.Violations)
	}
}
