package garbage_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/waittest"
)

// createDependents creates ConfigMaps of one owner, several at a time.
func (tr tree) createDependents(t testing.TB, size int, owner metav1.OwnerReference) {
	t.Helper()
	var group errgroup.Group
	group.SetLimit(16)
	for i := range size {
		group.Go(func() error {
			object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("child-%d", i), OwnerReferences: []metav1.OwnerReference{owner},
			}}
			_, err := tr.configMaps().Create(t.Context(), object, metav1.CreateOptions{})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkCollection measures the time from the deletion of an owner until its dependents
// are gone.
func BenchmarkCollection(b *testing.B) {
	c := shared
	size := 10_000
	if testing.Short() {
		size = 100
	}
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		tr := newTree(b, c, fmt.Sprintf("family-%d-%d", b.N, i))
		tr.create(b, "root")
		tr.createDependents(b, size, tr.ref(b, "root"))
		b.StartTimer()
		tr.delete(b, "root", metav1.DeletePropagationBackground)
		waittest.Until(b, "dependents gone", func() bool {
			list, err := tr.configMaps().List(b.Context(), metav1.ListOptions{
				Limit: 1, FieldSelector: "metadata.name!=" + rootCAName,
			})
			if err != nil {
				b.Fatal(err)
			}
			return len(list.Items) == 0
		})
	}
}

// TestGarbageFromBeforeTheStart checks that the collector deletes the dependents of an owner
// that was deleted before the collector started.
func TestGarbageFromBeforeTheStart(t *testing.T) {
	t.Parallel()
	c := startWithoutControllers(t)
	tr := newTree(t, c, "shop")
	tr.create(t, "root")
	tr.create(t, "child", "root")
	tr.create(t, "stays")
	tr.create(t, "grandchild", "stays")
	tr.delete(t, "root", metav1.DeletePropagationBackground)
	tr.wait(t, "child<root grandchild<stays stays")
	collect(t, c.Config, nil)
	tr.wait(t, "grandchild<stays stays")
}

// TestKindsAddedLater checks that the collector does not delete a dependent while it does not
// know the kind of the owner. After the kind is added, it deletes the dependents of missing
// owners.
func TestKindsAddedLater(t *testing.T) {
	t.Parallel()
	c := startWithoutControllers(t)
	config, served := c.withoutGroup("batch")
	collect(t, config, nil)
	tr := newTree(t, c, "shop")
	job, err := c.BatchV1().Jobs("shop").Create(t.Context(), &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "owner"},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "main", Image: "example.com/main"}},
		}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	of := func(name string, uid types.UID) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: name, UID: uid}}
	}
	tr.createWith(t, metav1.ObjectMeta{Name: "child", OwnerReferences: of("owner", job.UID)})
	tr.createWith(t, metav1.ObjectMeta{Name: "lost", OwnerReferences: of("gone", "00000000-0000-0000-0000-000000000000")})
	tr.createWith(t, metav1.ObjectMeta{Name: "probe", OwnerReferences: []metav1.OwnerReference{{
		APIVersion: "v1", Kind: "ConfigMap", Name: "probed", UID: "00000000-0000-0000-0000-000000000001",
	}}})
	tr.wait(t, "child<owner lost<gone")

	served.Store(true)
	tr.wait(t, "child<owner")
	background := metav1.DeletePropagationBackground
	if err := c.BatchV1().Jobs("shop").Delete(t.Context(), "owner", metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
		t.Fatal(err)
	}
	tr.wait(t, "")
}

// withoutGroup returns a client config that hides a group from discovery until served is
// set.
func (c cluster) withoutGroup(group string) (config *rest.Config, served *atomic.Bool) {
	served = &atomic.Bool{}
	config = rest.CopyConfig(c.Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			if request.URL.Path != "/apis" || served.Load() {
				return next.RoundTrip(request)
			}
			// Ask for unaggregated discovery: a list of groups that the test can change.
			request = request.Clone(request.Context())
			request.Header.Set("Accept", "application/json")
			request.Header.Set("Accept-Encoding", "identity")
			response, err := next.RoundTrip(request)
			if err != nil {
				return nil, err
			}
			defer func() { _ = response.Body.Close() }()
			var groups metav1.APIGroupList
			if err := json.NewDecoder(response.Body).Decode(&groups); err != nil {
				return nil, err
			}
			groups.Groups = slices.DeleteFunc(groups.Groups, func(found metav1.APIGroup) bool { return found.Name == group })
			body, err := json.Marshal(groups)
			if err != nil {
				return nil, err
			}
			response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			return response, nil
		})
	})
	return config, served
}

// TestWritesDuringCollection creates dependents while their owner is deleted. Those with
// another owner, or with none, stay.
func TestWritesDuringCollection(t *testing.T) {
	t.Parallel()
	tr := newTree(t, shared, "writes-during-collection")
	tr.create(t, "stays")
	stays := tr.ref(t, "stays")
	for round := range 3 {
		root := fmt.Sprintf("root-%d", round)
		tr.create(t, root)
		owner := tr.ref(t, root)
		var created atomic.Int64
		var writers errgroup.Group
		for writer := range 4 {
			writers.Go(func() error {
				for i := range 40 {
					for suffix, refs := range map[string][]metav1.OwnerReference{
						"goes": {owner}, "keeps": {owner, stays}, "free": nil,
					} {
						object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
							Name: fmt.Sprintf("%s-%d-%d-%s", root, writer, i, suffix), OwnerReferences: refs,
						}}
						if _, err := tr.configMaps().Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
							return err
						}
						created.Add(1)
					}
				}
				return nil
			})
		}
		waittest.Until(t, "writes under way", func() bool { return created.Load() > 100 })
		tr.delete(t, root, metav1.DeletePropagationBackground)
		if err := writers.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	names := []string{"stays"}
	for round := range 3 {
		for writer := range 4 {
			for i := range 40 {
				name := fmt.Sprintf("root-%d-%d-%d", round, writer, i)
				names = append(names, name+"-free", name+"-keeps<stays")
			}
		}
	}
	slices.Sort(names)
	tr.wait(t, strings.Join(names, " "))
}
