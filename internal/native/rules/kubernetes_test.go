package rules_test

import "testing"

// TestAsKubernetes has rules that package test/upstream found missing.
func TestAsKubernetes(t *testing.T) {
	edits{
		"unqualified finalizer": {
			"metadata/finalizers = [a, example.com/a, kubernetes]",
			`metadata.finalizers[0]: Invalid value: "a": name is neither a standard finalizer name nor is it fully qualified`,
		},
	}.run(t, "ConfigMap")
	edits{
		"claim without a size": {"spec/volumeClaimTemplates/0/spec = {}", `
			spec.volumeClaimTemplates[0].spec.accessModes: Required value: at least 1 access mode is required
			spec.volumeClaimTemplates[0].spec.resources[storage]: Required value`},
	}.run(t, "StatefulSet")
	edits{
		"node affinity": {
			"spec/affinity/nodeAffinity = {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: " +
				"[{matchExpressions: [{key: a, operator: In, values: ['-']}]}]}}",
			`spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values[0]: ` +
				`Invalid value: "-": ` + labelValue,
		},
	}.run(t, "Pod")
	edits{
		"no failure rules": {"spec/podFailurePolicy = {rules: []}\nspec/template/spec/restartPolicy = Never", ""},
	}.run(t, "Job")
	edits{
		"no reclaim policy": {"reclaimPolicy = ''", ""},
		"equal topologies": {
			"allowedTopologies = [{matchLabelExpressions: [{key: a, values: [b, c]}]}, {matchLabelExpressions: [{key: a, values: [c, b]}]}]",
			`allowedTopologies[1].matchLabelExpressions: Duplicate value: ""`,
		},
	}.run(t, "StorageClass")
}
