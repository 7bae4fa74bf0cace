package rules

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
)

func schedulingRules() []rule {
	return []rule{
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
		require[corev1.PodAffinityTerm]("topologyKey", "can not be empty"),
		onField[corev1.PodAffinityTerm]("topologyKey", labelKey),
		onStruct(func(r *report, t *corev1.PodAffinityTerm) {
			for _, name := range t.Namespaces {
				r.invalidAll(name, apivalidation.ValidateNamespaceName(name, false), "namespace")
			}
		}),

		require[corev1.TopologySpreadConstraint]("topologyKey", "can not be empty"),
		onField[corev1.TopologySpreadConstraint]("matchLabelKeys", eachItem(labelKey)),
		onField[corev1.TopologySpreadConstraint]("maxSkew", aboveZero),
		onField[corev1.TopologySpreadConstraint]("minDomains", aboveZero),
		onStruct(func(r *report, c *corev1.TopologySpreadConstraint) {
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
	if !r.create {
		return
	}
	for i := range s.NodeSelectorTerms {
		for j, q := range s.NodeSelectorTerms[i].MatchExpressions {
			for k, value := range q.Values {
				r.invalidAll(value, validation.IsValidLabelValue(value), "nodeSelectorTerms", i, "matchExpressions", j, "values", k)
			}
		}
	}
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
		if slices.ContainsFunc(constraints[:i], same) {
			r.duplicate(fmt.Sprintf("{%v, %v}", c.TopologyKey, c.WhenUnsatisfiable), i, "{topologyKey, whenUnsatisfiable}")
		}
	}
}
