package rules

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

func schedulingRules() []rule {
	return []rule{
		oneOf[corev1.Toleration]("operator"),
		onStruct(toleration),

		require[corev1.NodeSelector]("nodeSelectorTerms", "must have at least one node selector term"),
		skip[corev1.NodeSelectorTerm]("matchExpressions"),
		skip[corev1.NodeSelectorTerm]("matchFields"),
		onStruct(nodeSelectorValues),
		onStruct(func(r *report, t *corev1.NodeSelectorTerm) {
			for i := range t.MatchExpressions {
				r.under(func() { nodeRequirement(r, &t.MatchExpressions[i]) }, "matchExpressions", i)
			}
			for i := range t.MatchFields {
				r.under(func() { nodeField(r, &t.MatchFields[i]) }, "matchFields", i)
			}
		}),
		onField[corev1.PreferredSchedulingTerm]("weight", weight),
		onField[corev1.WeightedPodAffinityTerm]("weight", weight),
		notRequired[corev1.PodAffinityTerm]("topologyKey"),
		onField[corev1.PodAffinityTerm]("topologyKey", func(r *report, s string) {
			if s == "" {
				r.required("can not be empty")
			}
			labelKey(r, s)
		}),
		onStruct(func(r *report, t *corev1.PodAffinityTerm) {
			for _, name := range t.Namespaces {
				r.invalidAll(name, apivalidation.ValidateNamespaceName(name, false), "namespace")
			}
			labelKeys(r, t.MatchLabelKeys, t.MismatchLabelKeys, t.LabelSelector)
		}),

		require[corev1.TopologySpreadConstraint]("topologyKey", "can not be empty"),
		onField[corev1.TopologySpreadConstraint]("maxSkew", aboveZero),
		onField[corev1.TopologySpreadConstraint]("minDomains", aboveZero),
		exactly[corev1.TopologySpreadConstraint]("whenUnsatisfiable", "DoNotSchedule", "ScheduleAnyway"),
		onStruct(func(r *report, c *corev1.TopologySpreadConstraint) {
			labelKeys(r, c.MatchLabelKeys, nil, c.LabelSelector)
			if c.MinDomains != nil && c.WhenUnsatisfiable != corev1.DoNotSchedule {
				r.invalid(*c.MinDomains, fmt.Sprintf("can only use minDomains if whenUnsatisfiable=%s, not %s",
					corev1.DoNotSchedule, c.WhenUnsatisfiable), "minDomains")
			}
		}),
		onField[corev1.PodSpec]("topologySpreadConstraints", spreadPairs),
	}
}

func toleration(r *report, t *corev1.Toleration) {
	if t.Key != "" {
		r.invalidAll(t.Key, validation.IsQualifiedName(t.Key), "key")
	}
	if t.Key == "" && t.Operator != corev1.TolerationOpExists {
		r.invalid(t.Operator, "operator must be Exists when `key` is empty, which means \"match all values and all keys\"", "operator")
	}
	if t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute {
		r.invalid(t.Effect, "effect must be 'NoExecute' when `tolerationSeconds` is set", "effect")
	}
	switch t.Operator {
	case corev1.TolerationOpEqual, "":
		if messages := validation.IsValidLabelValue(t.Value); len(messages) > 0 {
			r.invalid(t.Value, strings.Join(messages, ";"), "operator")
		}
	case corev1.TolerationOpExists:
		if t.Value != "" {
			r.invalid(t.Operator, "value must be empty when `operator` is 'Exists'", "operator")
		}
	case corev1.TolerationOpLt, corev1.TolerationOpGt:
		if !comparesTaints(r.oldPod) {
			// The feature TaintTolerationComparisonOperators is off.
			r.unsupported(t.Operator, []string{"Equal", "Exists", "Gt", "Lt"}, "operator")
			return
		}
		r.invalidAll(t.Value, content.IsDecimalInteger(t.Value), "value")
		if _, err := strconv.ParseInt(t.Value, 10, 64); err != nil {
			r.invalid(t.Value, err.Error(), "value")
		}
	default:
		r.unsupported(t.Operator, []string{"Equal", "Exists"}, "operator")
	}
}

// comparesTaints reports whether a stored pod compares the values of taints. It may keep doing so.
func comparesTaints(s *corev1.PodSpec) bool {
	return s != nil && slices.ContainsFunc(s.Tolerations, func(t corev1.Toleration) bool {
		return t.Operator == corev1.TolerationOpLt || t.Operator == corev1.TolerationOpGt
	})
}

// labelKeys checks matchLabelKeys and mismatchLabelKeys: keys of labels of the pod. A selector matches only pods with the same values
// of the first, and with other values of the second.
func labelKeys(r *report, match, mismatch []string, selector *metav1.LabelSelector) {
	for _, list := range []struct {
		name string
		keys []string
	}{{"matchLabelKeys", match}, {"mismatchLabelKeys", mismatch}} {
		if selector == nil && len(list.keys) > 0 {
			r.forbidden("must not be specified when labelSelector is not set", list.name)
			continue
		}
		r.under(func() { eachItem(labelKey)(r, list.keys) }, list.name)
	}
	for i, name := range match {
		if slices.Contains(mismatch, name) {
			r.invalid(name, "exists in both matchLabelKeys and mismatchLabelKeys", "matchLabelKeys", i)
		}
	}
	if selector == nil {
		return
	}
	// The server has added the keys to the selector before. A key that is there twice was there already.
	seen := slices.Collect(maps.Keys(selector.MatchLabels))
	for _, q := range selector.MatchExpressions {
		if i := slices.Index(match, q.Key); i >= 0 && slices.Contains(seen, q.Key) {
			r.invalid(q.Key, "exists in both matchLabelKeys and labelSelector", i)
		}
		seen = append(seen, q.Key)
	}
}

func nodeRequirement(r *report, q *corev1.NodeSelectorRequirement) {
	switch q.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		if len(q.Values) == 0 {
			r.required("must be specified when `operator` is 'In' or 'NotIn'", "values")
		}
	case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
		if len(q.Values) > 0 {
			r.forbidden("may not be specified when `operator` is 'Exists' or 'DoesNotExist'", "values")
		}
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		if len(q.Values) != 1 {
			r.required("must be specified single value when `operator` is 'Lt' or 'Gt'", "values")
		}
	default:
		r.invalid(q.Operator, "not a valid selector operator", "operator")
	}
	r.invalidAll(q.Key, validation.IsQualifiedName(q.Key), "key")
}

// nodeSelectorValues checks that the values of a required node selector can be values of labels. Preferred terms may have
// others. An update may keep them.
func nodeSelectorValues(r *report, s *corev1.NodeSelector) {
	switch old := r.old.(type) {
	case nil, *resourcev1.ResourceSlice, *resourcev1.ResourceClaim:
	case *corev1.PersistentVolume:
		if !hasLabelValues(old.Spec.NodeAffinity) {
			return
		}
	default:
		if r.oldPod == nil || hasWrongNodeValues(r.oldPod) {
			return
		}
	}
	for i := range s.NodeSelectorTerms {
		for j, q := range s.NodeSelectorTerms[i].MatchExpressions {
			for k, value := range q.Values {
				r.invalidAll(value, validation.IsValidLabelValue(value), "nodeSelectorTerms", i, "matchExpressions", j, "values", k)
			}
		}
	}
}

// hasWrongNodeValues reports whether a stored pod has values that nodeSelectorValues rejects.
func hasWrongNodeValues(s *corev1.PodSpec) bool {
	if s.Affinity == nil || s.Affinity.NodeAffinity == nil || s.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return false
	}
	old := &report{create: true}
	nodeSelectorValues(old, s.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
	return len(old.errs) > 0
}

// hasLabelValues reports whether all values of a node affinity can be values of labels.
func hasLabelValues(affinity *corev1.VolumeNodeAffinity) bool {
	if affinity == nil || affinity.Required == nil {
		return true
	}
	r := &report{create: true}
	nodeSelectorValues(r, affinity.Required)
	return len(r.errs) == 0
}

// nodeField checks a requirement for a field of a node. The only supported field is metadata.name.
func nodeField(r *report, q *corev1.NodeSelectorRequirement) {
	switch q.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		if len(q.Values) != 1 {
			r.required("must be only one value when `operator` is 'In' or 'NotIn' for node field selector", "values")
		}
	default:
		r.invalid(q.Operator, "not a valid selector operator", "operator")
	}
	if q.Key != "metadata.name" {
		r.invalid(q.Key, "not a valid field selector key", "key")
		return
	}
	for i, v := range q.Values {
		r.invalidAll(v, apivalidation.NameIsDNSSubdomain(v, false), "values", i)
	}
}

func weight(r *report, n int32) {
	if n < 1 || n > 100 {
		r.invalid(n, "must be in the range 1-100")
	}
}

func aboveZero(r *report, n int32) {
	if n <= 0 {
		r.invalid(n, "must be greater than zero")
	}
}

// spreadPairs rejects two constraints with the same topologyKey and whenUnsatisfiable.
func spreadPairs(r *report, constraints []corev1.TopologySpreadConstraint) {
	for i, c := range constraints {
		same := func(o corev1.TopologySpreadConstraint) bool {
			return o.TopologyKey == c.TopologyKey && o.WhenUnsatisfiable == c.WhenUnsatisfiable
		}
		if slices.ContainsFunc(constraints[i+1:], same) {
			r.duplicate(fmt.Sprintf("{%v, %v}", c.TopologyKey, c.WhenUnsatisfiable), i, "{topologyKey, whenUnsatisfiable}")
		}
	}
}
