package rules_test

import (
	"strings"
	"testing"
)

func TestNetwork(t *testing.T) {
	edits{
		"nothing": {
			"spec/rules =\nspec/defaultBackend =",
			"spec: Invalid value: null: either `defaultBackend` or `rules` must be specified",
		},
		"class":   {"spec/ingressClassName = A", `spec.ingressClassName: Invalid value: "A": ` + subdomain},
		"address": {"spec/rules/0/host = 10.0.0.1", `spec.rules[0].host: Invalid value: "10.0.0.1": must be a DNS name, not an IP address`},
		"host":    {"spec/rules/0/host = A", `spec.rules[0].host: Invalid value: "A": ` + subdomain},
		"wildcard": {
			"spec/rules/0/host = 'a.*'",
			`spec.rules[0].host: Invalid value: "a.*": a wildcard DNS-1123 subdomain must start with '*.', ` +
				`followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, ` +
				`'-' or '.' and end with an alphanumeric character (e.g. '*.example.com', ` +
				`regex used for validation is '\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
		},
		"tls host":   {"spec/tls/0/hosts/0 = A", `spec.tls[0].hosts[0]: Invalid value: "A": ` + subdomain},
		"tls secret": {"spec/tls/0/secretName = A", `spec.tls[0].secretName: Invalid value: "A": ` + subdomain},
		"no paths":   {"spec/rules/0/http/paths = []", `spec.rules[0].http.paths: Required value`},
		"no path type": {
			"spec/rules/0/http/paths/0/pathType =",
			`spec.rules[0].http.paths[0].pathType: Required value: pathType must be specified`,
		},
		"path type": {
			"spec/rules/0/http/paths/0/pathType = X",
			`spec.rules[0].http.paths[0].pathType: Unsupported value: "X": supported values: "Exact", "ImplementationSpecific", "Prefix"`,
		},
		"path": {"spec/rules/0/http/paths/0/path = a", `spec.rules[0].http.paths[0].path: Invalid value: "a": must be an absolute path`},
		"path of an implementation-specific type": {
			"spec/rules/0/http/paths/2/path = a",
			`spec.rules[0].http.paths[2].path: Invalid value: "a": must be an absolute path`,
		},
		"path parts": {
			"spec/rules/0/http/paths/0/path = /a//b/..",
			"spec.rules[0].http.paths[0].path: Invalid value: \"/a//b/..\": must not contain '//'\n" +
				"spec.rules[0].http.paths[0].path: Invalid value: \"/a//b/..\": cannot end with '/..'",
		},
		"no backend": {
			"spec/rules/0/http/paths/0/backend = {}",
			`spec.rules[0].http.paths[0].backend: Invalid value: "": resource or service backend is required`,
		},
		"two backends": {
			"spec/defaultBackend/service = {name: a, port: {number: 1}}",
			`spec.defaultBackend: Invalid value: "": cannot set both resource and service backends`,
		},
		"service": {
			"spec/rules/0/http/paths/0/backend/service/name = 1.a",
			`spec.rules[0].http.paths[0].backend.service.name: Invalid value: "1.a": must not contain dots`,
		},
		"no service": {"spec/rules/0/http/paths/0/backend/service/name = ''", `spec.rules[0].http.paths[0].backend.service.name: Required value`},
		"no port": {
			"spec/rules/0/http/paths/0/backend/service/port = {}",
			`spec.rules[0].http.paths[0].backend: Required value: port name or number is required`,
		},
		"two ports": {
			"spec/rules/0/http/paths/0/backend/service/port = {name: a, number: 1}",
			`spec.rules[0].http.paths[0].backend: Invalid value: {"name":"a","number":1}: cannot set both port name & port number`,
		},
		"port": {
			"spec/rules/0/http/paths/0/backend/service/port = {number: 70000}",
			`spec.rules[0].http.paths[0].backend.service.port.number: Invalid value: 70000: must be between 1 and 65535, inclusive`,
		},
		"port name": {
			"spec/rules/0/http/paths/0/backend/service/port = {name: a_b}",
			`spec.rules[0].http.paths[0].backend.service.port.name: Invalid value: "a_b": ` +
				`must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)`,
		},
		"resource": {"spec/defaultBackend/resource/name = ''", `spec.defaultBackend.resource.name: Required value`},
	}.run(t, "Ingress")
	edits{
		"controller": {"spec/controller = a", `spec.controller: Invalid value: "a": must be a domain-prefixed path (such as "acme.io/foo")`},
		"long controller": {
			"spec/controller = example.com/" + strings.Repeat("a", 250),
			`spec.controller: Too long: may not be more than 250 bytes`,
		},
		"no kind":      {"spec/parameters/kind = ''", `spec.parameters.kind: Required value`},
		"kind":         {"spec/parameters/kind = a/b", `spec.parameters.kind: Invalid value: "a/b": may not contain '/'`},
		"no name":      {"spec/parameters/name = ''", `spec.parameters.name: Required value`},
		"name":         {"spec/parameters/name = a/b", `spec.parameters.name: Invalid value: "a/b": may not contain '/'`},
		"scope":        {"spec/parameters/scope = X", `spec.parameters.scope: Unsupported value: "X": supported values: "Cluster", "Namespace"`},
		"no namespace": {"spec/parameters/namespace =", "spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'"},
		"cluster":      {"spec/parameters/scope = Cluster", "spec.parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'"},
	}.run(t, "IngressClass")
	edits{
		"parent": {"spec/parentRef =", `spec.parentRef: Required value`},
		"parent's names": {
			"spec/parentRef = {resource: a/b, name: a/b}",
			"spec.parentRef.resource: Invalid value: \"a/b\": may not contain '/'\nspec.parentRef.name: Invalid value: \"a/b\": may not contain '/'",
		},
	}.run(t, "IPAddress")
	edits{
		"selector": {"spec/podSelector/matchLabels/app = '-'", `spec.podSelector.matchLabels: Invalid value: "-": ` + labelValue},
		"types": {
			"spec/policyTypes = [Ingress, X]",
			`spec.policyTypes[1]: Unsupported value: "X": supported values: "Egress", "Ingress"`,
		},
		"many types": {
			"spec/policyTypes = [Ingress, Egress, Ingress]",
			`spec.policyTypes: Invalid value: ["Ingress","Egress","Ingress"]: may not specify more than two policyTypes`,
		},
		"port": {
			"spec/ingress/0/ports/1/port = 0\nspec/ingress/0/ports/1/endPort =",
			`spec.ingress[0].ports[1].port: Invalid value: 0: must be between 1 and 65535, inclusive`,
		},
		"port name": {
			"spec/ingress/0/ports/0/port = a_b",
			`spec.ingress[0].ports[0].port: Invalid value: "a_b": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)`,
		},
		"end": {
			"spec/ingress/0/ports/1/endPort = 7000",
			"spec.ingress[0].ports[1].endPort: Invalid value: 7000: must be greater than or equal to `port`",
		},
		"end too high": {
			"spec/ingress/0/ports/1/endPort = 70000",
			`spec.ingress[0].ports[1].endPort: Invalid value: 70000: must be between 1 and 65535, inclusive`,
		},
		"end port of a named port": {
			"spec/ingress/0/ports/0/endPort = 80", "spec.ingress[0].ports[0].endPort: Invalid value: 80: may not be specified when `port` is non-numeric",
		},
		"end port without port": {
			"spec/ingress/0/ports/2/endPort = 80", "spec.ingress[0].ports[2].endPort: Invalid value: 80: may not be specified when `port` is not specified",
		},
		"protocol": {
			"spec/ingress/0/ports/2/protocol = X",
			`spec.ingress[0].ports[2].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"`,
		},
		"no peer": {"spec/ingress/0/from/0 = {}", `spec.ingress[0].from[0]: Required value: must specify a peer`},
		"two peers": {
			"spec/ingress/0/from/2/podSelector = {}",
			`spec.ingress[0].from[2]: Forbidden: may not specify both ipBlock and another peer`,
		},
		"block": {
			"spec/ingress/0/from/2/ipBlock = {cidr: a}",
			`spec.ingress[0].from[2].ipBlock.cidr: Invalid value: "a": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)`,
		},
		"no block": {"spec/ingress/0/from/2/ipBlock = {cidr: ''}", `spec.ingress[0].from[2].ipBlock.cidr: Required value`},
		"except": {"spec/ingress/0/from/2/ipBlock/except = [a, 11.0.0.0/16, 10.0.0.0/8]", `
			spec.ingress[0].from[2].ipBlock.except[0]: Invalid value: "a": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)
			spec.ingress[0].from[2].ipBlock.except[1]: Invalid value: "11.0.0.0/16": must be a strict subset of ` + "`cidr`" + `
			spec.ingress[0].from[2].ipBlock.except[2]: Invalid value: "10.0.0.0/8": must be a strict subset of ` + "`cidr`"},
	}.run(t, "NetworkPolicy")
}

func TestAccess(t *testing.T) {
	edits{
		"no verbs": {"rules/0/verbs = []", `rules[0].verbs: Required value: verbs must contain at least one value`},
		"urls": {
			"rules/0 = {nonResourceURLs: [/a], verbs: [get]}",
			`rules[0].nonResourceURLs: Invalid value: ["/a"]: namespaced rules cannot apply to non-resource URLs`,
		},
	}.run(t, "Role")
	edits{
		"urls and resources": {
			"rules/0/resources = [pods]",
			`rules[0].nonResourceURLs: Invalid value: ["/healthz"]: rules cannot apply to both regular resources and non-resource URLs`,
		},
		"no resources": {
			"rules/1 = {verbs: [get]}",
			"rules[1].apiGroups: Required value: resource rules must supply at least one api group\n" +
				"rules[1].resources: Required value: resource rules must supply at least one resource",
		},
		"aggregation": {
			"aggregationRule = {}",
			`aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if aggregationRule is non-nil`,
		},
		"selector": {
			"aggregationRule/clusterRoleSelectors/0/matchLabels = {a: '-'}",
			"aggregationRule.clusterRoleSelectors[0]: Invalid value: {\"matchLabels\":{\"a\":\"-\"}}: invalid label selector.\n" +
				`aggregationRule.clusterRoleSelectors[0].matchLabels: Invalid value: "-": ` + labelValue,
		},
	}.run(t, "ClusterRole")
	edits{
		"group":   {"roleRef/apiGroup = X", `roleRef.apiGroup: Unsupported value: "X": supported values: "rbac.authorization.k8s.io"`},
		"kind":    {"roleRef/kind = X", `roleRef.kind: Unsupported value: "X": supported values: "ClusterRole", "Role"`},
		"no kind": {"roleRef/kind = ''", `roleRef.kind: Unsupported value: "": supported values: "ClusterRole", "Role"`},
		"no subject kind": {
			"subjects/0/kind = ''",
			`subjects[0].kind: Unsupported value: "": supported values: "Group", "ServiceAccount", "User"`,
		},
		"no name": {"roleRef/name =", `roleRef.name: Required value`},
		"name":    {"roleRef/name = a/b", `roleRef.name: Invalid value: "a/b": may not contain '/'`},
		"subjects": {"subjects = [{kind: X, name: ''}, {kind: ServiceAccount, name: A, namespace: a, apiGroup: b}, " +
			"{kind: User, name: a, apiGroup: b}]", `
			subjects[0].name: Required value
			subjects[0].kind: Unsupported value: "X": supported values: "Group", "ServiceAccount", "User"
			subjects[1].name: Invalid value: "A": ` + subdomain + `
			subjects[1].apiGroup: Unsupported value: "b": supported values: ""
			subjects[2].apiGroup: Unsupported value: "b": supported values: "rbac.authorization.k8s.io"`},
	}.run(t, "RoleBinding")
	edits{
		"kind":                      {"roleRef/kind = Role", `roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"`},
		"account without namespace": {"subjects/0/namespace =", `subjects[0].namespace: Required value`},
	}.run(t, "ClusterRoleBinding")
	edits{
		"usages": {"spec/usages = []", `spec.usages: Required value`},
		"usage": {
			"spec/usages = [x]",
			`spec.usages[0]: Unsupported value: "x": supported values: "any", "cert sign", "client auth", "code signing", ` +
				`"content commitment", "crl sign", "data encipherment", "decipher only", "digital signature", ` +
				`"email protection", "encipher only", "ipsec end system", "ipsec tunnel", "ipsec user", "key agreement", ` +
				`"key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime", "server auth", "signing", ` +
				`"timestamping"`,
		},
		"signer": {
			"spec/signerName = a",
			`spec.signerName: Invalid value: "a": must be a fully qualified domain and path of the form 'example.com/signer-name'`,
		},
		"request": {"spec/request = aGVsbG8=", `spec.request: Invalid value: "aGVsbG8=": PEM block type must be CERTIFICATE REQUEST`},
		"no request": {
			"spec/request = LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUFBPQotLS0tLUVORCBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0K",
			`spec.request: Invalid value: ` +
				`"LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUFBPQotLS0tLUVORCBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0K": ` +
				`asn1: syntax error: sequence truncated`,
		},
		"expiration": {
			"spec/expirationSeconds = 1",
			`spec.expirationSeconds: Invalid value: 1: may not specify a duration less than 600 seconds (10 minutes)`,
		},
	}.run(t, "CertificateSigningRequest")
}
