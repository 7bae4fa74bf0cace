package rules

import (
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func storageRules() []rule {
	return []rule{
		onField[storagev1.StorageClass]("provisioner", labelKeyLower),
		onField[storagev1.StorageClass]("allowedTopologies", topologies),
		notRequired[corev1.TopologySelectorLabelRequirement]("key"),
		oneOf[storagev1.StorageClass]("reclaimPolicy"),
		onField[storagev1.StorageClass]("reclaimPolicy", func(r *report, policy corev1.PersistentVolumeReclaimPolicy) {
			if supported := []string{"Delete", "Retain"}; policy != "" && !slices.Contains(supported, string(policy)) {
				r.unsupported(policy, supported)
			}
		}),
		require[storagev1.StorageClass]("volumeBindingMode", ""),
		onField[storagev1.StorageClass]("parameters", parameters),
	}
}

func csiDriver(r *report, s string) {
	if len(s) > 63 {
		r.add(field.ErrorList{field.TooLong(r.path(), s, 63)})
	}
	if s != "" {
		r.invalidAll(s, validation.IsDNS1123Subdomain(strings.ToLower(s)))
	}
}

// labelKeyLower accepts a qualified name. Unlike in a label key, the prefix may have upper case
// letters.
func labelKeyLower(r *report, s string) {
	r.invalidAll(s, validation.IsQualifiedName(strings.ToLower(s)))
}

// parameters checks that a storage class has at most 512 parameters, with 256 KiB in total.
func parameters(r *report, p map[string]string) {
	const count, size = 512, 256 << 10
	if len(p) > count {
		r.add(field.ErrorList{field.TooLong(r.path(), "", count)})
		return
	}
	sum := 0
	for k, v := range p {
		if k == "" {
			r.invalid(k, "field can not be empty.")
		}
		sum += len(k) + len(v)
	}
	if sum > size {
		r.add(field.ErrorList{field.TooLong(r.path(), "", size)})
	}
}

// topologies checks the keys of allowed topologies, and that no two terms are equal.
func topologies(r *report, terms []corev1.TopologySelectorTerm) {
	for i := range terms {
		expressions := terms[i].MatchLabelExpressions
		for j, q := range expressions {
			r.invalidAll(q.Key, validation.IsQualifiedName(q.Key), i, "matchLabelExpressions", j, "key")
			if slices.ContainsFunc(expressions[:j], func(o corev1.TopologySelectorLabelRequirement) bool { return o.Key == q.Key }) {
				r.duplicate(q.Key, i, "matchLabelExpressions", j, "key")
			}
		}
		same := func(other corev1.TopologySelectorTerm) bool {
			return reflect.DeepEqual(topologyOf(other), topologyOf(terms[i]))
		}
		if len(expressions) == 0 || slices.ContainsFunc(terms[:i], same) {
			r.duplicate("", i, "matchLabelExpressions")
		}
	}
}

// topologyOf returns the sorted values of each key.
func topologyOf(term corev1.TopologySelectorTerm) map[string][]string {
	topology := map[string][]string{}
	for _, q := range term.MatchLabelExpressions {
		topology[q.Key] = slices.Compact(slices.Sorted(slices.Values(q.Values)))
	}
	return topology
}
