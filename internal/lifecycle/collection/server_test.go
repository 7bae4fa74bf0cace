package collection_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/connection"
	"holdfast.dev/holdfast/internal/connection/inprocess"
	"holdfast.dev/holdfast/internal/lifecycle"
	"holdfast.dev/holdfast/internal/lifecycle/collection"
	"holdfast.dev/holdfast/internal/references"
	"holdfast.dev/holdfast/internal/series"
	"holdfast.dev/holdfast/internal/waittest"
)

func TestMain(m *testing.M) { os.Exit(servertest.ProcessMain(m)) }

// cluster has the clients of a server, and a namespace.
type cluster struct {
	*testing.T
	servertest.Cluster
}

// in returns the cluster with another namespace, which it creates with a label and annotations.
func (c cluster) in(name string, labels, annotations map[string]string) cluster {
	c.Helper()
	c.Namespace = name
	_, err := c.CoreV1().Namespaces().Create(c.Context(), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, Annotations: annotations},
	}, metav1.CreateOptions{})
	if err != nil {
		c.Fatal(err)
	}
	servertest.AwaitAccount(c, c, name)
	return c
}

// as returns the cluster with the rights of another user.
func (c cluster) as(user string) cluster {
	config := rest.CopyConfig(c.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	namespace := c.Namespace
	c.Cluster = servertest.NewCluster(config)
	c.Namespace = namespace
	return c
}

// selected are the labels of an object that the server collects.
func selected() map[string]string {
	return map[string]string{series.CollectLabel: series.CollectUnused}
}

// member returns the labels of a member of a series.
func member(of string) map[string]string { return map[string]string{series.Label: of} }

// meta returns the metadata of an object that the server collects after a minute.
func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Labels: selected(), Annotations: map[string]string{series.AfterAnnotation: "1m"}}
}

// create creates an immutable ConfigMap.
func (c cluster) create(meta metav1.ObjectMeta) *corev1.ConfigMap {
	c.Helper()
	created, err := c.CoreV1().ConfigMaps(c.Namespace).Create(c.Context(), &corev1.ConfigMap{
		ObjectMeta: meta, Immutable: ptr.To(true), Data: map[string]string{"a": "b"},
	}, metav1.CreateOptions{})
	if err != nil {
		c.Fatal(err)
	}
	return created
}

// get returns a ConfigMap, nil if there is none.
func (c cluster) get(name string) *corev1.ConfigMap {
	c.Helper()
	found, err := c.CoreV1().ConfigMaps(c.Namespace).Get(c.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		c.Fatal(err)
	}
	return found
}

// annotate sets annotations of a ConfigMap, or removes those with the value nil.
func (c cluster) annotate(name string, annotations map[string]any, options metav1.PatchOptions) {
	c.Helper()
	if err := c.tryPatch(name, map[string]any{"annotations": annotations}, options); err != nil {
		c.Fatal(err)
	}
}

func (c cluster) tryPatch(name string, metadata map[string]any, options metav1.PatchOptions) error {
	patch := encode(c, map[string]any{"metadata": metadata})
	_, err := c.CoreV1().ConfigMaps(c.Namespace).Patch(c.Context(), name, types.MergePatchType, patch, options)
	return err
}

// awaitMarked waits until a ConfigMap is marked, and returns the mark.
func (c cluster) awaitMarked(name string) string {
	c.Helper()
	var mark string
	waittest.Until(c, name+" is marked", func() error {
		found := c.get(name)
		if found == nil {
			c.Fatal(name + " is gone before its mark was seen")
		}
		if mark = found.Annotations[series.UnusedSinceAnnotation]; mark == "" {
			return fmt.Errorf("annotations %v", found.Annotations)
		}
		return nil
	})
	return mark
}

// awaitUnmarked waits until a ConfigMap is not marked.
func (c cluster) awaitUnmarked(name string) {
	c.Helper()
	waittest.Until(c, name+" is unmarked", func() bool {
		found := c.get(name)
		if found == nil {
			c.Fatal(name + " is gone")
		}
		return found.Annotations[series.UnusedSinceAnnotation] == ""
	})
}

// awaitGone waits until a ConfigMap is deleted.
func (c cluster) awaitGone(name string) {
	c.Helper()
	waittest.Until(c, name+" is gone", func() error {
		if found := c.get(name); found != nil {
			return fmt.Errorf("annotations %v", found.Annotations)
		}
		return nil
	})
}

// awaitEvent waits for an Event about an object, with a text in its message.
func (c cluster) awaitEvent(object, reason, text string) {
	c.Helper()
	waittest.Until(c, "Event "+reason+" about "+object, func() error {
		messages := c.messages(object, reason)
		for _, message := range messages {
			if strings.Contains(message, text) {
				return nil
			}
		}
		return fmt.Errorf("messages %q, want %q", messages, text)
	})
}

// messages returns the messages of the Events about an object with a reason.
func (c cluster) messages(object, reason string) []string {
	c.Helper()
	list, err := c.CoreV1().Events(c.Namespace).List(c.Context(), metav1.ListOptions{})
	if err != nil {
		c.Fatal(err)
	}
	var found []string
	for i := range list.Items {
		if event := &list.Items[i]; event.InvolvedObject.Name == object && event.Reason == reason {
			for range max(event.Count, 1) {
				found = append(found, event.Message)
			}
		}
	}
	return found
}

// fixture is a server without the controller, an index that the test sets, and a clock that the test moves.
type fixture struct {
	cluster
	index   *fakeIndex
	clock   *clocktesting.FakeClock
	metrics *collection.Metrics
}

// newFixture starts a server, and the controller beside it.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := newStopped(t)
	f.start()
	return f
}

// newStopped starts a server.
func newStopped(t *testing.T) *fixture {
	t.Helper()
	server := servertest.Start(t, apiserver.Config{Controllers: lifecycle.Selection{"*", "-" + lifecycle.Collection}})
	clock := clocktesting.NewFakeClock(time.Now().Truncate(time.Second))
	f := &fixture{
		cluster: cluster{t, server.Cluster(t)}, clock: clock, index: newFakeIndex(clock.Now()), metrics: collection.NewMetrics(),
	}
	f.run()
	return f
}

// start runs the controller as a new leader, until stop is called or the test ends.
func (f *fixture) start() (stop func()) {
	f.Helper()
	server, err := connection.Open(f.Config, connection.Options{})
	if err != nil {
		f.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		if err := collection.Run(ctx, collection.Config{
			Client: server.Typed, Informers: inprocess.NewFactory(server, nil), Index: f.index, Clock: f.clock, Metrics: f.metrics,
		}); err != nil {
			f.Error(err)
		}
	}()
	stop = func() {
		cancel()
		<-stopped
		server.Close()
	}
	f.Cleanup(stop)
	waittest.Until(f, "the controller has read all objects", func() bool { return f.index.subscribers() > 0 })
	return stop
}

// run moves the clock slowly, so that what the controller tries again happens, and a busy machine has no effect on what is due.
func (f *fixture) run() {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		passed := time.NewTicker(tick)
		defer passed.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-passed.C:
				f.clock.Step(tick / 20)
			}
		}
	}()
	f.Cleanup(func() {
		cancel()
		<-ended
	})
}

const tick = 10 * time.Millisecond

// pass lets time pass at once.
func (f *fixture) pass(by time.Duration) { f.clock.Step(by) }

// awaitGone waits until a ConfigMap is deleted, and lets time pass meanwhile: the controller may have noticed late that it is due.
func (f *fixture) awaitGone(name string) {
	f.Helper()
	waittest.Until(f, name+" is gone", func() error {
		f.pass(time.Second)
		if found := f.get(name); found != nil {
			return fmt.Errorf("annotations %v", found.Annotations)
		}
		return nil
	})
}

// object names a ConfigMap of the namespace.
func (c cluster) object(name string) named { return named{references.ConfigMap, c.Namespace, name} }

// collectSentinel creates an object and waits until it is collected. Everything else that was due before was handled then.
func (f *fixture) collectSentinel() {
	f.Helper()
	name := fmt.Sprintf("sentinel-%d", f.clock.Now().UnixNano())
	f.create(meta(name))
	f.pass(time.Minute)
	f.awaitMarked(name)
	f.pass(time.Minute)
	f.awaitGone(name)
}

// metric returns the value of a metric with a label.
func (f *fixture) metric(name, label string) float64 {
	f.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(f.metrics)
	families, err := registry.Gather()
	if err != nil {
		f.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if family.GetName() == name && metric.GetLabel()[0].GetValue() == label {
				return metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
			}
		}
	}
	f.Fatalf("no metric %s with %s", name, label)
	return 0
}

func encode(t testing.TB, object any) []byte {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
