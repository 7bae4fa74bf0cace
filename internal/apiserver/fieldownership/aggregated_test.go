package fieldownership_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"holdfast.dev/holdfast/internal/access/rbac"
	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

// aggregatedFile is the last-applied configuration of the role.
const aggregatedFile = `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"annotations":{},"name":"crew"},` +
	`"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"crew":"yes"}}]},"rules":[]}`

// TestApplyKeepsAggregatedRules applies a ClusterRole with an aggregationRule whose file has empty rules, after the controller has
// computed the rules.
func TestApplyKeepsAggregatedRules(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{})
	admin := server.Client(t).RbacV1().ClusterRoles()
	want := []rbacv1.PolicyRule{{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}}}
	if _, err := admin.Create(t.Context(), &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "part", Labels: map[string]string{"crew": "yes"}}, Rules: want,
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	patch := func(kind types.PatchType, manager, body string) func(kubernetes.Interface) (*rbacv1.ClusterRole, error) {
		return func(client kubernetes.Interface) (*rbacv1.ClusterRole, error) {
			return client.RbacV1().ClusterRoles().Patch(t.Context(), "crew", kind, []byte(body), metav1.PatchOptions{FieldManager: manager})
		}
	}
	tests := map[string]struct {
		command string
		write   func(kubernetes.Interface) (*rbacv1.ClusterRole, error)
		// changed means that the write is no apply, and changes the rules until the controller computes them again.
		changed bool
	}{
		"client-side apply": {
			command: "kubectl apply", write: patch(types.StrategicMergePatchType, "kubectl-client-side-apply", `{"rules":[]}`),
		},
		"client-side apply that removes the rules": {
			command: "kubectl apply", write: patch(types.MergePatchType, "kubectl-client-side-apply", `{"metadata":{"labels":{"x":"1"}},"rules":null}`),
		},
		"client-side apply without a command": {write: patch(types.MergePatchType, "argocd-controller", `{"rules":[]}`)},
		"server-side apply":                   {command: "kubectl apply", write: patch(types.ApplyPatchType, "kubectl", aggregatedFile)},
		"server-side apply of a program":      {write: patch(types.ApplyPatchType, "flux", aggregatedFile)},
		"a patch": {
			command: "kubectl patch", write: patch(types.MergePatchType, "kubectl-patch", `{"rules":[]}`), changed: true,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			apply := running(t, server.Config(t), "kubectl apply")
			role := &rbacv1.ClusterRole{
				ObjectMeta: metav1.ObjectMeta{Name: "crew", Annotations: map[string]string{
					"kubectl.kubernetes.io/last-applied-configuration": aggregatedFile,
				}},
				AggregationRule: &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{"crew": "yes"}}}},
			}
			if _, err := apply.RbacV1().ClusterRoles().Create(t.Context(), role,
				metav1.CreateOptions{FieldManager: "kubectl-client-side-apply"}); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = admin.Delete(t.Context(), "crew", metav1.DeleteOptions{}) }()
			waittest.Until(t, "the controller computes the rules", func() bool {
				role, err := admin.Get(t.Context(), "crew", metav1.GetOptions{})
				return err == nil && cmp.Equal(role.Rules, want)
			})
			client := running(t, server.Config(t), test.command)
			got, err := test.write(client)
			if err != nil {
				t.Fatal(err)
			}
			if isKept := cmp.Equal(got.Rules, want); isKept == test.changed {
				t.Errorf("rules after the write: %v", got.Rules)
			}
			if said := client.heard(); len(said) > 0 {
				t.Errorf("warnings: %q", said)
			}
			if !test.changed {
				if diff := cmp.Diff([]string{rbac.AggregationManager}, ownersOfRules(got)); diff != "" {
					t.Errorf("owners of the rules (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func ownersOfRules(role *rbacv1.ClusterRole) []string {
	var owners []string
	for _, entry := range role.ManagedFields {
		if bytes.Contains(entry.FieldsV1.GetRawBytes(), []byte(`"f:rules"`)) {
			owners = append(owners, entry.Manager)
		}
	}
	slices.Sort(owners)
	return owners
}
