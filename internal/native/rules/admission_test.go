package rules_test

import (
	"strings"
	"testing"
)

func TestWebhooks(t *testing.T) {
	for _, kind := range []string{"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"} {
		edits{
			"no name": {"webhooks/0/name =", `webhooks[0].name: Required value`},
			"name": {
				"webhooks/0/name = a.b",
				`webhooks[0].name: Invalid value: "a.b": should be a domain with at least three segments separated by dots`,
			},
			"no versions": {
				"webhooks/0/admissionReviewVersions = []",
				`webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1`,
			},
			"versions": {
				"webhooks/0/admissionReviewVersions = [v2]",
				`webhooks[0].admissionReviewVersions: Invalid value: ["v2"]: must include at least one of v1, v1beta1`,
			},
			"version": {
				"webhooks/0/admissionReviewVersions = [1v, v1, v1]",
				"webhooks[0].admissionReviewVersions[0]: Invalid value: \"1v\": " + label1035 + "\nwebhooks[0].admissionReviewVersions[2]: " +
					"Invalid value: \"v1\": duplicate version",
			},
			"no effects": {"webhooks/0/sideEffects =", `webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun`},
			"effects": {
				"webhooks/0/sideEffects = Some",
				`webhooks[0].sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"`,
			},
			"timeout": {
				"webhooks/0/timeoutSeconds = 31",
				`webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds`,
			},
			"no client": {"webhooks/0/clientConfig = {}", `webhooks[0].clientConfig: Required value: exactly one of url or service is required`},
			"two clients": {
				"webhooks/0/clientConfig = {url: 'https://a', service: {name: a, namespace: b}}",
				`webhooks[0].clientConfig: Required value: exactly one of url or service is required`,
			},
			"url": {
				"webhooks/0/clientConfig = {url: 'http://a'}",
				`webhooks[0].clientConfig.url: Invalid value: "http": 'https' is the only allowed URL scheme; desired format: https://host[/path]`,
			},
			"service": {
				"webhooks/0/clientConfig = {service: {name: '', namespace: '', port: 0, path: a}}",
				"webhooks[0].clientConfig.service.name: Required value\n" +
					"webhooks[0].clientConfig.service.namespace: Required value\n" +
					"webhooks[0].clientConfig.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive\n" +
					"webhooks[0].clientConfig.service.path: Invalid value: \"a\": must start with a '/'\n" +
					"webhooks[0].clientConfig.service.path: Invalid value: \"a\": segment[0] may not be empty",
			},
			"empty rule": {
				"webhooks/0/rules = [{}]",
				"webhooks[0].rules[0].operations: Required value\n" +
					"webhooks[0].rules[0].apiGroups: Required value\n" +
					"webhooks[0].rules[0].apiVersions: Required value\n" +
					"webhooks[0].rules[0].resources: Required value",
			},
			"operation": {
				"webhooks/0/rules/0/operations = [GET]",
				`webhooks[0].rules[0].operations[0]: Unsupported value: "GET": supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE"`,
			},
			"wildcards": {"webhooks/0/rules/0 = {operations: ['*', CREATE], apiGroups: ['*', a], apiVersions: ['*', ''], " +
				"resources: ['*/*', a], scope: X}", `
				webhooks[0].rules[0].operations: Invalid value: ["*","CREATE"]: if '*' is present, must not specify other operations
				webhooks[0].rules[0].apiGroups: Invalid value: ["*","a"]: if '*' is present, must not specify other API groups
				webhooks[0].rules[0].apiVersions: Invalid value: ["*",""]: if '*' is present, must not specify other API versions
				webhooks[0].rules[0].apiVersions[1]: Required value
				webhooks[0].rules[0].resources: Invalid value: ["*/*","a"]: if '*/*' is present, must not specify other resources
				webhooks[0].rules[0].scope: Unsupported value: "X": supported values: "*", "Cluster", "Namespaced"`},
			"resources": {"webhooks/0/rules/0/resources = ['*', pods, '*/status', pods/status, '', pods/*, pods/log]", `
				webhooks[0].rules[0].resources[3]: Invalid value: "pods/status": if '*/status' is present, must not specify pods/status
				webhooks[0].rules[0].resources[4]: Required value
				webhooks[0].rules[0].resources[6]: Invalid value: "pods/log": if 'pods/*' is present, must not specify pods/log
				webhooks[0].rules[0].resources: Invalid value: ["*","pods","*/status","pods/status","","pods/*","pods/log"]: \
					if '*' is present, must not specify other resources without subresources`},
			"failure policy": {
				"webhooks/0/failurePolicy = X",
				`webhooks[0].failurePolicy: Unsupported value: "X": supported values: "Fail", "Ignore"`,
			},
			"selector": {
				"webhooks/0/objectSelector = {matchLabels: {a: '-'}}",
				`webhooks[0].objectSelector.matchLabels: Invalid value: "-": ` + labelValue,
			},
			"conditions": {"webhooks/0/matchConditions = [{name: -a, expression: 'true'}, {name: b, expression: '1'}, " +
				"{name: b, expression: ''}, {name: '', expression: 'variables.a == 1'}]", `
				webhooks[0].matchConditions[2].expression: Required value
				webhooks[0].matchConditions[3].name: Required value
				webhooks[0].matchConditions[0].name: Invalid value: "-a": ` + qualified + `
				webhooks[0].matchConditions[1].expression: Invalid value: "1": must evaluate to bool but got int
				webhooks[0].matchConditions[2].name: Duplicate value: "b"
				webhooks[0].matchConditions[3].expression: Invalid value: "variables.a == 1": compilation failed: ERROR: \
					<input>:1:1: undeclared reference to 'variables' (in container '')\n | variables.a == 1\n | ^`},
			"many conditions": {
				"webhooks/0/matchConditions = [" + strings.Repeat("{name: a, expression: 'true'},", 65) + "]",
				`webhooks[0].matchConditions: Too many: 65: must have at most 64 items`,
			},
		}.run(t, kind)
	}
	edits{
		"name twice": {
			"webhooks/1 = {name: pods.checks.example.com, clientConfig: {url: 'https://a'}, sideEffects: None, admissionReviewVersions: [v1]}",
			`webhooks[1].name: Duplicate value: "pods.checks.example.com"`,
		},
	}.run(t, "ValidatingWebhookConfiguration")
	edits{
		"name twice": {
			"webhooks/1 = {name: pods.sidecars.example.com, clientConfig: {url: 'https://a'}, sideEffects: None, admissionReviewVersions: [v1]}",
			`webhooks[1].name: Duplicate value: "pods.sidecars.example.com"`,
		},
		"reinvocation": {
			"webhooks/0/reinvocationPolicy = X",
			`webhooks[0].reinvocationPolicy: Unsupported value: "X": supported values: "IfNeeded", "Never"`,
		},
	}.run(t, "MutatingWebhookConfiguration")
}

func TestPolicies(t *testing.T) {
	edits{
		"no constraints": {"spec/matchConstraints =", `spec.matchConstraints: Required value`},
		"no rules":       {"spec/matchConstraints = {}", `spec.matchConstraints.resourceRules: Required value`},
		"rule": {
			"spec/matchConstraints/resourceRules/0/operations = []",
			`spec.matchConstraints.resourceRules[0].operations: Required value`,
		},
		"no validations": {
			"spec/validations =\nspec/auditAnnotations =",
			"spec.validations: Required value: validations or auditAnnotations must contain at least one item\n" +
				"spec.auditAnnotations: Required value: validations or auditAnnotations must contain at least one item",
		},
		"no expression": {"spec/validations/0/expression = ''", `spec.validations[0].expression: Required value: expression is not specified`},
		"expression": {
			"spec/validations/0/expression = 'object.'",
			`spec.validations[0].expression: Invalid value: "object.": compilation failed: ERROR: <input>:1:8: ` +
				`Syntax error: no viable alternative at input '.'\n | object.\n | .......^`,
		},
		"type": {
			"spec/validations/0/expression = '1'",
			`spec.validations[0].expression: Invalid value: "1": must evaluate to bool but got int`,
		},
		"no params": {
			"spec/paramKind =\nspec/validations/0/expression = 'params.a == 1'",
			`spec.validations[0].expression: Invalid value: "params.a == 1": compilation failed: ERROR: <input>:1:1: ` +
				`undeclared reference to 'params' (in container '')\n | params.a == 1\n | ^`,
		},
		"message": {
			`spec/validations/0/message = "a\nb"`,
			`spec.validations[0].message: Invalid value: "a\nb": must not contain line breaks`,
		},
		"message type": {
			"spec/validations/0/messageExpression = '1'",
			`spec.validations[0].messageExpression: Invalid value: "1": must evaluate to string but got int`,
		},
		"reason": {
			"spec/validations/0/reason = X",
			`spec.validations[0].reason: Unsupported value: "X": supported values: "Forbidden", "Invalid", "RequestEntityTooLarge"`,
		},
		"annotations": {"spec/auditAnnotations = [{key: a, valueExpression: '1'}, {key: a, valueExpression: \"'a'\"}, " +
			"{key: '', valueExpression: \"'a'\"}]", `
			spec.auditAnnotations[0].valueExpression: Invalid value: "1": must evaluate to one of [string null_type] but got int
			spec.auditAnnotations[1].key: Duplicate value: "a"
			spec.auditAnnotations[2].key: Invalid value: "replicas/": name part must be non-empty
			spec.auditAnnotations[2].key: Invalid value: "replicas/": ` + qualified},
		"variables": {"spec/variables = [{name: replicas, expression: object.spec.replicas}, " +
			"{name: twice, expression: variables.replicas * 2}, {name: if, expression: '1'}, " +
			"{name: 1a, expression: '1'}, {name: '', expression: ''}, {name: b, expression: x}]", `
			spec.variables[2].name: Invalid value: "if": must be a valid CEL identifier
			spec.variables[3].name: Invalid value: "1a": must be a valid CEL identifier
			spec.variables[4].name: Required value: name is not specified
			spec.variables[4].expression: Required value: expression is not specified
			spec.variables[5].expression: Invalid value: "x": compilation failed: ERROR: <input>:1:1: \
				undeclared reference to 'x' (in container '')\n | x\n | ^`},
		"condition": {
			"spec/matchConditions/0/expression = '1'",
			`spec.matchConditions[0].expression: Invalid value: "1": must evaluate to bool but got int`,
		},
		"no param kind": {"spec/paramKind = {}", "spec.paramKind.apiVersion: Required value\nspec.paramKind.kind: Required value"},
		"param kind": {
			"spec/paramKind = {apiVersion: a/b/c, kind: a_b}",
			"spec.paramKind.apiVersion: Invalid value: \"a/b/c\": unexpected GroupVersion string: a/b/c\n" +
				"spec.paramKind.kind: Invalid value: \"a_b\": may have mixed case, but should otherwise match: " + label1035,
		},
		"failure policy": {"spec/failurePolicy = X", `spec.failurePolicy: Unsupported value: "X": supported values: "Fail", "Ignore"`},
	}.run(t, "ValidatingAdmissionPolicy")
	edits{
		"no policy":  {"spec/policyName =", `spec.policyName: Required value`},
		"policy":     {"spec/policyName = A", `spec.policyName: Invalid value: "A": ` + subdomain},
		"no actions": {"spec/validationActions =", `spec.validationActions: Required value: at least one validation action is required`},
		"action": {
			"spec/validationActions = [X]",
			`spec.validationActions[0]: Unsupported value: "X": supported values: "Audit", "Deny", "Warn"`,
		},
		"action twice": {"spec/validationActions = [Audit, Audit]", `spec.validationActions[1]: Duplicate value: "Audit"`},
		"deny and warn": {
			"spec/validationActions = [Deny, Warn]",
			`spec.validationActions: Invalid value: ["Deny","Warn"]: ` +
				`must not contain both Deny and Warn (repeating the same validation failure information in the API response ` +
				`and headers serves no purpose)`,
		},
		"no parameter": {
			"spec/paramRef = {parameterNotFoundAction: Deny}",
			`spec.paramRef: Required value: one of name or selector must be specified`,
		},
		"name and selector": {
			"spec/paramRef/selector = {}",
			"spec.paramRef.name: Forbidden: name and selector are mutually exclusive\n" +
				"spec.paramRef.selector: Forbidden: name and selector are mutually exclusive",
		},
		"not found": {
			"spec/paramRef/parameterNotFoundAction = X",
			`spec.paramRef.parameterNotFoundAction: Unsupported value: "X": supported values: "Allow", "Deny"`,
		},
		"no action for missing params": {"spec/paramRef/parameterNotFoundAction =", `spec.paramRef.parameterNotFoundAction: Required value`},
	}.run(t, "ValidatingAdmissionPolicyBinding")
	edits{
		"no constraints": {"spec/matchConstraints =", `spec.matchConstraints: Required value`},
		"no rules":       {"spec/matchConstraints = {}", `spec.matchConstraints.resourceRules: Required value`},
		"no mutations":   {"spec/mutations =", `spec.mutations: Required value: mutations must contain at least one item`},
		"type": {
			"spec/mutations = [{patchType: X}]",
			`spec.mutations[0].patchType: Unsupported value: "X": supported values: "ApplyConfiguration", "JSONPatch"`,
		},
		"nothing": {
			"spec/mutations = [{patchType: JSONPatch}, {patchType: ApplyConfiguration}]",
			"spec.mutations[0].jsonPatch: Required value: must be specified when patchType is JSONPatch\n" +
				"spec.mutations[1].applyConfiguration: Required value: must be specified when patchType is ApplyConfiguration",
		},
		"no expression": {
			"spec/mutations = [{patchType: JSONPatch, jsonPatch: {}}]",
			`spec.mutations[0].jsonPatch.expression: Required value`,
		},
		"both": {
			"spec/mutations/0/jsonPatch = {expression: '[]'}",
			`spec.mutations[0].jsonPatch: Invalid value: "{jsonPatch}": must not be specified when patchType is ApplyConfiguration`,
		},
		"patch type": {
			"spec/mutations = [{patchType: JSONPatch, jsonPatch: {expression: '1'}}]",
			`spec.mutations[0].jsonPatch.expression: Invalid value: "1": must evaluate to list(JSONPatch) but got int`,
		},
		"apply type": {
			"spec/mutations = [{patchType: ApplyConfiguration, applyConfiguration: {expression: '1'}}]",
			`spec.mutations[0].applyConfiguration.expression: Invalid value: "1": must evaluate to Object but got int`,
		},
		"match condition": {
			"spec/matchConditions = [{name: a, expression: '1'}]",
			`spec.matchConditions[0].expression: Invalid value: "1": must evaluate to bool but got int`,
		},
		"reinvocation": {"spec/reinvocationPolicy = X", `spec.reinvocationPolicy: Unsupported value: "X": supported values: "IfNeeded", "Never"`},
	}.run(t, "MutatingAdmissionPolicy")
	edits{
		"no policy": {"spec/policyName =", `spec.policyName: Required value`},
		"policy":    {"spec/policyName = A", `spec.policyName: Invalid value: "A": ` + subdomain},
	}.run(t, "MutatingAdmissionPolicyBinding")
}
