package recording_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

// killed are the objects that TestSoakKilledHistory writes.
var killed = []schema.GroupVersionResource{configMaps, secrets, deployments}

// TestSoakKilledHistory kills the server while clients write, and starts it again. Each object, taken back entry by entry, equals what was
// stored after each entry, and each acknowledged write has its entry. HOLDFAST_SOAK sets the duration of a longer test of at least 100
// kills.
func TestSoakKilledHistory(t *testing.T) {
	t.Parallel()
	rounds, limit := 2, time.Duration(0)
	if text := os.Getenv("HOLDFAST_SOAK"); text != "" {
		var err error
		if limit, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
		rounds = 100
	}
	settings := apiserver.Config{DataDir: t.TempDir()}
	settings.Kubeconfig = settings.DataDir + ".kubeconfig"
	begin := func() (*servertest.Process, fixture) {
		process := servertest.StartProcess(t, settings)
		return process, fixture{TB: t, Cluster: servertest.NewCluster(servertest.Config(t, settings.Kubeconfig))}
	}
	process, f := begin()
	stored := map[string]states{}
	note := func(obj *unstructured.Unstructured) {
		if stored[obj.GetKind()] == nil {
			stored[obj.GetKind()] = states{}
		}
		stored[obj.GetKind()].add(obj)
	}
	note(f.create(configMaps, fmt.Sprintf(recorded, "web")))
	note(f.create(secrets, `{apiVersion: v1, kind: Secret, metadata: {name: web, labels: {holdfast.dev/history: fields}}}`))
	note(f.create(deployments, web))
	writes, entries := 0, 0
	for round, began := 0, time.Now(); round < rounds || time.Since(began) < limit; round++ {
		answers := make(chan *unstructured.Unstructured)
		ctx, cancel := context.WithCancel(t.Context())
		var writers sync.WaitGroup
		for writer := range 2 * len(killed) {
			writers.Go(func() { f.scribble(ctx, killed[writer%len(killed)], answers) })
		}
		go func() {
			writers.Wait()
			close(answers)
		}()
		for left := 10 + rand.IntN(60); left > 0; left-- {
			note(waittest.Receive(t, "an answer to a write", answers))
			writes++
		}
		process.Kill()
		cancel()
		for answer := range answers {
			note(answer)
			writes++
		}
		process, f = begin()
		for _, resource := range killed {
			current, err := f.Dynamic.Resource(resource).Namespace("default").Get(t.Context(), "web", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			list, was := f.history(resource, "web"), stored[current.GetKind()]
			if err := was.check(list, current.Object); err != nil {
				t.Fatalf("round %d: %s: %v", round, resource.Resource, err)
			}
			recorded := map[string]bool{}
			for _, entry := range list.Items {
				if recorded[entry.ResourceVersion] = true; entry.Truncated {
					t.Errorf("round %d: %s: entry %d is truncated", round, resource.Resource, entry.Number)
				}
			}
			entries += len(list.Items)
			first := number(t, list.Items[0].ResourceVersion)
			for version := range was {
				if !recorded[version] && number(t, version) > first {
					t.Errorf("round %d: %s: the write at %s has no entry", round, resource.Resource, version)
				}
			}
		}
	}
	t.Logf("%d kills, %d acknowledged writes, %d entries taken back", rounds, writes, entries)
}

func number(t *testing.T, version string) (n int) {
	t.Helper()
	if _, err := fmt.Sscan(version, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// scribble changes fields of an object at random until ctx ends or a write fails. Each write changes something.
func (f fixture) scribble(ctx context.Context, resource schema.GroupVersionResource, answers chan<- *unstructured.Unstructured) {
	for ctx.Err() == nil {
		key, value := rand.IntN(5), rand.Int64()
		var patch string
		switch {
		case rand.IntN(5) == 0:
			patch = fmt.Sprintf(`{"metadata":{"annotations":{"note-%d":"%d"}}}`, key, value)
		case resource == configMaps:
			patch = fmt.Sprintf(`{"data":{"key-%d":"%d"}}`, key, value)
		case resource == secrets:
			patch = fmt.Sprintf(`{"stringData":{"key-%d":"%d"}}`, key, value)
		default:
			// The list of containers is replaced, so items come, go and change.
			patch = fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"web:%d"},{"name":"side-%d","image":"x"}]}}}}`, value, key)
		}
		answer, err := f.Dynamic.Resource(resource).Namespace("default").Patch(ctx, "web", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		if err != nil {
			return
		}
		answers <- answer
	}
}
