package garbage

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// definitions are the CustomResourceDefinitions that exist or existed. A nil *definitions
// ignores changes.
type definitions struct {
	// changed receives a value when a definition changed.
	changed chan struct{}

	mu sync.Mutex
	// exist says for the resource of each definition whether the definition exists, and not
	// only existed. The name of a definition, PLURAL.GROUP, is that of its resource.
	exist map[schema.GroupResource]bool
}

func newDefinitions() *definitions {
	return &definitions{changed: make(chan struct{}, 1), exist: map[schema.GroupResource]bool{}}
}

// set records a definition that was created or changed. If exists is false, the definition
// was deleted.
func (d *definitions) set(name string, exists bool) {
	if d == nil {
		return
	}
	d.mu.Lock()
	d.exist[schema.ParseGroupResource(name)] = exists
	d.mu.Unlock()
	d.notify()
}

// replace replaces all definitions.
func (d *definitions) replace(objects []*object) {
	if d == nil {
		return
	}
	d.mu.Lock()
	for resource := range d.exist {
		d.exist[resource] = false
	}
	for _, o := range objects {
		d.exist[schema.ParseGroupResource(o.name)] = true
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

// had reports whether a definition defines or defined the resource.
func (d *definitions) had(resource schema.GroupResource) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, ok := d.exist[resource]
	return ok
}

// served records that the server began to serve a resource. If the definition of the resource
// was deleted before, another server serves the resource now, and the definition is forgotten.
func (d *definitions) served(resource schema.GroupResource) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.exist[resource] {
		delete(d.exist, resource)
	}
}
