package rules_test

import "testing"

func TestAPIService(t *testing.T) {
	edits{
		"name": {
			"metadata/name = v1.metrics.k8s.io",
			"metadata.name: Invalid value: \"v1.metrics.k8s.io\": must be `spec.version+\".\"+spec.group`: \"v1beta1.metrics.k8s.io\"",
		},
		"priorities": {
			"spec/groupPriorityMinimum = 0\nspec/versionPriority = 1001",
			`spec.groupPriorityMinimum: Invalid value: 0: must be positive and less than 20000
			spec.versionPriority: Invalid value: 1001: must be positive and less than 1000`,
		},
		"service": {
			"spec/service = {name: '', namespace: '', port: 70000}",
			`spec.service.namespace: Required value
			spec.service.name: Required value
			spec.service.port: Invalid value: 70000: port is not valid: must be between 1 and 65535, inclusive`,
		},
		"default port": {"spec/service = {name: a, namespace: b}", ``},
		"both of TLS": {
			"spec/insecureSkipTLSVerify = true",
			`spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present`,
		},
		"local with authorities": {
			"spec/service =",
			`spec.caBundle: Invalid value: "5 bytes": local APIServices may not have a caBundle`,
		},
		"group of built-in kinds": {
			"metadata/name = v2.apps\nspec/group = apps\nspec/version = v2",
			`spec.service: Forbidden: this server itself serves the group "apps"`,
		},
		"core group": {
			"metadata/name = v1.\nspec/group = ''\nspec/version = v1",
			`spec.service: Forbidden: this server itself serves the group ""`,
		},
		"group of operator packages": {
			"metadata/name = v1beta1.kudo.dev\nspec/group = kudo.dev",
			`spec.service: Forbidden: this server itself serves the group "kudo.dev"`,
		},
		"built-in group, served here": {
			"metadata/name = v1.apps\nspec/group = apps\nspec/version = v1\nspec/service =\nspec/caBundle =", ``,
		},
	}.run(t, "APIService")
}
