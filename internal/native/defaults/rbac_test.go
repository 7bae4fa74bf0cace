package defaults_test

import "testing"

func TestRBAC(t *testing.T) {
	manifests{
		"RoleBinding": {
			in: `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
roleRef: {kind: Role, name: r}
subjects: [{kind: User, name: u}, {kind: Group, name: g}, {kind: ServiceAccount, name: s, namespace: a}]
`,
			want: `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: u}
- {apiGroup: rbac.authorization.k8s.io, kind: Group, name: g}
- {kind: ServiceAccount, name: s, namespace: a}
`,
		},
		"ClusterRoleBinding": {
			in: `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
roleRef: {kind: ClusterRole, name: r}
subjects: [{kind: Group, name: g}, {kind: Other, name: o}, {apiGroup: a.com, kind: User, name: u}]
`,
			want: `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: r}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: g}, {kind: Other, name: o}, {apiGroup: a.com, kind: User, name: u}]
`,
		},
	}.run(t)
}
