package fieldownership_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"

	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/fieldownership"
	"holdfast.dev/holdfast/internal/native"
	"holdfast.dev/holdfast/internal/native/judgement"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/ownership"
)

// newRecords opens the storage of a memory, on an etcd of its own.
func newRecords(t *testing.T) storage.Interface {
	t.Helper()
	member, err := etcd.Start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(member.Close)
	codec := serializer.NewCodecFactory(native.NewScheme()).LegacyCodec(corev1.SchemeGroupVersion)
	config := storagebackend.NewDefaultConfig("/registry", codec)
	client := member.Client()
	t.Cleanup(client.Close)
	records, destroy, err := client.Storage(config.ForResource(corev1.Resource("configmaps")),
		func() runtime.Object { return &corev1.ConfigMap{} }, func() runtime.Object { return &corev1.ConfigMapList{} }, fieldownership.Prefix)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(destroy)
	return records
}

func command(name string, fields ...string) ownership.Command {
	return ownership.Command{Command: name, Manager: "m", Time: time.Unix(1, 0).UTC(), Fields: fields}
}

func count(t *testing.T, m *fieldownership.Memory, uid types.UID) int {
	t.Helper()
	commands, err := m.Read(t.Context(), uid)
	if err != nil {
		t.Fatal(err)
	}
	return len(commands.Entries)
}

func TestMemory(t *testing.T) {
	records := newRecords(t)
	m := fieldownership.NewMemory(records)
	// stored reads only the records that are written.
	stored := fieldownership.NewMemory(records)
	// Nothing is written yet, and the memory returns all of it.
	m.Remember(fieldownership.Object{UID: "1", Path: "/api/v1/namespaces/a/configmaps/one"}, command("kubectl patch", ".data.a"))
	m.Remember(fieldownership.Object{UID: "1", Path: "/api/v1/namespaces/a/configmaps/one"}, command("kubectl set env", ".data.b"))
	m.Remember(fieldownership.Object{UID: "2", Path: "/api/v1/namespaces/a/configmaps/two"}, command("kubectl patch", ".data.a"))
	m.Remember(fieldownership.Object{}, command("kubectl patch", ".data.a"))
	if n := count(t, m, "1"); n != 2 {
		t.Errorf("%d commands before they are written", n)
	}
	if n := count(t, stored, "1"); n != 0 {
		t.Errorf("%d commands are written before anything writes", n)
	}
	// The commands that wait when Run ends are written.
	run(t, m)()
	if one, two := count(t, stored, "1"), count(t, stored, "2"); one != 2 || two != 1 {
		t.Errorf("%d and %d commands", one, two)
	}

	asked := map[string]bool{}
	err := m.Sweep(t.Context(), func(_ context.Context, object fieldownership.Object) (bool, error) {
		asked[object.Path] = true
		return object.UID == "2", nil
	})
	if err != nil || len(asked) != 2 {
		t.Errorf("asked for %v, %v", asked, err)
	}
	if one, two := count(t, m, "1"), count(t, m, "2"); one != 0 || two != 1 {
		t.Errorf("after the sweep %d and %d commands", one, two)
	}

	stop := run(t, m)
	defer stop()
	m.Forget("2")
	if n := count(t, m, "2"); n != 0 {
		t.Errorf("%d commands of an object that is gone", n)
	}
	// Remember never blocks, for any number of objects.
	for i := range 5000 {
		m.Remember(fieldownership.Object{UID: types.UID(fmt.Sprint("many-", i))}, command("kubectl patch", ".data.a"))
	}
	waittest.Until(t, "the first of many is written", func() bool { return count(t, stored, "many-0") == 1 })
}

// run calls Run. The function that it returns ends it and waits for its end.
func run(t *testing.T, m *fieldownership.Memory) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		m.Run(ctx)
	}()
	return func() {
		cancel()
		<-ended
	}
}

func TestNoMemory(t *testing.T) {
	var m *fieldownership.Memory
	m.Remember(fieldownership.Object{UID: "1"}, command("kubectl patch", ".a"))
	m.Forget("1")
	m.Run(t.Context())
	if n := count(t, m, "1"); n != 0 {
		t.Errorf("%d commands", n)
	}
	for text, ok := range map[string]bool{"": true, "warn": true, "off": true, "enforce-edit": true, "on": false} {
		if _, err := judgement.ParseMode(text); (err == nil) != ok {
			t.Errorf("mode %q: %v", text, err)
		}
	}
}
