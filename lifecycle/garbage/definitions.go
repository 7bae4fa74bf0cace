package garbage

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// definitions are the CustomResourceDefinitions that exist. A nil *definitions ignores
// changes.
type definitions struct {
	// changed receives a value when a definition changed.
	changed chan struct{}

	mu sync.Mutex
	// resources are the resources of the definitions. The name of a definition, PLURAL.GROUP,
	// is that of its resource.
	resources map[schema.GroupResource]struct{}
}

func newDefinitions() *definitions {
	return &definitions{changed: make(chan struct{}, 1), resources: map[schema.GroupResource]struct{}{}}
}

// set records a definition that was created or changed. If exists is false, the definition
// was deleted.
func (d *definitions) set(name string, exists bool) {
	if d == nil {
		return
	}
	d.mu.Lock()
	if exists {
		d.resources[schema.ParseGroupResource(name)] = struct{}{}
	} else {
		delete(d.resources, schema.ParseGroupResource(name))
	}
	d.mu.Unlock()
	d.notify()
}

// replace replaces all definitions.
func (d *definitions) replace(objects []*object) {
	if d == nil {
		return
	}
	d.mu.Lock()
	clear(d.resources)
	for _, o := range objects {
		d.resources[schema.ParseGroupResource(o.name)] = struct{}{}
	}
	d.mu.Unlock()
	d.notify()
}

func (d *definitions) notify() {
	select {
	case d.changed <- struct{}{}:
	default:
	}
}

// has reports whether a definition defines the resource.
func (d *definitions) has(resource schema.GroupResource) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, ok := d.resources[resource]
	return ok
}
