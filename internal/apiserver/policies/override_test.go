package policies_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/config"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

// delete deletes an object and returns the answer as text.
func (f *fixture) delete(resource, name string, options metav1.DeleteOptions) string {
	f.Helper()
	f.warnings.texts = nil
	return outcome(f.of(resource).Delete(f.Context(), name, options))
}

// wantWarnings checks the warnings of the last write.
func (f *fixture) wantWarnings(texts ...string) {
	f.Helper()
	if !slices.Equal(f.warnings.texts, texts) {
		f.Errorf("warnings %q, want %q", f.warnings.texts, texts)
	}
}

// impersonating returns the fixture with a client of the administrator that impersonates a user.
func (f *fixture) impersonating(user string) *fixture {
	f.Helper()
	config := f.server.Config(f.TB)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	return f.connect(config)
}

// events returns the messages of the Events about a policy.
func (f *fixture) events(policy string) []string {
	f.Helper()
	events, err := f.server.Client(f.TB).CoreV1().Events("").List(f.Context(), metav1.ListOptions{})
	if err != nil {
		f.Fatal(err)
	}
	var found []string
	for i := range events.Items {
		if about := events.Items[i].InvolvedObject; about.Kind == "ImmutabilityPolicy" && about.Name == policy {
			found = append(found, events.Items[i].Message)
		}
	}
	return found
}

// awaitEvents waits until Events about a policy have these messages.
func (f *fixture) awaitEvents(policy string, messages ...string) {
	f.Helper()
	waittest.Until(f.TB, "Events about policy "+policy, func() bool {
		found := f.events(policy)
		return !slices.ContainsFunc(messages, func(message string) bool { return !slices.Contains(found, message) })
	})
}

// TestOverride checks what the server says about updates and deletions that the right of their user allows, and about rules that warn:
// warnings, the audit log, the metric and Events.
func TestOverride(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := filepath.Join(dir, "audit.log")
	write(t, dir, "audit.yaml", `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules: [{level: Metadata, verbs: [patch, delete, deletecollection]}]
`)
	f := start(t, apiserver.Config{Audit: config.Audit{PolicyFile: filepath.Join(dir, "audit.yaml"), LogPath: log}})
	for _, name := range []string{"a", "b", "c"} {
		f.create(configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: `+name+`}, data: {size: L}}`)
	}
	f.create("namespaces", `{apiVersion: v1, kind: Namespace, metadata: {name: prod}}`)
	f.create("default/secrets", `{apiVersion: v1, kind: Secret, metadata: {name: s}}`)
	f.policy("used", `{resources: [configmaps, namespaces], rules: [immutable data unless resize, no-delete unless retire]}`)
	f.policy("soft", `{mode: warn, resources: [secrets], rules: [no-delete]}`)
	f.grant("ann", []string{"configmaps", "namespaces", "secrets"}, []string{"patch", "get", "delete", "deletecollection"})
	f.grant("bob", []string{"configmaps", "namespaces"}, []string{"patch", "get", "delete", "deletecollection", "resize", "retire"})
	f.grant("eve", []string{"configmaps", "namespaces"}, []string{"patch", "delete", "resize"})
	ann, bob, eve := f.as("ann"), f.as("bob"), f.as("eve")
	dryRun := metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}

	f.want("without the right", ann.delete(configMaps, "a", metav1.DeleteOptions{}), `Conflict: configmaps "a" cannot be deleted: the rule "no-delete unless retire`)
	f.want("impersonation", f.impersonating("ann").delete(configMaps, "a", metav1.DeleteOptions{}), "Conflict: ")
	f.want("impersonation", f.impersonating("ann").patch(configMaps, "a", `{data: {size: M}}`), "(a user that may resize it can change it)")
	f.want("an update", f.impersonating("bob").patch(configMaps, "a", `{data: {size: M}}`), "ok")
	f.want("an update", bob.patch(configMaps, "a", `{data: {size: S}}`), "ok")
	bob.wantWarnings(`data.size: changed from "M" to "S" by the right to resize`)
	f.want("an update without get", eve.patch(configMaps, "a", `{data: {size: L}}`), "ok")
	eve.wantWarnings(`data.size: changed by the right to resize`)
	f.want("a dry run", bob.delete(configMaps, "a", dryRun), "ok")
	bob.wantWarnings("configmaps/a: deleted by the right to retire")
	f.wantMetric("holdfast_rule_overrides_total 3") // without the dry run
	f.want("a deletion", bob.delete(configMaps, "a", metav1.DeleteOptions{}), "ok")
	bob.wantWarnings("configmaps/a: deleted by the right to retire")
	f.want("a namespace", ann.delete("namespaces", "prod", metav1.DeleteOptions{}), "Conflict: ")
	f.want("a namespace, whose kube-root-ca.crt no rule keeps from going with it", bob.delete("namespaces", "prod", metav1.DeleteOptions{}), "ok")
	waittest.Until(t, "the namespace is gone", func() bool {
		_, err := f.of("namespaces").Get(t.Context(), "prod", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	bob.warnings.texts = nil
	if err := bob.of(configMaps).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: "metadata.name=b"}); err != nil {
		t.Error(err)
	}
	bob.wantWarnings("configmaps/b: deleted by the right to retire")
	err := ann.of(configMaps).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{})
	if !apierrors.IsConflict(err) || !strings.Contains(err.Error(), "default/c") {
		t.Errorf("a collection: %v", err)
	}
	f.wantMetric("holdfast_rule_overrides_total 6")
	f.want("a rule that warns", ann.delete("default/secrets", "s", metav1.DeleteOptions{}), "ok")
	ann.wantWarnings(`secrets/s: the rule "no-delete" of policy soft warns about its deletion`)
	f.awaitEvents("used", "refused the deletion of configmaps default/a: no-delete", "refused an update of configmaps default/a: immutable data")
	f.awaitEvents("soft", "warned about the deletion of secrets default/s: no-delete")
	if err := f.server.Stop(); err != nil {
		t.Fatal(err)
	}
	logged, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{"data.size resize", "no-delete retire"} {
		if !strings.Contains(string(logged), `"rules.holdfast.dev/override":"`+value+`"`) {
			t.Errorf("the audit log has no override %q:\n%s", value, logged)
		}
	}
}

// TestDryRunInBody checks that the server neither counts a deletion or eviction nor makes an Event of it, if the body of the request asks
// for a dry run.
func TestDryRunInBody(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const policy = `
apiVersion: guard.holdfast.dev/v1beta1
kind: ImmutabilityPolicy
metadata: {name: NAME}
spec:
  resources: [configmaps, pods, customresourcedefinitions.apiextensions.k8s.io]
  rules: [RULE]
  objectSelector: {matchLabels: {kept: NAME}}
`
	write(t, dir, "always.yaml", strings.NewReplacer("NAME", "always", "RULE", "no-delete").Replace(policy))
	write(t, dir, "unless.yaml", strings.NewReplacer("NAME", "unless", "RULE", "no-delete unless retire").Replace(policy))
	f := start(t, apiserver.Config{RulesDir: dir})
	evict := func(name string, options metav1.DeleteOptions) string {
		return outcome(f.server.Client(t).CoreV1().Pods("default").EvictV1(t.Context(), &policyv1.Eviction{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}, DeleteOptions: &options,
		}))
	}
	dryRun := metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}
	for kept, want := range map[string]string{
		"always": `the rule "no-delete" of policy always keeps it; remove the rule from the file always.yaml of --rules-dir first`,
		"unless": "ok",
	} {
		f.create(definitions, strings.NewReplacer("widgets", kept, "{name: ", "{labels: {kept: "+kept+"}, name: ", "Widget", "Kind"+kept).Replace(widgetsDefinition))
		f.create(configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: c-`+kept+`, labels: {kept: `+kept+`}}}`)
		f.create("default/pods", `{apiVersion: v1, kind: Pod, metadata: {name: `+kept+`, labels: {kept: `+kept+`}}, spec: {containers: [{name: c, image: i}]}}`)
		f.want("an eviction", evict(kept, dryRun), want)
		f.want("a definition", f.delete(definitions, kept+".example.com", dryRun), want)
		f.want("a deletion", f.delete(configMaps, "c-"+kept, dryRun), want)
	}
	f.wantMetric("holdfast_rule_overrides_total 0")
	f.wantMetric(`holdfast_refusals_total{protection="kept-object"} 0`)
	f.want("without dry run", evict("always", metav1.DeleteOptions{}), "cannot be deleted")
	f.want("without dry run", evict("unless", metav1.DeleteOptions{}), "ok")
	f.wantMetric("holdfast_rule_overrides_total 1")
	f.wantMetric(`holdfast_refusals_total{protection="kept-object"} 1`)
	f.awaitEvents("always", "refused the deletion of pods default/always: no-delete")
	if found := f.events("always"); len(found) != 1 {
		t.Errorf("Events %q, want only that of the eviction", found)
	}
}

// TestBindingCounts checks that a refused binding of a pod has an Event, and counts.
func TestBindingCounts(t *testing.T) {
	t.Parallel()
	f := start(t, apiserver.Config{})
	f.create("default/pods", `{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}`)
	f.policy("nodes", `{resources: [pods], rules: [immutable spec.nodeName]}`)
	bind := f.server.Client(t).CoreV1().Pods("default").Bind(t.Context(), &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: "p"}, Target: corev1.ObjectReference{Kind: "Node", Name: "n"},
	}, metav1.CreateOptions{})
	f.want("the node", outcome(bind), "which policy nodes forbids")
	f.wantMetric(`holdfast_refusals_total{protection="policy"} 1`)
	f.awaitEvents("nodes", "refused an update of pods/binding default/p: immutable spec.nodeName")
}

// TestNewKindIsKept checks that a rule no-delete holds for the first object of a kind that is installed after the policy.
func TestNewKindIsKept(t *testing.T) {
	t.Parallel()
	f := start(t, apiserver.Config{})
	f.policy("widgets", `{resources: [widgets.example.com], rules: ['no-delete while oldSelf.spec.size == "L"']}`)
	f.create(definitions, widgetsDefinition)
	f.create(widgets, `{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, spec: {size: L}}`)
	f.want("the first object", f.delete(widgets, "w", metav1.DeleteOptions{}), "Conflict: ")
}

// TestOverrideOfRefusedWrites checks that a write by a right, which another check refuses, has no warning and does not count, and that in
// a collection the deletions that were carried out have both.
func TestOverrideOfRefusedWrites(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "used.yaml", `
apiVersion: guard.holdfast.dev/v1beta1
kind: ImmutabilityPolicy
metadata: {name: used}
spec:
  resources: [configmaps, namespaces, customresourcedefinitions.apiextensions.k8s.io]
  rules: [immutable data unless resize, no-delete unless retire]
`)
	f := start(t, apiserver.Config{RulesDir: dir})
	f.create("namespaces", `{apiVersion: v1, kind: Namespace, metadata: {name: prod}}`)
	f.create("prod/secrets", `{apiVersion: v1, kind: Secret, metadata: {name: s, annotations: {holdfast.dev/keep: always}}}`)
	f.create(definitions, widgetsDefinition)
	f.create(widgets, `{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, annotations: {holdfast.dev/keep: always}}}`)
	for _, name := range []string{"a", "b"} {
		f.create(configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: `+name+`, labels: {of: test}}, data: {size: L}}`)
	}
	for _, options := range []metav1.DeleteOptions{{}, {DryRun: []string{metav1.DryRunAll}}} {
		f.want("a namespace with a kept object", f.delete("namespaces", "prod", options), "secrets/s")
		f.wantWarnings()
		f.want("a definition with a kept object", f.delete(definitions, "widgets.example.com", options), "widgets.example.com/w")
		f.wantWarnings()
	}
	f.want("another uid", f.delete(configMaps, "a", *metav1.NewPreconditionDeleteOptions("other")), "Conflict: ")
	f.wantWarnings()
	f.want("a wrong update", f.patch(configMaps, "a", `{data: {size: M, "not a key": ""}}`), "Invalid: ")
	f.wantWarnings()
	f.wantMetric("holdfast_rule_overrides_total 0")

	f.create("default/roles.v1.rbac.authorization.k8s.io", `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: some},
  rules: [{apiGroups: [""], resources: [configmaps], verbs: [retire], resourceNames: [a]}]}`)
	f.create("default/rolebindings.v1.rbac.authorization.k8s.io", `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: some},
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: some}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: ann}]}`)
	f.grant("ann", []string{"configmaps"}, []string{"deletecollection", "list"})
	servertest.AwaitRight(t, f.server.Client(t), "ann", authorizationv1.ResourceAttributes{Verb: "retire", Resource: "configmaps", Namespace: "default", Name: "a"})
	ann := f.as("ann")
	err := ann.of(configMaps).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "of=test"})
	f.want("a collection", outcome(err), "Conflict: 1 object of configmaps must be kept and was not deleted: default/b")
	ann.wantWarnings("configmaps/a: deleted by the right to retire")
	f.wantMetric("holdfast_rule_overrides_total 1")
	f.want("an object of the collection", f.delete(configMaps, "a", metav1.DeleteOptions{}), "NotFound: ")
}
