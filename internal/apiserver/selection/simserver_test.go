package selection_test

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"

	"holdfast.dev/holdfast/internal/access/node"
	"holdfast.dev/holdfast/internal/apiserver/referrers"
	"holdfast.dev/holdfast/internal/apiserver/selection"
	"holdfast.dev/holdfast/internal/apiserver/storage"
	"holdfast.dev/holdfast/internal/references"
)

// simServer is the part of a server that reads streams.
type simServer struct {
	selection *selection.Selection
	index     *referrers.Index
	readers   map[string]*simReader
	observers map[string]*simObserver
	// told is what a subscriber of the index knows of the objects: whether they are unused.
	told map[string]bool
	// seen is what the index knew of the objects at the last check.
	seen map[string]seen
}

// start starts a server, which must list everything.
func (s *sim) start() {
	v := &simServer{
		index: referrers.New(), selection: selection.New(&node.Index{}, simKinds["configmaps"], simKinds["secrets"]),
		readers: map[string]*simReader{}, observers: map[string]*simObserver{}, told: map[string]bool{}, seen: map[string]seen{},
	}
	definitions := schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}
	v.index.Start(referrers.Config{Stores: map[schema.GroupResource]*genericregistry.Store{
		corev1.Resource("pods"): {}, definitions: {},
	}})
	observers := v.index.Observe(map[schema.GroupResource]storage.Observer{
		corev1.Resource("pods"):       v.selection.Pods(),
		corev1.Resource("configmaps"): v.selection.Objects("configmaps"),
		corev1.Resource("secrets"):    v.selection.Objects("secrets"),
	})
	observers[definitions].Replace(nil, s.etcd.revision)
	v.index.Subscribe(v.tell)
	for _, resource := range simResources {
		v.observers[resource] = &simObserver{}
		v.readers[resource] = newSimReader(s, resource, storage.Observers{observers[corev1.Resource(resource)], v.observers[resource]})
	}
	s.server = v
}

// tell takes note of what the index tells its subscribers.
func (v *simServer) tell(kind references.Kind, namespace, name string) {
	for resource, of := range simReferences {
		if of == kind {
			_, v.told[resource+" "+namespace+"/"+name] = v.index.Unused(kind, namespace, name)
		}
	}
}
