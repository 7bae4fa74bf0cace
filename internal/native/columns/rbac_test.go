package columns_test

import "testing"

func TestRBAC(t *testing.T) {
	rows{
		"Role": {
			object: `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: a, ` +
				`creationTimestamp: "2026-01-02T01:00:00+01:00"}, rules: []}`,
			want: `
Name: a
Created At: 2026-01-02T00:00:00Z`,
		},
		"ClusterRole": {
			object: `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a, ` +
				`creationTimestamp: "2026-01-02T00:00:00Z"}, rules: []}`,
			want: `
Name: a
Created At: 2026-01-02T00:00:00Z`,
		},
		"RoleBinding": {
			object: `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: a, creationTimestamp: "2026-01-02T00:00:00Z"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}
subjects:
- {kind: User, name: u1}
- {kind: User, name: u2}
- {kind: Group, name: g}
- {kind: ServiceAccount, name: s, namespace: ns}
`,
			want: `
Name: a
Role: Role/r
Age: 10m
Users*: u1, u2
Groups*: g
ServiceAccounts*: ns/s`,
		},
		"ClusterRoleBinding": {
			object: `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: a, creationTimestamp: "2026-01-02T00:00:00Z"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: r}
subjects: [{kind: User, name: u}, {kind: Group, name: g}, {kind: ServiceAccount, name: s, namespace: ns}]
`,
			want: `
Name: a
Role: ClusterRole/r
Age: 10m
Users*: u
Groups*: g
ServiceAccounts*: ns/s`,
		},
	}.run(t)
}
