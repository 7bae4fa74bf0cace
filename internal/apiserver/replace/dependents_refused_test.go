package replace_test

import (
	"fmt"
	"slices"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/lifecycle"
	"holdfast.dev/holdfast/internal/waittest"
)

// The parameters of a request are checked, and a server without a garbage collector refuses.
func TestRefusedDependents(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	old := c.create(t, configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`)
	_, err := c.replace(t, configMaps, old, "adopt", "true")
	refused(t, "adopt alone", err, 400, "adopt=true needs propagationPolicy=Orphan")
	_, err = c.replace(t, configMaps, old, "propagationPolicy", "Foreground")
	refused(t, "in the foreground", err, 400, "a replacement cannot wait")

	without := lifecycle.Selection{"*", "-" + lifecycle.Garbage, "-" + lifecycle.Quotas}
	other := cluster{servertest.Start(t, apiserver.Config{Controllers: without}).Cluster(t)}
	old = other.create(t, configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`)
	_, err = other.replace(t, configMaps, old, orphan...)
	refused(t, "no garbage collector", err, 400, "the garbage collector of this server is off")
	other.mustReplace(t, configMaps, old)
}

// The user needs the right to update each dependent. The answer names those only that the user may read.
func TestRightsOfDependents(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	all := []string{"get", "update", "create", "delete"}
	role := rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "may-" + c.Namespace, Namespace: c.Namespace}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: all},
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}},
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: all},
	}}
	servertest.Grant(t, c, role)
	user := c.as(t, role.Name)
	old := c.create(t, deployments, deployment)
	waittest.Until(t, "the user has the rights", func() error {
		_, err := user.replace(t, deployments, old, "dryRun", "All")
		return err
	})
	for _, test := range []struct {
		resource   schema.GroupVersionResource
		kind, want string
	}{
		{secrets, "Secret", "the user lacks it for secrets"},
		{configMaps, "ConfigMap", fmt.Sprintf("the user lacks it for configmaps \"child\" in namespace %q", c.Namespace)},
	} {
		d := c.owned(t, test.resource, test.kind, "child", referTo(old))
		for _, parameters := range [][]string{orphan, adopt} {
			_, err := user.replace(t, deployments, old, parameters...)
			refused(t, test.kind, err, 403, test.want)
		}
		if got, err := d.owners(t.Context()); err != nil || !equal(got, d.created.GetOwnerReferences()) {
			t.Errorf("%s has the owners %v, %v", test.kind, got, err)
		}
		if err := c.CoreV1().RESTClient().Delete().AbsPath(c.path(test.resource, "child")).Do(t.Context()).Error(); err != nil {
			t.Fatal(err)
		}
	}
	if stored, err := c.get(t.Context(), deployments, "a"); err != nil || stored.GetUID() != old.GetUID() {
		t.Fatalf("%v: stored %v", err, stored)
	}
	// Without dependents that the user may not update, the request is answered.
	created, err := user.replace(t, deployments, old, adopt...)
	if err != nil || created.GetUID() == old.GetUID() {
		t.Errorf("%v, %v", created, err)
	}
}

// protect creates a policy that refuses to remove the owner references of ConfigMaps in the namespace, unless a condition holds. It returns what
// removes it.
func (c cluster) protect(t testing.TB, condition string) (remove func()) {
	t.Helper()
	return c.refuseUnless(t, admissionregistrationv1.Update, admissionregistrationv1.Validation{
		Expression: condition + " || has(object.metadata.ownerReferences) == has(oldObject.metadata.ownerReferences)", Message: "the owners stay",
	})
}

// If a policy protects the owner references of a dependent, the object is not replaced. If the policy comes after the replacement, the
// dependent stays as it is, an Event says why, and the collector goes on when the policy is gone.
func TestProtectedDependents(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	old := c.create(t, deployments, deployment)
	allow := c.protect(t, "false")
	d := c.owned(t, configMaps, "ConfigMap", "one", referTo(old))
	waittest.Until(t, "the replacement is refused", func() error {
		_, err := c.replace(t, deployments, old, append([]string{"dryRun", "All"}, orphan...)...)
		if err == nil {
			return fmt.Errorf("it is not")
		}
		return nil
	})
	_, err := c.replace(t, deployments, old, orphan...)
	refused(t, "protected", err, 409, "the owner references of configmaps \"one\"")
	if stored, err := c.get(t.Context(), deployments, "a"); err != nil || stored.GetUID() != old.GetUID() {
		t.Fatalf("%v: stored %v", err, stored)
	}
	d.await(t, referTo(old))
	allow()

	// A dry run passes, and the write is refused.
	late := newCluster(t)
	old = late.create(t, deployments, deployment)
	allow = late.protect(t, "(has(request.dryRun) && request.dryRun)")
	n := 0
	waittest.Until(t, "the references are protected", func() error {
		n++
		d := late.owned(t, configMaps, "ConfigMap", fmt.Sprint("probe-", n), referTo(old))
		patch := []byte(`{"metadata":{"ownerReferences":null}}`)
		_, err := late.CoreV1().ConfigMaps(late.Namespace).Patch(t.Context(), d.created.GetName(), types.MergePatchType, patch, metav1.PatchOptions{})
		if err == nil {
			return fmt.Errorf("they are not")
		}
		return nil
	})
	protected := late.owned(t, configMaps, "ConfigMap", "protected", referTo(old))
	late.mustReplace(t, deployments, old, orphan...)
	waittest.Until(t, "an Event says why the dependent stays", func() error {
		events, err := late.CoreV1().Events(late.Namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(events.Items, func(event corev1.Event) bool {
			return event.Reason == "OwnerReplaced" && event.InvolvedObject.UID == protected.created.GetUID()
		}) {
			return fmt.Errorf("events %v", events.Items)
		}
		return nil
	})
	late.collectedAfter(t)
	if got, err := protected.owners(t.Context()); err != nil || !equal(got, []metav1.OwnerReference{referTo(old)}) {
		t.Errorf("owners %v, %v", got, err)
	}
	allow()
	protected.await(t)
}
