package referrers

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/references"
)

// The media types of the answers. They have the form of Kubernetes' transformations of objects. A server without the index answers 406.
const (
	// ReferencesType is for a GET of a ConfigMap or a Secret, which need not exist. The answer is References.
	ReferencesType = "application/json;as=References;g=series.holdfast.dev;v=v1"
	// UnusedType is for a list of ConfigMaps or Secrets. The answer is an UnusedList. The parameter all=true of the query adds the objects that
	// are not immutable.
	UnusedType = "application/json;as=UnusedList;g=series.holdfast.dev;v=v1"

	apiVersion = "series.holdfast.dev/v1"
)

// References are the objects that refer to a ConfigMap or a Secret.
type References struct {
	metav1.TypeMeta `json:",inline"`
	Object          Object `json:"object"`
	// Referrers are the objects that refer to the object and that the user may get.
	Referrers []Referrer `json:"referrers"`
	// Hidden is the number of those that the user may not get.
	Hidden int `json:"hidden,omitempty"`
	// More is the number of those that are left out, because there are too many.
	More int `json:"more,omitempty"`
	// Pins are the pods that have files of the object.
	Pins []Pin `json:"pins,omitempty"`
	// UnusedSince is when the server noticed that no object refers to the object. It is nil if one does, or if the object does not exist.
	UnusedSince *time.Time `json:"unusedSince,omitempty"`
	// Incomplete is why there may be further referrers, empty if there are none.
	Incomplete string `json:"incomplete,omitempty"`
}

// Object is a ConfigMap or a Secret.
type Object struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Exists is false if there is no such object. It then has none of the following fields.
	Exists    bool      `json:"exists"`
	UID       types.UID `json:"uid,omitempty"`
	Immutable bool      `json:"immutable,omitempty"`
	Series    string    `json:"series,omitempty"`
}

// Referrer is an object that refers to another one.
type Referrer struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	// Paths are the places of the references.
	Paths []string `json:"paths,omitempty"`
}

// Pin is a pod that has files of an object, also if the object was deleted or replaced since.
type Pin struct {
	Pod  string    `json:"pod"`
	Node string    `json:"node,omitempty"`
	UID  types.UID `json:"uid"`
}

// UnusedList are objects to which no object refers.
type UnusedList struct {
	metav1.TypeMeta `json:",inline"`
	Items           []Unused `json:"items"`
	// More is the number of those that are left out, because there are too many.
	More int `json:"more,omitempty"`
	// Incomplete is why an object may be referenced nevertheless, empty if none is.
	Incomplete string `json:"incomplete,omitempty"`
}

// Unused is an object to which no object refers.
type Unused struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid"`
	Immutable bool      `json:"immutable"`
	Since     time.Time `json:"since"`
}

// maxUnused is how many objects an UnusedList has.
const maxUnused = 10_000

// unused returns the objects of a kind to which no object refers, in a namespace or, if it is empty, in all.
func (x *Index) unused(kind references.Kind, namespace string, mutable bool) UnusedList {
	list := UnusedList{TypeMeta: metav1.TypeMeta{APIVersion: apiVersion, Kind: "UnusedList"}, Items: []Unused{}}
	x.mu.Lock()
	for t := range x.targets.of(namespace) {
		if t.kind == kind && !t.referenced && (mutable || t.immutable) {
			list.Items = append(list.Items, Unused{t.namespace, t.name, t.uid, t.immutable, t.since.UTC().Truncate(time.Second)})
		}
	}
	x.mu.Unlock()
	slices.SortFunc(list.Items, func(a, b Unused) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	if len(list.Items) > maxUnused {
		list.Items, list.More = list.Items[:maxUnused], len(list.Items)-maxUnused
	}
	list.Incomplete = x.Incomplete(namespace)
	return list
}

// referrer is an object that the index knows to refer to another one.
type referrer struct {
	kind *kind
	names
	// all says that the object counts as a reference to every object of its namespace, or of all if it has none.
	all bool
}

// referrersOf returns the objects that refer to an object, sorted.
func (x *Index) referrersOf(kind references.Kind, namespace, name string) []referrer {
	x.mu.Lock()
	defer x.mu.Unlock()
	keys := x.keysOf(kind, namespace, name, x.granted)
	all := []key{x.key(kind, namespace, ""), x.key(references.Either, namespace, ""), x.key(references.Either, "", "") | everywhere}
	has := func(in []key, some []key) bool {
		return slices.ContainsFunc(some, func(one key) bool { _, ok := slices.BinarySearch(in, one); return ok })
	}
	var found []referrer
	for _, k := range x.kinds {
		add := func(in string) {
			for object, refs := range k.objects[in] {
				if has(refs, keys) {
					found = append(found, referrer{k, names{in, object}, has(refs, all)})
				}
			}
		}
		if len(x.granted[namespace]) == 0 {
			add("")
			add(namespace)
		} else { // objects of other namespaces may refer to the object
			for in := range k.objects {
				add(in)
			}
		}
		for object, patterns := range k.patterns {
			if matches(patterns, kind, namespace, name) {
				found = append(found, referrer{k, object, false})
			}
		}
	}
	slices.SortFunc(found, func(a, b referrer) int {
		return cmp.Or(cmp.Compare(a.kind.resource.String(), b.kind.resource.String()),
			cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
	})
	return slices.CompactFunc(found, func(a, b referrer) bool { return a.kind == b.kind && a.names == b.names })
}

// pinsOf returns the pods that have files of an object, sorted.
func (x *Index) pinsOf(kind references.Kind, namespace, name string) []Pin {
	x.mu.Lock()
	defer x.mu.Unlock()
	var found []Pin
	for pod, pinned := range x.pins[namespace] {
		for _, pin := range references.ParsePins(pinned.text) {
			if pin.Kind == kind && pin.Name == name {
				found = append(found, Pin{Pod: pod, Node: pinned.node, UID: pin.UID})
			}
		}
	}
	slices.SortFunc(found, func(a, b Pin) int { return cmp.Or(cmp.Compare(a.Pod, b.Pod), cmp.Compare(a.UID, b.UID)) })
	return found
}
