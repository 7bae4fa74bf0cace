package garbage_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/waittest"
)

// TestKindsThatComeAndGo adds a kind, uses its objects as owners and as dependents, and
// removes the kind, while other clients write. The collector deletes the dependents of the
// removed objects, and nothing else.
func TestKindsThatComeAndGo(t *testing.T) {
	t.Parallel()
	const namespace, group = "come-and-go", "comeandgo.example.com"
	c := shared
	tr := newTree(t, c, namespace)
	tr.create(t, "stays")
	stays := tr.ref(t, "stays")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var writers errgroup.Group
	var written atomic.Int64
	for writer := range 2 {
		writers.Go(func() error {
			for i := 0; ctx.Err() == nil; i++ {
				object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
					Name: fmt.Sprintf("other-%d-%d", writer, i), OwnerReferences: []metav1.OwnerReference{stays},
				}}
				if _, err := tr.configMaps().Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
					return err
				}
				written.Add(1)
			}
			return nil
		})
	}
	for range 2 {
		widgets := c.defineWidgets(t, group)
		for i := range 10 {
			owner := ownedBy(widgets.create(t, namespace, fmt.Sprintf("w-%d", i)))
			for j := range 3 {
				tr.createWith(t, metav1.ObjectMeta{
					Name: fmt.Sprintf("part-%d-%d", i, j), OwnerReferences: []metav1.OwnerReference{owner},
				})
			}
			tr.createWith(t, metav1.ObjectMeta{
				Name: fmt.Sprintf("shared-%d", i), OwnerReferences: []metav1.OwnerReference{owner, stays},
			})
		}
		widgets.create(t, namespace, "child", stays)
		// Delete one owner of the new kind, while the kind exists.
		if err := widgets.Namespace(namespace).Delete(t.Context(), "w-0", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		waittest.Until(t, "the parts of one widget are gone", func() bool {
			return !strings.Contains(tr.state(t), "part-0-")
		})
		widgets.undefine(t)
		waittest.Until(t, "the parts of all widgets are gone", func() bool {
			return !strings.Contains(tr.state(t), "part-")
		})
		for i := range 10 {
			name := fmt.Sprintf("shared-%d", i)
			if err := tr.configMaps().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
				t.Errorf("a dependent with another owner: %v", err)
			}
		}
	}
	stop()
	if err := writers.Wait(); err != nil && ctx.Err() == nil {
		t.Fatal(err)
	}
	if n := int64(strings.Count(tr.state(t), "other-")); n < written.Load() {
		t.Errorf("%d of %d objects are left whose owner still exists", n, written.Load())
	}
}

// TestKindRemovedBeforeItsDependents checks that dependents are collected although the
// kind of their owner was removed before they could be deleted.
func TestKindRemovedBeforeItsDependents(t *testing.T) {
	t.Parallel()
	c := startWithoutControllers(t)
	var released atomic.Bool
	var held, discoveries atomic.Int64
	config := rest.CopyConfig(c.Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			if !released.Load() && request.Method == http.MethodDelete && strings.HasSuffix(request.URL.Path, "/configmaps/part") {
				held.Add(1)
				return nil, errors.New("held by the test")
			}
			response, err := next.RoundTrip(request)
			if request.URL.Path == "/apis" {
				discoveries.Add(1)
			}
			return response, err
		})
	})
	collect(t, config, nil)
	tr := newTree(t, c, "shop")
	widgets := c.defineWidgets(t, "example.com")
	owner := ownedBy(widgets.create(t, "shop", "owner"))
	tr.createWith(t, metav1.ObjectMeta{Name: "part", OwnerReferences: []metav1.OwnerReference{owner}})
	if err := widgets.Namespace("shop").Delete(t.Context(), "owner", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	// The collector learns of the deletion while the kind exists.
	waittest.Until(t, "the collector tries to delete the dependent", func() bool { return held.Load() > 0 })
	widgets.undefine(t)
	before := discoveries.Load()
	waittest.Until(t, "the collector knows that the kind is gone", func() bool { return discoveries.Load() >= before+2 })
	released.Store(true)
	tr.wait(t, "")
}

// TestKindRemovedUnwatched removes a kind that no watch could read, so no watch reports the
// deletion of its objects. Their dependents are collected as soon as the objects are not stored,
// although the collector hears of the definition after it is gone.
func TestKindRemovedUnwatched(t *testing.T) {
	t.Parallel()
	c := startWithoutControllers(t)
	var delayed atomic.Bool
	removed := make(chan struct{})
	release := sync.OnceFunc(func() { close(removed) })
	// owners is held while an owner is read. After unreadable is set, no owner is read.
	var owners sync.RWMutex
	var unreadable bool
	config := rest.CopyConfig(c.Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			if request.Method == http.MethodGet && strings.HasSuffix(request.URL.Path, "/widgets") {
				return nil, errors.New("refused by the test")
			}
			if strings.Contains(request.URL.Path, "/widgets/") {
				owners.RLock()
				defer owners.RUnlock()
				if unreadable {
					return nil, errors.New("refused by the test")
				}
			}
			response, err := next.RoundTrip(request)
			if err == nil && strings.HasSuffix(request.URL.Path, "/customresourcedefinitions") {
				response.Body = delayedBody{ReadCloser: response.Body, delayed: &delayed, until: removed}
			}
			return response, err
		})
	})
	var mu sync.Mutex
	var left []metav1.PartialObjectMetadata
	var reads int
	collect(t, config, unwatched(func(resource schema.GroupResource, namespace string) []metav1.PartialObjectMetadata {
		mu.Lock()
		defer mu.Unlock()
		if resource.String() != "widgets.example.com" || namespace != "shop" {
			t.Errorf("read %s in namespace %s", resource, namespace)
		}
		reads++
		return left
	}))
	t.Cleanup(release)
	tr := newTree(t, c, "shop")
	delayed.Store(true)
	widgets := c.defineWidgets(t, "example.com")
	for _, name := range []string{"deleted", "left"} {
		owner := widgets.create(t, "shop", name)
		tr.createWith(t, metav1.ObjectMeta{Name: "part-of-" + name, OwnerReferences: []metav1.OwnerReference{ownedBy(owner)}})
		if name == "left" {
			left = []metav1.PartialObjectMetadata{{ObjectMeta: metav1.ObjectMeta{Name: name, UID: owner.GetUID()}}}
		}
	}
	// The collector knows the kind when it can ask for the owner of an object.
	tr.createWith(t, metav1.ObjectMeta{Name: "dangling", OwnerReferences: []metav1.OwnerReference{{
		APIVersion: "example.com/v1", Kind: "Widget", Name: "none", UID: "none",
	}}})
	tr.wait(t, "part-of-deleted<deleted part-of-left<left")
	// The server deletes the objects before the definition. In between, it would answer that the owners do not exist.
	owners.Lock()
	unreadable = true
	owners.Unlock()
	widgets.undefine(t)
	release()
	waittest.Until(t, "both owners are looked for, one of them again", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return reads > 2
	})
	tr.wait(t, "part-of-left<left")
	mu.Lock()
	left = nil
	mu.Unlock()
	tr.wait(t, "")
}

// delayedBody is the body of an answer. While it is delayed, what was read waits until a channel
// is closed.
type delayedBody struct {
	io.ReadCloser
	delayed *atomic.Bool
	until   <-chan struct{}
}

func (b delayedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.delayed.Load() {
		<-b.until
	}
	return n, err
}
