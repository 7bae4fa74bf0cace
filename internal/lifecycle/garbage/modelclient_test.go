package garbage_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"

	"holdfast.dev/holdfast/internal/replacement"
	"holdfast.dev/holdfast/internal/simulation"
)

// modelClient is the client of one run of the collector. Each of its requests waits for the scheduler, and may fail.
type modelClient struct {
	metadata.Interface
	discovery.DiscoveryInterfaceWithContext
	world   *simulation.World
	store   *modelStore
	watches map[string]*modelWatch
	// shown is the newest revision of each kind that the collector has seen. An older one is never shown.
	shown map[string]int
}

// modelWatch is the watch of a kind. The scheduler lets it deliver its next event.
type modelWatch struct {
	events chan watch.Event
	next   int
	ended  bool
}

// Stop implements watch.Interface.
func (w *modelWatch) Stop() {}

// ResultChan implements watch.Interface.
func (w *modelWatch) ResultChan() <-chan watch.Event { return w.events }

// IsWatchListSemanticsUnSupported tells the reflectors to list before they watch.
func (c *modelClient) IsWatchListSemanticsUnSupported() bool { return true }

// ServerPreferredResourcesWithContext implements discovery.DiscoveryInterfaceWithContext.
func (c *modelClient) ServerPreferredResourcesWithContext(context.Context) ([]*metav1.APIResourceList, error) {
	list := &metav1.APIResourceList{GroupVersion: modelGroup + "/v1"}
	for _, k := range modelKinds {
		list.APIResources = append(list.APIResources, metav1.APIResource{
			Name: k.resource, Kind: k.kind, Namespaced: k.namespaced, Verbs: metav1.Verbs{"get", "list", "watch", "patch", "delete"},
		})
	}
	return []*metav1.APIResourceList{list}, nil
}

// Resource implements metadata.Interface.
func (c *modelClient) Resource(resource schema.GroupVersionResource) metadata.Getter {
	i := slices.IndexFunc(modelKinds, func(k modelKind) bool { return k.resource == resource.Resource })
	return modelObjects{modelClient: c, kind: modelKinds[i].kind}
}

// modelObjects are the objects of a kind in a namespace.
type modelObjects struct {
	metadata.ResourceInterface
	*modelClient
	kind, namespace string
}

// Namespace implements metadata.Getter.
func (o modelObjects) Namespace(namespace string) metadata.ResourceInterface {
	o.namespace = namespace
	return o
}

// request waits for the scheduler, and then changes or reads the store. The scheduler may let it fail before that, or let its answer be lost.
func (c *modelClient) request(ctx context.Context, what string, do func() error) error {
	random, err := c.world.Wait(ctx, what)
	if err != nil {
		return err
	}
	fate := 100
	if random != nil {
		fate = random.IntN(100)
	}
	if fate < 6 {
		return apierrors.NewServerTimeout(schema.GroupResource{}, "request", 1)
	}
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	if err := do(); err != nil || fate >= 10 {
		return err
	}
	return apierrors.NewTimeoutError("the answer is lost", 1)
}

// Get implements metadata.ResourceInterface.
func (o modelObjects) Get(ctx context.Context, name string, _ metav1.GetOptions, _ ...string) (found *modelMeta, err error) {
	key := modelKey{o.kind, o.namespace, name}
	err = o.request(ctx, "reads "+key.String(), func() error {
		if o.store.objects[key] == nil {
			return apierrors.NewNotFound(schema.GroupResource{}, name)
		}
		found = o.store.objects[key].DeepCopy()
		return nil
	})
	return found, err
}

// Delete implements metadata.ResourceInterface.
func (o modelObjects) Delete(ctx context.Context, name string, options metav1.DeleteOptions, _ ...string) error {
	key := modelKey{o.kind, o.namespace, name}
	return o.request(ctx, fmt.Sprintf("deletes %s with the policy %s", key, *options.PropagationPolicy), func() error {
		if p := options.Preconditions; p == nil || p.UID == nil || p.ResourceVersion == nil {
			return errors.New("the collector deletes only with preconditions")
		}
		before := o.store.objects[key]
		wrong := o.store.wrong
		if before != nil {
			o.store.judge(key)
		}
		err := o.store.delete(key, options)
		if err != nil {
			o.store.wrong = wrong // it did not delete the object
		}
		return err
	})
}

// Patch implements metadata.ResourceInterface.
func (o modelObjects) Patch(
	ctx context.Context, name string, _ types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string,
) (stored *modelMeta, err error) {
	var patch struct {
		Metadata struct {
			UID             types.UID
			ResourceVersion string
			OwnerReferences *[]metav1.OwnerReference
			Finalizers      *[]string
		}
	}
	if err := json.Unmarshal(data, &patch); err != nil {
		return nil, err
	}
	key, meta := modelKey{o.kind, o.namespace, name}, patch.Metadata
	what := "patches owners of " + key.String()
	if meta.Finalizers != nil {
		what = "patches finalizers of " + key.String()
	}
	err = o.request(ctx, what, func() error {
		before := o.store.objects[key]
		switch {
		case before == nil:
			return apierrors.NewNotFound(schema.GroupResource{}, name)
		case before.UID != meta.UID || before.ResourceVersion != meta.ResourceVersion:
			return apierrors.NewConflict(schema.GroupResource{}, name, errors.New("another version"))
		}
		o.store.change(key, func(changed *modelMeta) {
			if meta.OwnerReferences != nil {
				changed.OwnerReferences = *meta.OwnerReferences
			}
			if meta.Finalizers != nil {
				changed.Finalizers = *meta.Finalizers
			}
			stored = changed
		})
		return nil
	})
	return stored, err
}

// List implements metadata.ResourceInterface. The first list of a reflector may be older than the store, as that of a watch cache.
func (o modelObjects) List(ctx context.Context, options metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	random, err := o.world.Wait(ctx, "lists "+o.kind)
	if err != nil {
		return nil, err
	}
	o.store.mu.Lock()
	defer o.store.mu.Unlock()
	revision := o.store.revision
	if options.ResourceVersion == "0" {
		if random != nil {
			revision -= random.IntN(4)
		}
		revision = max(revision, o.shown[o.kind])
		o.shown[o.kind] = revision
	}
	list := &metav1.PartialObjectMetadataList{Items: o.store.asOf(o.kind, revision)}
	list.ResourceVersion = strconv.Itoa(revision)
	if o.namespace != "" {
		list.Items = slices.DeleteFunc(list.Items, func(item modelMeta) bool { return item.Namespace != o.namespace })
	}
	return list, nil
}

// Watch implements metadata.ResourceInterface.
func (o modelObjects) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	random, err := o.world.Wait(ctx, "watches "+o.kind)
	if err != nil {
		return nil, err
	}
	if random != nil && random.IntN(4) == 0 {
		return nil, apierrors.NewResourceExpired("the revision is gone")
	}
	from, err := strconv.Atoi(options.ResourceVersion)
	if err != nil {
		return nil, err
	}
	o.store.mu.Lock()
	defer o.store.mu.Unlock()
	w := &modelWatch{events: make(chan watch.Event, 1000)}
	for w.next < len(o.store.events[o.kind]) && o.store.events[o.kind][w.next].revision <= from {
		w.next++
	}
	o.watches[o.kind] = w
	return w, nil
}

// pending returns the kinds with events that their watch has not delivered.
func (c *modelClient) pending() []string {
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(c.watches)) {
		if w := c.watches[kind]; !w.ended && w.next < len(c.store.events[kind]) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// deliver delivers the next event of a kind.
func (c *modelClient) deliver(kind string) string {
	w := c.watches[kind]
	e := c.store.events[kind][w.next]
	w.next++
	c.shown[kind] = e.revision
	w.events <- watch.Event{Type: e.kind, Object: e.object}
	return fmt.Sprintf("delivers that %s is %s at %d", e.key, strings.ToLower(string(e.kind)), e.revision)
}

// breakWatch ends a watch, so that the reflector begins another one.
func (c *modelClient) breakWatch(r *rand.Rand) string {
	kind := modelKinds[r.IntN(len(modelKinds))].kind
	w := c.watches[kind]
	if w == nil || w.ended {
		return ""
	}
	w.ended = true
	close(w.events)
	return "breaks at " + kind
}

// Find implements garbage.Replaced.
func (c *modelClient) Find(ctx context.Context, old types.UID) (found *replacement.Record, err error) {
	err = c.request(ctx, "finds the record of "+string(old), func() error {
		if record, ok := c.store.records[old]; ok {
			found = &record
		}
		return nil
	})
	return found, err
}

// recordsOf are the records of replaced objects. Its method List differs from that of the client.
type recordsOf struct{ *modelClient }

// List implements garbage.Replaced.
func (c recordsOf) List(ctx context.Context) (all []replacement.Record, err error) {
	err = c.request(ctx, "lists the records", func() error {
		for _, old := range slices.Sorted(maps.Keys(c.store.records)) {
			all = append(all, c.store.records[old])
		}
		return nil
	})
	return all, err
}

// Remove implements garbage.Replaced.
func (c recordsOf) Remove(ctx context.Context, old types.UID) error {
	return c.request(ctx, "removes the record of "+string(old), func() error {
		if age := time.Since(c.store.records[old].Time); age < time.Hour {
			c.store.wrong = fmt.Errorf("the record of %s is removed after %s", old, age)
		}
		delete(c.store.records, old)
		return nil
	})
}
