package native

import (
	"maps"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func otherAnnotations(newMeta, oldMeta metav1.Object) bool {
	return !maps.Equal(newMeta.GetAnnotations(), oldMeta.GetAnnotations())
}

func otherLabels(newMeta, oldMeta metav1.Object) bool {
	return !maps.Equal(newMeta.GetLabels(), oldMeta.GetLabels())
}

// keepSecretNames keeps only the names of the secrets of a service account. They are in its
// namespace.
func keepSecretNames(obj runtime.Object) {
	secrets := obj.(*corev1.ServiceAccount).Secrets
	for i := range secrets {
		secrets[i] = corev1.ObjectReference{Name: secrets[i].Name}
	}
}

// prepareDaemonSet starts to count the templates of a DaemonSet, for controllers that know the
// annotation only.
func prepareDaemonSet(obj runtime.Object) {
	set := obj.(*appsv1.DaemonSet)
	setTemplateGeneration(set, max(1, templateGeneration(set)))
}

func countTemplates(newObj, oldObj runtime.Object) {
	updated, old := newObj.(*appsv1.DaemonSet), oldObj.(*appsv1.DaemonSet)
	generation := templateGeneration(old)
	if !apiequality.Semantic.DeepEqual(updated.Spec.Template, old.Spec.Template) {
		generation++
	}
	setTemplateGeneration(updated, generation)
}

func templateGeneration(set *appsv1.DaemonSet) int64 {
	// A text that is no number counts as zero.
	number, err := strconv.ParseInt(set.Annotations[appsv1.DeprecatedTemplateGeneration], 10, 64)
	if err != nil {
		return 0
	}
	return number
}

func setTemplateGeneration(set *appsv1.DaemonSet, generation int64) {
	set.Annotations = maps.Clone(set.Annotations)
	if set.Annotations == nil {
		set.Annotations = map[string]string{}
	}
	set.Annotations[appsv1.DeprecatedTemplateGeneration] = strconv.FormatInt(generation, 10)
}

// dropTopology removes the topology of endpoints, which only v1beta1 had. A node name that the stored
// slice has in the topology moves to its own field.
func dropTopology(newObj, oldObj runtime.Object) {
	updated, old := newObj.(*discoveryv1.EndpointSlice), oldObj.(*discoveryv1.EndpointSlice)
	if apiequality.Semantic.DeepEqual(updated.Endpoints, old.Endpoints) {
		return
	}
	for i := range updated.Endpoints {
		endpoint := &updated.Endpoints[i]
		node, ok := endpoint.DeprecatedTopology[corev1.LabelHostname]
		isStored := slices.ContainsFunc(old.Endpoints, func(e discoveryv1.Endpoint) bool {
			return e.DeprecatedTopology[corev1.LabelHostname] == node
		})
		if ok && isStored && node != "" && endpoint.NodeName == nil {
			endpoint.NodeName = &node
		}
		endpoint.DeprecatedTopology = nil
	}
}
