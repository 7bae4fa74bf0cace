package replacement

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Dependents says what becomes of the dependents of a replaced object, which are the objects with an owner reference to its UID.
type Dependents string

// What becomes of dependents.
const (
	// Collect leaves them to the garbage collector, which deletes them as after a deletion.
	Collect Dependents = ""
	// Orphan removes their references to the old object.
	Orphan Dependents = "orphan"
	// Adopt gives their references the UID of the new object.
	Adopt Dependents = "adopt"
)

// The query parameters of a replacement that say what becomes of the dependents. The first one is that of a deletion.
const (
	PolicyParameter = "propagationPolicy"
	AdoptParameter  = "adopt"
)

// ParseDependents reads the query of a replacement.
func ParseDependents(query url.Values) (Dependents, error) {
	adopts := false
	if text := query.Get(AdoptParameter); text != "" {
		var err error
		if adopts, err = strconv.ParseBool(text); err != nil {
			return "", fmt.Errorf("%s=%q: must be true or false", AdoptParameter, text)
		}
	}
	switch policy := metav1.DeletionPropagation(query.Get(PolicyParameter)); policy {
	case "", metav1.DeletePropagationBackground:
		if adopts {
			return "", errors.New("adopt=true needs propagationPolicy=Orphan: otherwise the dependents are deleted with the old object")
		}
		return Collect, nil
	case metav1.DeletePropagationOrphan:
		if adopts {
			return Adopt, nil
		}
		return Orphan, nil
	case metav1.DeletePropagationForeground:
		return "", errors.New("propagationPolicy=Foreground: a replacement cannot wait until the dependents are deleted, because it is one write: " +
			"use Background or Orphan")
	default:
		return "", fmt.Errorf("propagationPolicy=%q: must be Background or Orphan", policy)
	}
}

// Query returns the query parameters of a replacement.
func (d Dependents) Query() url.Values {
	query := url.Values{}
	if d != Collect {
		query.Set(PolicyParameter, string(metav1.DeletePropagationOrphan))
	}
	if d == Adopt {
		query.Set(AdoptParameter, "true")
	}
	return query
}

// Record says that an object was replaced, and that its dependents must not be deleted with it. The store writes it with the new object, in
// one transaction.
type Record struct {
	// Group, Kind, Namespace and Name are those of both objects.
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Old is the UID of the replaced object.
	Old types.UID `json:"old"`
	// New is the UID that the references of the dependents get. If it is empty, they are removed.
	New types.UID `json:"new,omitempty"`
	// Time is when the object was replaced.
	Time time.Time `json:"time"`
}

// Names reports whether an owner reference of an object in a namespace names the replaced object.
func (r *Record) Names(ref metav1.OwnerReference, namespace string) bool {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	return err == nil && ref.UID == r.Old && ref.Name == r.Name && ref.Kind == r.Kind && gv.Group == r.Group &&
		(r.Namespace == "" || r.Namespace == namespace)
}

// Change returns the owner references that an object in a namespace has after the replacement. A second reference to the new object would
// not be valid, so there is at most one. It may change the slice.
func (r *Record) Change(refs []metav1.OwnerReference, namespace string) []metav1.OwnerReference {
	adopted := r.New == "" || slices.ContainsFunc(refs, func(ref metav1.OwnerReference) bool { return ref.UID == r.New })
	kept := refs[:0]
	for _, ref := range refs {
		if r.Names(ref, namespace) {
			if adopted {
				continue
			}
			ref.UID, adopted = r.New, true
		}
		kept = append(kept, ref)
	}
	return kept
}
