package pasttest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

var shared *rest.Config

func TestMain(m *testing.M) {
	os.Exit(servertest.Main(m, func(config *rest.Config) error {
		shared = config
		return nil
	}))
}

// fixture has the ConfigMaps of a namespace, as users and as a controller behind a proxy see them.
type fixture struct {
	*testing.T
	proxy         *proxy
	users, behind typedcorev1.ConfigMapInterface
}

func newFixture(t *testing.T, f faults) *fixture {
	t.Helper()
	clients := kubernetes.NewForConfigOrDie(shared)
	namespace := servertest.CreateNamespace(t, clients, "proxy-")
	x := &fixture{T: t, proxy: newProxy(f, namespace), users: clients.CoreV1().ConfigMaps(namespace)}
	x.restart(namespace)
	return x
}

// restart begins a new life of the controller.
func (x *fixture) restart(namespace string) {
	x.Helper()
	x.behind = kubernetes.NewForConfigOrDie(x.proxy.start().config(shared)).CoreV1().ConfigMaps(namespace)
}

// set creates an object, or sets its value.
func (x *fixture) set(in typedcorev1.ConfigMapInterface, name, value string) error {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"value": value}}
	_, err := in.Create(x.Context(), object, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = in.Update(x.Context(), object, metav1.UpdateOptions{})
	}
	return err
}

func (x *fixture) must(err error) {
	x.Helper()
	if err != nil {
		x.Fatal(err)
	}
}

// watched changes objects while a watch waits, and returns the events that it shows then, up to the last object or to its end.
func (x *fixture) watched() string {
	x.Helper()
	list, err := x.users.List(x.Context(), metav1.ListOptions{})
	x.must(err)
	step := 1
	for !x.proxy.faults.chance(45, "hold", step, "configmaps") {
		step++
	}
	x.proxy.setStep(step, list.ResourceVersion)
	if !x.proxy.faults.any(delayed, merged, expired) {
		x.proxy.release()
	}
	events, err := x.behind.Watch(x.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	x.must(err)
	defer events.Stop()
	for value := range 3 {
		x.must(x.set(x.users, "a", fmt.Sprint(value)))
	}
	x.must(x.set(x.users, "b", "0"))
	x.must(x.users.Delete(x.Context(), "b", metav1.DeleteOptions{}))
	x.must(x.set(x.users, "last", "0"))
	x.proxy.release()
	var shown []string
	for {
		event := waittest.Receive(x, "an event", events.ResultChan())
		if event.Type == watch.Error {
			return strings.Join(append(shown, apierrors.FromObject(event.Object).Error()), " ")
		}
		object, ok := event.Object.(*corev1.ConfigMap)
		if !ok {
			x.Fatalf("event %v", event)
		}
		shown = append(shown, fmt.Sprintf("%s:%s=%s", event.Type, object.Name, object.Data["value"]))
		if object.Name == "last" {
			return strings.Join(shown, " ")
		}
	}
}

// TestWatches checks that each kind of fault occurs, that what a watch shows is then right, and that without a fault it shows each event once.
func TestWatches(t *testing.T) {
	t.Parallel()
	const plain = "ADDED:a=0 MODIFIED:a=1 MODIFIED:a=2 ADDED:b=0 DELETED:b=0 ADDED:last=0"
	for perturbation, want := range map[string]string{
		none: plain, delayed: plain,
		merged:   "ADDED:a=2 ADDED:last=0",
		repeated: "ADDED:a=0 ADDED:a=0 MODIFIED:a=1 MODIFIED:a=2 ADDED:b=0 DELETED:b=0 ADDED:last=0",
		expired:  "too old resource version",
	} {
		t.Run(perturbation, func(t *testing.T) {
			t.Parallel()
			for seed := int64(0); seed < 300; seed++ {
				x := newFixture(t, faults{perturbation: perturbation, seed: seed})
				got := x.watched()
				if got == want {
					return
				}
				if perturbation == none || perturbation == delayed {
					t.Fatalf("got %s, want %s", got, want)
				}
			}
			t.Errorf("no seed shows %s", want)
		})
	}
}

// TestOldLists checks that a list after a restart can be one of the past, and that a list without a resourceVersion is not.
func TestOldLists(t *testing.T) {
	t.Parallel()
	for seed := int64(0); seed < 300; seed++ {
		x := newFixture(t, faults{perturbation: old, seed: seed})
		before, err := x.users.List(t.Context(), metav1.ListOptions{})
		x.must(err)
		x.proxy.setStep(1, before.ResourceVersion)
		x.must(x.set(x.users, "a", "1"))
		x.proxy.kill("test")
		if _, err := x.behind.Get(t.Context(), "a", metav1.GetOptions{}); !errors.Is(err, errKilled) {
			t.Fatalf("a dead controller reads: %v", err)
		}
		x.restart(x.proxy.run)
		shown, err := x.behind.List(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
		x.must(err)
		now, err := x.behind.List(t.Context(), metav1.ListOptions{})
		x.must(err)
		if len(now.Items) != len(before.Items)+1 {
			t.Fatalf("a list without a resourceVersion has %d objects", len(now.Items))
		}
		if len(shown.Items) == len(before.Items) && shown.ResourceVersion == before.ResourceVersion {
			return
		}
	}
	t.Error("no seed shows an old list")
}

// TestKills checks what the server has stored when the controller dies at its second write, and that a delete request without preconditions is
// noticed.
func TestKills(t *testing.T) {
	t.Parallel()
	for perturbation, want := range map[string]string{none: "2 2", killedBefore: "1 1", killedAfter: "2 2", killedLate: "1 2"} {
		t.Run(perturbation, func(t *testing.T) {
			t.Parallel()
			x := newFixture(t, faults{perturbation: perturbation, killAt: 2})
			if perturbation == none {
				x.proxy.faults.killAt = 0
			}
			patch := func(value string) error {
				_, err := x.behind.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"data":{"value":"`+value+`"}}`), metav1.PatchOptions{})
				return err
			}
			value := func() string {
				found, err := x.users.Get(t.Context(), "a", metav1.GetOptions{})
				x.must(err)
				return found.Data["value"]
			}
			x.must(x.set(x.users, "a", "0"))
			x.must(patch("1"))
			if err := patch("2"); errors.Is(err, errKilled) != (perturbation != none) {
				t.Fatalf("the second write: %v", err)
			}
			first := value()
			x.proxy.finish()
			if got := first + " " + value(); got != want {
				t.Errorf("stored %s, want %s", got, want)
			}
		})
	}
	t.Run("preconditions", func(t *testing.T) {
		t.Parallel()
		x := newFixture(t, faults{perturbation: none})
		remove := func(options metav1.DeleteOptions) int {
			x.must(x.set(x.users, "a", "0"))
			found, err := x.users.Get(context.WithoutCancel(t.Context()), "a", metav1.GetOptions{})
			x.must(err)
			if options.Preconditions != nil {
				options.Preconditions.UID = &found.UID
			}
			x.must(x.behind.Delete(t.Context(), "a", options))
			return len(x.proxy.violations)
		}
		if n := remove(metav1.DeleteOptions{Preconditions: &metav1.Preconditions{}}); n != 0 {
			t.Errorf("%v", x.proxy.violations)
		}
		if n := remove(metav1.DeleteOptions{}); n != 1 {
			t.Errorf("%d violations, want 1", n)
		}
	})
}
