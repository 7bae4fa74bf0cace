package rules_test

import "testing"

func TestFlowControl(t *testing.T) {
	const verbs = `supported values: "create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"`
	edits{
		"precedence": {"spec/matchingPrecedence = -1", `spec.matchingPrecedence: Invalid value: -1: must be a positive value`},
		"precedence too large": {
			"spec/matchingPrecedence = 10001",
			`spec.matchingPrecedence: Invalid value: 10001: must not be greater than 10000`,
		},
		"precedence 1": {
			"spec/matchingPrecedence = 1",
			`spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1`,
		},
		"level": {
			"spec/priorityLevelConfiguration = {name: ''}",
			`spec.priorityLevelConfiguration.name: Required value: must reference a priority level`,
		},
		"level name": {"spec/priorityLevelConfiguration/name = A", `spec.priorityLevelConfiguration.name: Invalid value: "A": ` + subdomain},
		"distinguisher": {
			"spec/distinguisherMethod/type = X",
			`spec.distinguisherMethod.type: Unsupported value: "X": supported values: "ByNamespace", "ByUser"`,
		},
		"subjects": {"spec/rules/0/subjects = []", `spec.rules[0].subjects: Required value: subjects must contain at least one value`},
		"no rules": {
			"spec/rules/0/resourceRules =\nspec/rules/0/nonResourceRules =",
			`spec.rules[0]: Required value: at least one of resourceRules and nonResourceRules has to be non-empty`,
		},
		"kind": {
			"spec/rules/0/subjects/0/kind = X",
			`spec.rules[0].subjects[0].kind: Unsupported value: "X": supported values: "Group", "ServiceAccount", "User"`,
		},
		"without a user": {
			"spec/rules/0/subjects/0 = {kind: User}",
			`spec.rules[0].subjects[0].user: Required value: user is required when subject kind is 'User'`,
		},
		"field of another kind": {
			"spec/rules/0/subjects/0/group = {name: a}",
			`spec.rules[0].subjects[0].group: Forbidden: group is forbidden when subject kind is not 'Group'`,
		},
		"account": {
			"spec/rules/0/subjects/2/serviceAccount = {namespace: '', name: a}",
			`spec.rules[0].subjects[2].serviceAccount.namespace: Required value: must specify namespace for service account`,
		},
		"account name": {
			"spec/rules/0/subjects/2/serviceAccount/name = A",
			`spec.rules[0].subjects[2].serviceAccount.name: Invalid value: "A": ` + subdomain,
		},
		"account namespace": {
			"spec/rules/0/subjects/2/serviceAccount/namespace = A",
			`spec.rules[0].subjects[2].serviceAccount.namespace: Invalid value: "A": ` + label,
		},
		"verb": {
			"spec/rules/0/resourceRules/0/verbs = [get, bind]",
			`spec.rules[0].resourceRules[0].verbs: Unsupported value: ["get","bind"]: ` + verbs,
		},
		"verbs beside all": {
			"spec/rules/0/resourceRules/0/verbs = ['*', get]",
			`spec.rules[0].resourceRules[0].verbs: Invalid value: ["*","get"]: if '*' is present, must not specify other verbs`,
		},
		"groups beside all": {
			"spec/rules/0/resourceRules/0/apiGroups = ['*', apps]",
			`spec.rules[0].resourceRules[0].apiGroups: Invalid value: ["*","apps"]: if '*' is present, must not specify other api groups`,
		},
		"resources beside all": {
			"spec/rules/0/resourceRules/0/resources = ['*', pods]",
			`spec.rules[0].resourceRules[0].resources: Invalid value: ["*","pods"]: if '*' is present, must not specify other resources`,
		},
		"nothing": {"spec/rules/0/resourceRules/0 = {}", `
			spec.rules[0].resourceRules[0].verbs: Required value: verbs must contain at least one value
			spec.rules[0].resourceRules[0].apiGroups: Required value: resource rules must supply at least one api group
			spec.rules[0].resourceRules[0].resources: Required value: resource rules must supply at least one resource
			spec.rules[0].resourceRules[0].namespaces: Required value: \
				resource rules that are not cluster scoped must supply at least one namespace`},
		"cluster scope": {"spec/rules/0/resourceRules/0 = {verbs: [get], apiGroups: [''], resources: [nodes], clusterScope: true}", ``},
		"namespaces beside all": {
			"spec/rules/0/resourceRules/0/namespaces = ['*', shop]",
			`spec.rules[0].resourceRules[0].namespaces: Invalid value: ["*","shop"]: if '*' is present, must not specify other namespaces`,
		},
		"namespace": {
			"spec/rules/0/resourceRules/0/namespaces = [A]",
			`spec.rules[0].resourceRules[0].namespaces[0]: Invalid value: "A": each member of this list must be '*' or a DNS-1123 label; ` + label,
		},
		"URLs": {"spec/rules/0/nonResourceRules/0/nonResourceURLs = ['', a, '/a b', '/a//b', '/a*', '/*/*', '/']", `
			spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: "": must not be empty
			spec.rules[0].nonResourceRules[0].nonResourceURLs[1]: Invalid value: "a": must start with slash
			spec.rules[0].nonResourceRules[0].nonResourceURLs[2]: Invalid value: "/a b": must not contain white-space
			spec.rules[0].nonResourceRules[0].nonResourceURLs[3]: Invalid value: "/a//b": must not contain double slash
			spec.rules[0].nonResourceRules[0].nonResourceURLs[4]: Invalid value: "/a*": wildcard can only do suffix matching
			spec.rules[0].nonResourceRules[0].nonResourceURLs[5]: Invalid value: "/*/*": wildcard can only do suffix matching`},
		"URLs beside all": {
			"spec/rules/0/nonResourceRules/0/nonResourceURLs = ['*', /a]",
			`spec.rules[0].nonResourceRules[0].nonResourceURLs: Invalid value: ["*","/a"]: if '*' is present, ` +
				`must not specify other non-resource URLs`,
		},
	}.run(t, "FlowSchema")
	edits{
		"type":     {"spec/type = X", `spec.type: Unsupported value: "X": supported values: "Exempt", "Limited"`},
		"exempt":   {"spec/exempt = {}", `spec.exempt: Forbidden: must be nil if the type is Limited`},
		"no limit": {"spec/limited =", `spec.limited: Required value: must not be empty when type is Limited`},
		"shares": {
			"spec/limited/nominalConcurrencyShares = -1",
			`spec.limited.nominalConcurrencyShares: Invalid value: -1: must be a non-negative integer`,
		},
		"lendable": {
			"spec/limited/lendablePercent = 101",
			`spec.limited.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive`,
		},
		"borrowing": {
			"spec/limited/borrowingLimitPercent = -1",
			`spec.limited.borrowingLimitPercent: Invalid value: -1: if specified, must be a non-negative integer`,
		},
		"response": {
			"spec/limited/limitResponse = {type: X}",
			`spec.limited.limitResponse.type: Unsupported value: "X": supported values: "Queue", "Reject"`,
		},
		"reject with queue": {
			"spec/limited/limitResponse/type = Reject",
			`spec.limited.limitResponse.queuing: Forbidden: must be nil if limited.limitResponse.type is not Limited`,
		},
		"queue without": {
			"spec/limited/limitResponse = {type: Queue}",
			`spec.limited.limitResponse.queuing: Required value: must not be empty if limited.limitResponse.type is Limited`,
		},
		"queues": {"spec/limited/limitResponse/queuing = {queues: 10000001, handSize: 1, queueLengthLimit: -1}", `
			spec.limited.limitResponse.queuing.queueLengthLimit: Invalid value: -1: must be positive
			spec.limited.limitResponse.queuing.queues: Invalid value: 10000001: must not be greater than 10000000`},
		"hand": {
			"spec/limited/limitResponse/queuing/handSize = 65",
			`spec.limited.limitResponse.queuing.handSize: Invalid value: 65: should not be greater than queues (64)`,
		},
		"entropy": {
			"spec/limited/limitResponse/queuing = {queues: 512, handSize: 8, queueLengthLimit: 1}",
			`spec.limited.limitResponse.queuing.handSize: Invalid value: 8: ` +
				`required entropy bits of deckSize 512 and handSize 8 should not be greater than 60`,
		},
		"exempt type": {"spec = {type: Exempt}", `spec.type: Invalid value: "Exempt": must be 'Exempt' if and only if ` + "`name` is 'exempt'"},
	}.run(t, "PriorityLevelConfiguration")
}

// TestMandatoryFlowControl checks that the mandatory levels and schemas of Kubernetes keep their spec. Only the field exempt
// of the level named exempt can change.
func TestMandatoryFlowControl(t *testing.T) {
	edits{
		"mandatory level unchanged": {
			"metadata/name = catch-all\nspec = {type: Limited, limited: {nominalConcurrencyShares: 5, limitResponse: {type: Reject}}}",
			``,
		},
		"mandatory level changed": {
			"metadata/name = catch-all\n" +
				"spec = {type: Limited, limited: {nominalConcurrencyShares: 6, limitResponse: {type: Reject}}}",
			`spec: Invalid value: {"type":"Limited","limited":{"nominalConcurrencyShares":6,` +
				`"limitResponse":{"type":"Reject"},"lendablePercent":0}}: spec of 'catch-all' must equal the fixed value`,
		},
		"exempt, tuned": {"metadata/name = exempt\nspec = {type: Exempt, exempt: {nominalConcurrencyShares: 10}}", ``},
		"exempt, limited": {"metadata/name = exempt", `
			spec.type: Invalid value: "Limited": must be 'Exempt' if and only if ` + "`name`" + ` is 'exempt'
			spec: Invalid value: {"type":"Limited","limited":{"nominalConcurrencyShares":5,"limitResponse":{"type":"Queue",\
				"queuing":{"queues":64,"handSize":6,"queueLengthLimit":50}},"lendablePercent":0}}: \
				spec of 'exempt' except the 'spec.exempt' field must equal the fixed value`},
	}.run(t, "PriorityLevelConfiguration")
}
