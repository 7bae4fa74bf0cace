package rules_test

// validAccess are the manifests of access, admission and the server itself, see valid.
var validAccess = map[string]string{
	"Role": `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: "shop:reader", namespace: shop}
rules: [{apiGroups: [""], resources: [pods, pods/log], verbs: [get, list]}]`,

	"ClusterRole": `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "system:reader"}
rules: [{nonResourceURLs: [/healthz], verbs: [get]}, {apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]
aggregationRule: {clusterRoleSelectors: [{matchLabels: {aggregate: "true"}}]}`,

	"RoleBinding": `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: "shop:reader", namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: "shop:reader"}
subjects: [{kind: ServiceAccount, name: shop, namespace: shop}, {kind: User, name: jane}, {kind: Group, name: "system:authenticated"}]`,

	"ClusterRoleBinding": `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: "shop:admin"}
roleRef: {kind: ClusterRole, name: admin}
subjects: [{kind: ServiceAccount, name: shop, namespace: shop}]`,

	"CertificateSigningRequest": `
apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: {name: jane}
spec:
  signerName: kubernetes.io/kube-apiserver-client
  usages: [client auth]
  expirationSeconds: 3600
  request: "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIS01IRUNBUUF3RHpFTk1Bc0dBMVVFQXhNRWFtRnVaVEJaTUJNR0J5cUdTTT\
    Q5QWdFR0NDcUdTTTQ5QXdFSApBMElBQlBtUENERzJkekhmZmZIVjMvL0NQN3I2dXdiWURUa1hGL1RqQXczWHpXbUJBTGNWYVdwckdVbk8wZVRB\
    ClVaMURiRUYrR1gyS3BhVUFFcktCZkUxM1ZLS2dBREFLQmdncWhrak9QUVFEQWdOSkFEQkdBaUVBbWxUMWY1ZUIKMjQzeWFxZmErL1lHWnl1NH\
    RVendLSGsvMEdoRU8ybEFyUFlDSVFDYVQwaVFMMDQ0YVZDcmFQZFd5UEZBWUZNWgo1UzRSSVVmR2VTalBBQzJoTFE9PQotLS0tLUVORCBDRVJU\
    SUZJQ0FURSBSRVFVRVNULS0tLS0K"`,

	"StorageVersionMigration": `
apiVersion: storagemigration.k8s.io/v1
kind: StorageVersionMigration
metadata: {name: boats}
spec: {resource: {group: example.com, resource: boats}}`,

	"ClusterTrustBundle": `
apiVersion: certificates.k8s.io/v1
kind: ClusterTrustBundle
metadata: {name: "example.com:issuer:v1"}
spec:
  signerName: example.com/issuer
  trustBundle: |
    -----BEGIN CERTIFICATE-----
    MIIBcTCCARegAwIBAgIUK17N6VTr6mDm6Ut5YTYGg3bSwpkwCgYIKoZIzj0EAwIw
    DTELMAkGA1UEAwwCY2EwIBcNMjYxMTE2MTIxNzEyWhgPMjEyNjEwMjMxMjE3MTJa
    MA0xCzAJBgNVBAMMAmNhMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEj0jbUV9P
    nDS7u+GWbqSCK22pkhb6SXcVA7Scd7MaLVaAQY8L72LfcTby2HnJx+opyRGhjETw
    JI5rGd1yXPE0iaNTMFEwHQYDVR0OBBYEFIcttrMjyOYUDc/55faDQjKDDBXnMB8G
    A1UdIwQYMBaAFIcttrMjyOYUDc/55faDQjKDDBXnMA8GA1UdEwEB/wQFMAMBAf8w
    CgYIKoZIzj0EAwIDSAAwRQIgKzg8h+wHw5ExLLaiYDx+1yEEzq58B4XtGukmdvMH
    1ekCIQC+SRUZg5ZCBxKOYh2RCEjIh49iUwtjhwTbZIfJNjsWeg==
    -----END CERTIFICATE-----`,
	"ValidatingWebhookConfiguration": `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: checks}
webhooks:
- name: pods.checks.example.com
  clientConfig: {service: {name: checks, namespace: shop, path: /validate}}
  rules: [{operations: [CREATE, UPDATE], apiGroups: [""], apiVersions: [v1], resources: [pods, pods/status], scope: Namespaced}]
  sideEffects: None
  admissionReviewVersions: [v1]
  timeoutSeconds: 5
  matchConditions:
  - name: not-system
    expression: request.namespace != 'kube-system' && authorizer.group('').resource('pods').check('get').allowed()`,

	"MutatingWebhookConfiguration": `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: sidecars}
webhooks:
- name: pods.sidecars.example.com
  clientConfig: {url: "https://sidecars.example.com/mutate"}
  rules: [{operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"]}]
  sideEffects: NoneOnDryRun
  admissionReviewVersions: [v2, v1]
  reinvocationPolicy: IfNeeded`,

	"ValidatingAdmissionPolicy": `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: replicas}
spec:
  failurePolicy: Fail
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints: {resourceRules: [{operations: [CREATE], apiGroups: [apps], apiVersions: [v1], resources: [deployments]}]}
  variables: [{name: replicas, expression: "object.spec.replicas"}, {name: twice, expression: "variables.replicas * 2"}]
  matchConditions: [{name: named, expression: "object.metadata.name != ''"}]
  validations:
  - expression: variables.twice <= 10 && params.data.max != ''
    messageExpression: "'too many: ' + string(variables.replicas)"
    reason: Invalid
  auditAnnotations: [{key: replicas, valueExpression: "'replicas ' + string(object.spec.replicas)"}]`,

	"ValidatingAdmissionPolicyBinding": `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: replicas}
spec:
  policyName: replicas
  validationActions: [Deny, Audit]
  paramRef: {name: limits, namespace: shop, parameterNotFoundAction: Deny}
  matchResources: {namespaceSelector: {matchLabels: {team: checkout}}}`,

	"MutatingAdmissionPolicy": `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: label}
spec:
  reinvocationPolicy: Never
  matchConstraints: {resourceRules: [{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [pods]}]}
  mutations:
  - {patchType: ApplyConfiguration, applyConfiguration: {expression: "Object{metadata: Object.metadata{labels: {'a': 'b'}}}"}}
  - {patchType: JSONPatch, jsonPatch: {expression: "[JSONPatch{op: 'add', path: '/metadata/labels/x', value: 'y'}]"}}`,

	"MutatingAdmissionPolicyBinding": `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: label}
spec: {policyName: label}`,

	"FlowSchema": `
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: tenants}
spec:
  priorityLevelConfiguration: {name: tenants}
  matchingPrecedence: 500
  distinguisherMethod: {type: ByUser}
  rules:
  - subjects:
    - {kind: User, user: {name: anna}}
    - {kind: Group, group: {name: tenants}}
    - {kind: ServiceAccount, serviceAccount: {namespace: shop, name: "*"}}
    resourceRules: [{verbs: ["*"], apiGroups: [""], resources: [configmaps], namespaces: [shop]}]
    nonResourceRules: [{verbs: [get], nonResourceURLs: [/healthz, /apis/*]}]`,

	"PriorityLevelConfiguration": `
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {name: tenants}
spec:
  type: Limited
  limited: {nominalConcurrencyShares: 5, limitResponse: {type: Queue, queuing: {queues: 64, handSize: 6, queueLengthLimit: 50}}}`,

	"APIService": `
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta1.metrics.k8s.io}
spec:
  group: metrics.k8s.io
  version: v1beta1
  service: {namespace: kube-system, name: metrics-server, port: 443}
  caBundle: aGVsbG8=
  groupPriorityMinimum: 100
  versionPriority: 100`,
}
