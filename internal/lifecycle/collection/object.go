package collection

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/admission/keep"
	"holdfast.dev/holdfast/internal/references"
	"holdfast.dev/holdfast/internal/series"
)

// manager is the field manager of marks, and the source of Events.
const manager = "holdfast-collector"

// object is what the controller holds of a ConfigMap, a Secret or a namespace.
type object struct {
	metav1.ObjectMeta
	kind references.Kind
	// immutable says that the data cannot change.
	immutable bool
	// controlled says that a controller owns the object.
	controlled bool
	// marked says that the managed fields attribute the mark to this controller.
	marked bool
}

// key names an object in the queue. Without a name it is that of a series, and without both that of a namespace.
type key struct {
	kind                    references.Kind
	namespace, name, series string
}

func (o *object) key() key { return key{kind: o.kind, namespace: o.Namespace, name: o.Name} }

// seriesKey returns the key of the series of which an object is a member. ok is false if it is in none, or if it is being deleted.
func (o *object) seriesKey() (_ key, ok bool) {
	name := o.Labels[series.Label]
	return key{kind: o.kind, namespace: o.Namespace, series: name}, name != "" && o.immutable && o.DeletionTimestamp == nil
}

// isRelevant reports whether an object may be selected: by itself, or by its namespace.
func (o *object) isRelevant() bool {
	return o.immutable && (o.Labels[series.CollectLabel] != "" || o.Labels[series.Label] != "")
}

// shrink returns what the controller holds of an object. The informers call it for each object that they read.
func shrink(obj any) (any, error) {
	switch obj := obj.(type) {
	case *corev1.ConfigMap:
		return newObject(references.ConfigMap, obj.ObjectMeta, obj.Immutable), nil
	case *corev1.Secret:
		return newObject(references.Secret, obj.ObjectMeta, obj.Immutable), nil
	case *corev1.Namespace:
		return newObject(0, obj.ObjectMeta, nil), nil
	}
	return obj, nil
}

func newObject(kind references.Kind, meta metav1.ObjectMeta, immutable *bool) *object {
	return &object{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: meta.Namespace, Name: meta.Name, UID: meta.UID, ResourceVersion: meta.ResourceVersion,
			CreationTimestamp: meta.CreationTimestamp, DeletionTimestamp: meta.DeletionTimestamp,
			Labels: only(meta.Labels, series.Label, series.CollectLabel),
			Annotations: only(meta.Annotations, series.AfterAnnotation, series.KeepLastAnnotation, series.UnusedSinceAnnotation,
				series.RecreatedAnnotation, keep.Annotation),
		},
		kind:       kind,
		immutable:  immutable != nil && *immutable,
		controlled: metav1.GetControllerOfNoCopy(&meta) != nil,
		marked:     isOwnMark(&meta),
	}
}

// only returns the entries of a map with some keys, nil if there are none.
func only(all map[string]string, keys ...string) map[string]string {
	var found map[string]string
	for _, k := range keys {
		if value, ok := all[k]; ok {
			if found == nil {
				found = map[string]string{}
			}
			found[k] = value
		}
	}
	return found
}

// isOwnMark reports whether an object has a mark that this controller set.
func isOwnMark(meta *metav1.ObjectMeta) bool {
	if _, ok := meta.Annotations[series.UnusedSinceAnnotation]; !ok {
		return false
	}
	for _, entry := range meta.ManagedFields {
		if entry.Manager == manager && entry.FieldsV1 != nil && strings.Contains(entry.FieldsV1.GetRawString(), `"f:`+series.UnusedSinceAnnotation+`"`) {
			return true
		}
	}
	return false
}
