package rules

import (
	policyv1 "k8s.io/api/policy/v1"
)

func disruptionRules() []rule {
	return []rule{
		onField[policyv1.PodDisruptionBudgetSpec]("minAvailable", countOrPercent, atMost100Percent),
		onField[policyv1.PodDisruptionBudgetSpec]("maxUnavailable", countOrPercent, atMost100Percent),
		onStruct(func(r *report, s *policyv1.PodDisruptionBudgetSpec) {
			if s.MinAvailable != nil && s.MaxUnavailable != nil {
				r.invalid(s, "minAvailable and maxUnavailable cannot be both set")
			}
		}),
	}
}
