package recording_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

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
	settings.Kubeconfig, settings.History.AfterDelete = settings.DataDir+".kubeconfig", 24*time.Hour
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
	lives := life{states: states{}}
	writes, entries := 0, 0
	for round, began := 0, time.Now(); round < rounds || time.Since(began) < limit; round++ {
		answers := make(chan *unstructured.Unstructured)
		ctx, cancel := context.WithCancel(t.Context())
		var writers sync.WaitGroup
		for writer := range 2 * len(killed) {
			writers.Go(func() { f.scribble(ctx, killed[writer%len(killed)], answers) })
		}
		writers.Go(func() { lives.live(ctx, f) })
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
			if err := was.checkSeals(list); err != nil {
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
		lives.check(t, f)
	}
	t.Logf("%d states of objects that were deleted and replaced", lives.checked)
	t.Logf("%d kills, %d acknowledged writes, %d entries taken back", rounds, writes, entries)
}

func number(t *testing.T, version string) (n int) {
	t.Helper()
	if _, err := fmt.Sscan(version, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// scribble changes fields of an object at random, with all kinds of requests, until ctx ends or the server is gone. Each write changes something.
func (f fixture) scribble(ctx context.Context, resource schema.GroupVersionResource, answers chan<- *unstructured.Unstructured) {
	objects := f.Dynamic.Resource(resource).Namespace("default")
	for ctx.Err() == nil {
		answer, err := f.scribbled(ctx, resource, objects)
		switch {
		case apierrors.IsConflict(err):
		case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsForbidden(err), apierrors.IsNotFound(err):
			f.Errorf("%s: %v", resource.Resource, err)
			return
		case err != nil:
			return // the server is gone
		case answer != nil:
			answers <- answer
		}
	}
}

// scribbled makes one write. The answer is nil if it is not the object, or if the write has no entry.
func (f fixture) scribbled(ctx context.Context, resource schema.GroupVersionResource, objects dynamic.ResourceInterface) (*unstructured.Unstructured, error) {
	key, value := rand.IntN(5), rand.Int64()
	patch := func(kind types.PatchType, text string, subresources ...string) (*unstructured.Unstructured, error) {
		return objects.Patch(ctx, "web", kind, []byte(text), metav1.PatchOptions{FieldManager: "scribble"}, subresources...)
	}
	fields := map[schema.GroupVersionResource]string{
		configMaps: `{"data":{"key-%[1]d":"%[2]d"}}`,
		secrets:    `{"stringData":{"key-%[1]d":"%[2]d"}}`,
		// The list of containers is replaced, so items come, go and change.
		deployments: `{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"web:%[2]d"},{"name":"side-%[1]d","image":"x"}]}}}}`,
	}
	switch kind := rand.IntN(12); {
	case kind == 0:
		return patch(types.MergePatchType, fmt.Sprintf(`{"metadata":{"annotations":{"note-%d":"%d"}}}`, key, value))
	case kind == 1:
		return patch(types.JSONPatchType, fmt.Sprintf(`[{"op":"add","path":"/metadata/labels/json-%d","value":"x%d"}]`, key, value))
	case kind == 2:
		return patch(types.StrategicMergePatchType, fmt.Sprintf(`{"metadata":{"annotations":{"strategic-%d":"%d","note-%d":null}}}`, key, value, key))
	case kind == 3:
		return patch(types.MergePatchType, fmt.Sprintf(`{"metadata":{"finalizers":["example.com/f%d"]}}`, value))
	case kind == 4:
		applied := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": resource.GroupVersion().String(), "kind": map[string]string{"configmaps": "ConfigMap", "secrets": "Secret", "deployments": "Deployment"}[resource.Resource],
			"metadata": map[string]any{"name": "web", "annotations": map[string]any{fmt.Sprint("applied-", key): fmt.Sprint(value)}},
		}}
		return objects.Apply(ctx, "web", applied, metav1.ApplyOptions{FieldManager: "applier", Force: true})
	case kind == 5:
		live, err := objects.Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		live.SetAnnotations(map[string]string{"start": fmt.Sprint(value)})
		return objects.Update(ctx, live, metav1.UpdateOptions{FieldManager: "scribble"})
	case kind == 6 && resource == deployments:
		_, err := patch(types.MergePatchType, fmt.Sprintf(`{"status":{"observedGeneration":%d}}`, value), "status")
		return nil, err
	case kind == 7 && resource == deployments:
		_, err := patch(types.MergePatchType, fmt.Sprintf(`{"spec":{"replicas":%d}}`, rand.IntN(1000)), "scale")
		return nil, err
	}
	return patch(types.MergePatchType, fmt.Sprintf(fields[resource], key, value))
}
