package collection_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"holdfast.dev/holdfast/internal/references"
	"holdfast.dev/holdfast/internal/simulation"
)

// simClient is the client of one run of the controller. Each of its requests waits for the scheduler, and may fail.
type simClient struct {
	kubernetes.Interface
	typedcorev1.CoreV1Interface
	world *simulation.World
	store *simStore
	watch *simWatch
}

// simWatch is the watch of ConfigMaps. The scheduler lets it deliver its next event.
type simWatch struct {
	events chan watch.Event
	next   int
	ended  bool
}

// Stop implements watch.Interface.
func (*simWatch) Stop() {}

// ResultChan implements watch.Interface.
func (w *simWatch) ResultChan() <-chan watch.Event { return w.events }

// IsWatchListSemanticsUnSupported tells the informers to list before they watch.
func (*simClient) IsWatchListSemanticsUnSupported() bool { return true }

// CoreV1 implements kubernetes.Interface.
func (c *simClient) CoreV1() typedcorev1.CoreV1Interface { return c }

// ConfigMaps implements typedcorev1.ConfigMapsGetter.
func (c *simClient) ConfigMaps(string) typedcorev1.ConfigMapInterface {
	return simConfigMaps{simClient: c}
}

// Secrets implements typedcorev1.SecretsGetter.
func (c *simClient) Secrets(string) typedcorev1.SecretInterface { return simSecrets{simClient: c} }

// Namespaces implements typedcorev1.NamespacesGetter.
func (c *simClient) Namespaces() typedcorev1.NamespaceInterface { return simNamespaces{} }

// Events implements typedcorev1.EventsGetter.
func (c *simClient) Events(string) typedcorev1.EventInterface { return simEvents{} }

// request waits for the scheduler. A request may fail, or its answer may be lost.
func (c *simClient) request(ctx context.Context, what string, do func() error) error {
	random, err := c.world.Wait(ctx, what)
	if err != nil {
		return err
	}
	fate := 100
	if random != nil {
		fate = random.IntN(100)
	}
	if fate < 5 {
		return apierrors.NewServerTimeout(corev1.Resource("objects"), "request", 1)
	}
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	if err := do(); err != nil || fate >= 10 {
		return err
	}
	return apierrors.NewTimeoutError("the answer is lost", 1)
}

// simConfigMaps are the ConfigMaps of the store.
type simConfigMaps struct {
	typedcorev1.ConfigMapInterface
	*simClient
}

// Get implements typedcorev1.ConfigMapInterface.
func (c simConfigMaps) Get(ctx context.Context, name string, _ metav1.GetOptions) (found *corev1.ConfigMap, err error) {
	c.store.mu.Lock()
	c.store.decided[name] = c.store.used[name]
	c.store.mu.Unlock()
	err = c.request(ctx, "reads "+name, func() error {
		if c.store.configMaps[name] == nil {
			return apierrors.NewNotFound(corev1.Resource("configmaps"), name)
		}
		found = c.store.configMaps[name].DeepCopy()
		return nil
	})
	return found, err
}

// Patch implements typedcorev1.ConfigMapInterface.
func (c simConfigMaps) Patch(
	ctx context.Context, name string, _ types.PatchType, data []byte, options metav1.PatchOptions, _ ...string,
) (stored *corev1.ConfigMap, err error) {
	var patch struct {
		Metadata struct {
			UID             types.UID
			ResourceVersion string
			Annotations     map[string]*string
		}
	}
	if err := json.Unmarshal(data, &patch); err != nil {
		return nil, err
	}
	if options.FieldManager != simManager {
		return nil, fmt.Errorf("the field manager is %q", options.FieldManager)
	}
	verb := "marks "
	for _, value := range patch.Metadata.Annotations {
		if value == nil {
			verb = "unmarks "
		}
	}
	err = c.request(ctx, verb+name, func() error {
		found, err := c.store.annotate(name, patch.Metadata.UID, patch.Metadata.ResourceVersion, patch.Metadata.Annotations)
		if err == nil {
			stored = found.DeepCopy()
		}
		return err
	})
	return stored, err
}

// fenceKey is the key of the revision at which the references were read, in the context of a delete.
type fenceKey struct{}

// Delete implements typedcorev1.ConfigMapInterface.
func (c simConfigMaps) Delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	fence, ok := ctx.Value(fenceKey{}).(int)
	if !ok {
		return errors.New("the references were not read before the delete")
	}
	return c.request(ctx, "deletes "+name, func() error { return c.store.collect(name, options.Preconditions, fence) })
}

// List implements typedcorev1.ConfigMapInterface.
func (c simConfigMaps) List(ctx context.Context, _ metav1.ListOptions) (list *corev1.ConfigMapList, err error) {
	list = &corev1.ConfigMapList{}
	err = c.request(ctx, "lists the ConfigMaps", func() error {
		list.Items = nil
		for _, o := range c.store.configMaps {
			list.Items = append(list.Items, *o.DeepCopy())
		}
		list.ResourceVersion = strconv.Itoa(c.store.revision)
		return nil
	})
	return list, err
}

// Watch implements typedcorev1.ConfigMapInterface.
func (c simConfigMaps) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	w := &simWatch{events: make(chan watch.Event, 1000)}
	from, err := strconv.Atoi(options.ResourceVersion)
	if err != nil {
		return nil, err
	}
	return w, c.request(ctx, "watches the ConfigMaps", func() error {
		for w.next < len(c.store.events) && c.store.events[w.next].revision <= from {
			w.next++
		}
		c.simClient.watch = w
		return nil
	})
}

// deliver delivers the next event of the watch, empty if there is none. The caller holds the lock of the store.
func (c *simClient) deliver() string {
	w := c.watch
	if w == nil || w.ended {
		return ""
	}
	for w.next < len(c.store.events) {
		e := c.store.events[w.next]
		w.next++
		if e.object != nil {
			w.events <- watch.Event{Type: e.kind, Object: e.object.DeepCopy()}
			return "delivers " + e.String()
		}
	}
	return ""
}

// breakWatch ends the watch, so that the informer begins another one.
func (c *simClient) breakWatch() string {
	if c.watch == nil || c.watch.ended {
		return ""
	}
	c.watch.ended = true
	close(c.watch.events)
	return "breaks"
}

// simSecrets has the Secret of the controller. No other Secret exists.
type simSecrets struct {
	typedcorev1.SecretInterface
	*simClient
}

// List implements typedcorev1.SecretInterface.
func (simSecrets) List(context.Context, metav1.ListOptions) (*corev1.SecretList, error) {
	return &corev1.SecretList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}, nil
}

// Watch implements typedcorev1.SecretInterface.
func (simSecrets) Watch(context.Context, metav1.ListOptions) (watch.Interface, error) {
	return &simWatch{}, nil
}

// Get implements typedcorev1.SecretInterface.
func (c simSecrets) Get(ctx context.Context, name string, _ metav1.GetOptions) (found *corev1.Secret, err error) {
	err = c.request(ctx, "reads the memory", func() error {
		if c.store.memory == nil {
			return apierrors.NewNotFound(corev1.Resource("secrets"), name)
		}
		found = c.store.memory.DeepCopy()
		return nil
	})
	return found, err
}

// Create implements typedcorev1.SecretInterface.
func (c simSecrets) Create(ctx context.Context, secret *corev1.Secret, _ metav1.CreateOptions) (stored *corev1.Secret, err error) {
	err = c.request(ctx, "stores the memory", func() error {
		if c.store.memory != nil {
			return apierrors.NewAlreadyExists(corev1.Resource("secrets"), secret.Name)
		}
		stored = c.keep(secret)
		return nil
	})
	return stored, err
}

// Update implements typedcorev1.SecretInterface.
func (c simSecrets) Update(ctx context.Context, secret *corev1.Secret, _ metav1.UpdateOptions) (stored *corev1.Secret, err error) {
	err = c.request(ctx, "stores the memory", func() error {
		if c.store.memory == nil || c.store.memory.ResourceVersion != secret.ResourceVersion {
			return apierrors.NewConflict(corev1.Resource("secrets"), secret.Name, errors.New("another version"))
		}
		stored = c.keep(secret)
		return nil
	})
	return stored, err
}

// keep stores the Secret.
func (c simSecrets) keep(secret *corev1.Secret) *corev1.Secret {
	c.store.revision++
	c.store.memory = secret.DeepCopy()
	c.store.memory.ResourceVersion = strconv.Itoa(c.store.revision)
	return c.store.memory.DeepCopy()
}

// simNamespaces has one namespace, which selects the members of series.
type simNamespaces struct{ typedcorev1.NamespaceInterface }

// List implements typedcorev1.NamespaceInterface.
func (simNamespaces) List(context.Context, metav1.ListOptions) (*corev1.NamespaceList, error) {
	labels := map[string]string{"holdfast.dev/collect": "unused"}
	return &corev1.NamespaceList{
		ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: []corev1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: simNamespace, Labels: labels}}},
	}, nil
}

// Watch implements typedcorev1.NamespaceInterface.
func (simNamespaces) Watch(context.Context, metav1.ListOptions) (watch.Interface, error) {
	return &simWatch{}, nil
}

// simEvents takes Events.
type simEvents struct{ typedcorev1.EventInterface }

// CreateWithEventNamespace implements typedcorev1.EventExpansion.
func (simEvents) CreateWithEventNamespace(event *corev1.Event) (*corev1.Event, error) {
	return event, nil
}

// PatchWithEventNamespace implements typedcorev1.EventExpansion.
func (simEvents) PatchWithEventNamespace(event *corev1.Event, _ []byte) (*corev1.Event, error) {
	return event, nil
}

// simReader is the index of a server, which also reads the references where they are stored.
type simReader struct {
	*simIndex
	client *simClient
}

// Unreferenced implements collection.Index.
func (r simReader) Unreferenced(ctx context.Context, _ references.Kind, _, name string) (fenced context.Context, ok bool, err error) {
	err = r.client.request(ctx, "checks the references to "+name, func() error {
		fenced, ok = context.WithValue(ctx, fenceKey{}, r.store.revision), !r.store.isReferenced(name)
		return nil
	})
	return fenced, ok, err
}
