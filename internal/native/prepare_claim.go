package native

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// copyDataSource copies dataSource of a claim to dataSourceRef, or the other way round. A reference to
// another namespace is not copied, because dataSource cannot express it.
func copyDataSource(newObj, oldObj runtime.Object) {
	spec, old := &newObj.(*corev1.PersistentVolumeClaim).Spec, &oldObj.(*corev1.PersistentVolumeClaim).Spec
	// The feature CrossNamespaceVolumeDataSource is off. Kubernetes ignores the reference then.
	if ref := spec.DataSourceRef; ref != nil && ref.Namespace != nil && *ref.Namespace != "" && old.DataSourceRef == nil {
		spec.DataSourceRef = nil
	}
	if old.DataSource == nil && old.DataSourceRef == nil && spec.DataSourceRef == nil && !isVolumeData(spec.DataSource) {
		spec.DataSource = nil
	}
	switch from, ref := spec.DataSource, spec.DataSourceRef; {
	case from != nil && ref == nil:
		spec.DataSourceRef = &corev1.TypedObjectReference{Kind: from.Kind, Name: from.Name, APIGroup: copyOf(from.APIGroup)}
	case ref != nil && from == nil && (ref.Namespace == nil || *ref.Namespace == ""):
		spec.DataSource = &corev1.TypedLocalObjectReference{Kind: ref.Kind, Name: ref.Name, APIGroup: copyOf(ref.APIGroup)}
	}
}

func copyOf[T any](value *T) *T {
	if value == nil {
		return nil
	}
	return new(*value)
}

// isVolumeData reports whether a volume can be made of an object: another claim or a snapshot.
// Kubernetes ignores other objects in dataSource.
func isVolumeData(source *corev1.TypedLocalObjectReference) bool {
	if source == nil {
		return false
	}
	group := ""
	if source.APIGroup != nil {
		group = *source.APIGroup
	}
	return group == "" && source.Kind == "PersistentVolumeClaim" || group == "snapshot.storage.k8s.io" && source.Kind == "VolumeSnapshot"
}
