package guard_test

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/native/judgement"
	"holdfast.dev/holdfast/internal/waittest"
)

// deletion is one deletion, or an eviction.
type deletion struct {
	what           string
	user           string
	resource, name string
	// collection is the label selector of the deletion of a collection.
	collection    string
	evict, dryRun bool
}

// send sends the deletion, and returns the answer without what an API server writes before the message of a webhook: the code, the
// message, the causes and the warnings.
func (d deletion) send(f *fixture) string {
	f.Helper()
	by := f.as(d.user)
	options := metav1.DeleteOptions{}
	if d.dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	var err error
	switch namespace, _, _ := strings.Cut(d.resource, "/"); {
	case d.evict:
		config := by.withPatience(f.server.As(f.T, d.user))
		config.WarningHandler = by.warnings
		client, failed := kubernetes.NewForConfig(config)
		if failed != nil {
			f.Fatal(failed)
		}
		eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: d.name, Namespace: namespace}, DeleteOptions: &options}
		err = client.PolicyV1().Evictions(namespace).Evict(f.Context(), eviction)
	case d.collection != "":
		err = by.of(d.resource).DeleteCollection(f.Context(), options, metav1.ListOptions{LabelSelector: d.collection})
	default:
		err = by.of(d.resource).Delete(f.Context(), d.name, options)
	}
	answer := "ok"
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		message := status.Status().Message
		if _, rest, ok := strings.Cut(message, "denied the request: "); ok && strings.HasPrefix(message, "admission webhook ") {
			message = rest
		}
		answer = fmt.Sprintf("%d %s %s", status.Status().Code, status.Status().Reason, message)
		if details := status.Status().Details; details != nil {
			for _, cause := range details.Causes {
				answer += fmt.Sprintf("\n%s %s %s", cause.Type, cause.Field, cause.Message)
			}
		}
	} else if err != nil {
		f.Fatal(err)
	}
	for _, text := range slices.Sorted(slices.Values(by.warnings.texts)) {
		answer += "\nwarning: " + text
	}
	return answer
}

// right lets a user do something with exactly one object.
type right struct{ user, verb, group, resource, namespace, name string }

// give gives a user the right, in the namespace if there is one.
func (r right) give(f *fixture) {
	f.Helper()
	rbac, name := f.server.Client(f.T).RbacV1(), strings.ReplaceAll(fmt.Sprint(r.user, "-", r.verb, "-", r.resource, "-", r.name), "/", "-")
	rules := []rbacv1.PolicyRule{{APIGroups: []string{r.group}, Resources: []string{r.resource}, ResourceNames: []string{r.name}, Verbs: []string{r.verb}}}
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: r.user}}
	meta := metav1.ObjectMeta{Name: name}
	var failed, err error
	if r.namespace != "" {
		_, failed = rbac.Roles(r.namespace).Create(f.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{})
		_, err = rbac.RoleBindings(r.namespace).Create(f.Context(), &rbacv1.RoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name}, Subjects: subjects,
		}, metav1.CreateOptions{})
	} else {
		_, failed = rbac.ClusterRoles().Create(f.Context(), &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{})
		_, err = rbac.ClusterRoleBindings().Create(f.Context(), &rbacv1.ClusterRoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}, Subjects: subjects,
		}, metav1.CreateOptions{})
	}
	if err = errors.Join(failed, err); err != nil {
		f.Fatal(err)
	}
	resource, sub, _ := strings.Cut(r.resource, "/")
	servertest.AwaitRight(f.T, f.server.Client(f.T), r.user, authorizationv1.ResourceAttributes{
		Verb: r.verb, Group: r.group, Resource: resource, Subresource: sub, Namespace: r.namespace, Name: r.name,
	})
}

// deletionPolicies are rules no-delete with rights, conditions, selectors and the mode warn.
var deletionPolicies = []string{
	`{metadata: {name: configmaps}, spec: {resources: [configmaps], rules: ['no-delete unless retire while oldSelf.data.state == "used"'], ` +
		`objectSelector: {matchExpressions: [{key: keep, operator: Exists}]}}}`,
	`{metadata: {name: namespaces}, spec: {resources: [namespaces], rules: [no-delete unless retire]}}`,
	`{metadata: {name: pods}, spec: {resources: [pods], rules: [no-delete unless retire], objectSelector: {matchLabels: {keep: "yes"}}}}`,
	`{metadata: {name: soft}, spec: {mode: warn, resources: [pods, secrets, namespaces], rules: [no-delete unless clean]}}`,
	`{metadata: {name: volumes}, spec: {resources: [persistentvolumes], rules: [no-delete unless retire]}}`,
}

// prepared creates policies and objects for deletions, and waits until the policies are in force.
func (f *fixture) prepared() {
	f.Helper()
	for _, name := range []string{"prod", "kept", "many"} {
		f.create("namespaces", `{apiVersion: v1, kind: Namespace, metadata: {name: `+name+`}}`)
	}
	for _, text := range deletionPolicies {
		f.create(policies, strings.Replace(text, "{metadata:", "{apiVersion: guard.holdfast.dev/v1alpha1, kind: ImmutabilityPolicy, metadata:", 1))
	}
	for _, name := range []string{"configmaps", "namespaces", "pods", "soft", "volumes"} {
		f.wantStatus(name, "True", "all rules are in force")
	}
	used := func(namespace, name string) {
		f.create(namespace+"/configmaps", strings.NewReplacer("NAME", name, "keep:", "one: "+name+", keep:").Replace(usedConfigMap))
	}
	used("prod", "a")
	used("prod", "b")
	for i := range 7 {
		used("many", fmt.Sprint("c", i))
	}
	f.create("prod/configmaps", `{apiVersion: v1, kind: ConfigMap, metadata: {name: unclear, labels: {keep: "yes"}}}`)
	f.create("prod/configmaps", `{apiVersion: v1, kind: ConfigMap, metadata: {name: ending, labels: {keep: "yes"}, finalizers: [example.com/f]}, data: {state: free}}`)
	f.create("prod/secrets", `{apiVersion: v1, kind: Secret, metadata: {name: s}}`)
	f.create("prod/pods", `{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {keep: "yes"}}, spec: {containers: [{name: c, image: i}]}}`)
	f.create("prod/pods", `{apiVersion: v1, kind: Pod, metadata: {name: q}, spec: {containers: [{name: c, image: i}]}}`)
	f.create("persistentvolumes", `{apiVersion: v1, kind: PersistentVolume, metadata: {name: v}, spec: {capacity: {storage: 1Mi}, `+
		`accessModes: [ReadWriteOnce], hostPath: {path: /v}}}`)
	rbac := f.server.Client(f.T).RbacV1()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "deleter"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"*"}, Verbs: []string{"get", "delete", "deletecollection"}},
		{APIGroups: []string{""}, Resources: []string{"pods/eviction"}, Verbs: []string{"create"}},
	}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "deleter"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "deleter"},
		Subjects: []rbacv1.Subject{
			{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "ann"}, {APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "bob"},
		},
	}
	if _, err := rbac.ClusterRoles().Create(f.Context(), role, metav1.CreateOptions{}); err != nil {
		f.Fatal(err)
	}
	if _, err := rbac.ClusterRoleBindings().Create(f.Context(), binding, metav1.CreateOptions{}); err != nil {
		f.Fatal(err)
	}
	// The rights of bob name one object each, so they count only if exactly this object is asked about. Those of ann name other ones.
	for _, r := range []right{
		{"bob", "retire", "", "configmaps", "prod", "a"},
		{"bob", "retire", "", "configmaps", "prod", "b"},
		{"bob", "retire", "", "namespaces", "kept", "kept"},
		{"bob", "retire", "", "namespaces", "many", "many"},
		{"bob", "retire", "", "pods", "prod", "p"},
		{"bob", "retire", "", "persistentvolumes", "", "v"},
		{"bob", "clean", "", "secrets", "prod", "s"},
		{"ann", "retire", "", "configmaps", "many", "a"},
		{"ann", "retire", "", "namespaces", "prod", "kept"},
		{"ann", "retire", "", "pods/eviction", "prod", "p"},
		{"ann", "retire", "", "persistentvolumes", "prod", "v"},
	} {
		r.give(f)
	}
	ann := deletion{user: "ann", dryRun: true}
	for _, each := range [][]string{{"prod/configmaps", "a"}, {"namespaces", "prod"}, {"namespaces", "many"}, {"prod/pods", "p"}, {"persistentvolumes", "v"}} {
		ann.resource, ann.name = each[0], each[1]
		waittest.Until(f.T, "the deletion of "+each[1]+" is judged", func() bool { return strings.HasPrefix(ann.send(f), "409 ") })
	}
	ann.resource, ann.name = "prod/secrets", "s"
	waittest.Until(f.T, "the deletion of a secret is judged", func() bool { return strings.Contains(ann.send(f), "warning: ") })
	ann.resource, ann.name, ann.evict = "prod/pods", "p", true
	waittest.Until(f.T, "evictions are judged", func() bool { return strings.HasPrefix(ann.send(f), "409 ") })
}

// TestDeletionsOfServer checks that the guard answers deletions as our server does: with the same codes, words, causes and warnings, and
// after the same questions about rights. It also checks what the guard tells besides.
func TestDeletionsOfServer(t *testing.T) {
	t.Parallel()
	server := startWith(t, apiserver.Config{Ownership: string(judgement.Off)})
	guarded := start(t)
	guarded.create(definitions, strings.NewReplacer("PLURAL", "clusterreports", "GROUP", "openreports.io", "VERSION", "v1alpha1", "KIND",
		"ClusterReport").Replace(reportDefinition))
	guarded.run()
	server.prepared()
	guarded.prepared()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, guarded.health+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	count := func(decision, resource string) int {
		return countOf(t, request, `holdfast_guard_decisions_total{decision="`+decision+`",group="",resource="`+resource+`",webhook="keep"}`)
	}
	overridden, refused := count("overridden", "configmaps"), count("refused", "persistentvolumes")
	for _, step := range []struct {
		deletion
		want string
	}{
		{
			deletion{what: "without the right", user: "ann", resource: "prod/configmaps", name: "a"},
			`409 Conflict configmaps "a" cannot be deleted: the rule "no-delete unless retire while oldSelf.data.state == \"used\"" of policy configmaps keeps it; `,
		},
		{deletion{what: "a condition that cannot be evaluated", user: "ann", resource: "prod/configmaps", name: "unclear"}, "could not be evaluated"},
		{
			deletion{what: "a dry run with the right", user: "bob", resource: "prod/configmaps", name: "a", dryRun: true},
			"ok\nwarning: configmaps/a: deleted by the right to retire",
		},
		{deletion{what: "with the right", user: "bob", resource: "prod/configmaps", name: "a"}, "ok\nwarning: configmaps/a: deleted by the right to retire"},
		{deletion{what: "it becomes terminating", user: "ann", resource: "prod/configmaps", name: "ending"}, "ok"},
		{deletion{what: "it is terminating", user: "ann", resource: "prod/configmaps", name: "ending"}, "ok"},
		{deletion{what: "a volume without the right", user: "ann", resource: "persistentvolumes", name: "v"}, `409 Conflict persistentvolumes "v"`},
		{
			deletion{what: "a volume with the right", user: "bob", resource: "persistentvolumes", name: "v"},
			"ok\nwarning: persistentvolumes/v: deleted by the right to retire",
		},
		{
			deletion{what: "an eviction without the right", user: "ann", resource: "prod/pods", name: "p", evict: true},
			`409 Conflict pods "p" cannot be deleted: the rule "no-delete unless retire" of policy pods keeps it`,
		},
		{
			deletion{what: "an eviction of another pod", user: "ann", resource: "prod/pods", name: "q", evict: true},
			"ok\nwarning: pods/q: the rule \"no-delete unless clean\" of policy soft warns about its deletion",
		},
		{deletion{what: "an eviction with the right", user: "bob", resource: "prod/pods", name: "p", evict: true}, "warning: pods/p: deleted by the right to retire"},
		{
			deletion{what: "a rule that warns", user: "ann", resource: "prod/secrets", name: "s", dryRun: true},
			"ok\nwarning: secrets/s: the rule \"no-delete unless clean\" of policy soft warns about its deletion",
		},
		{deletion{what: "a rule that warns, with the right", user: "bob", resource: "prod/secrets", name: "s"}, "ok"},
		{
			deletion{what: "a namespace without the right", user: "ann", resource: "namespaces", name: "kept"},
			`409 Conflict namespaces "kept" cannot be deleted: the rule "no-delete unless retire" of policy namespaces keeps it`,
		},
		{
			deletion{what: "a namespace with kept objects", user: "bob", resource: "namespaces", name: "many"},
			`namespaces "many" cannot be deleted: it holds 7 objects that must be kept: configmaps/c0, configmaps/c1, configmaps/c2, configmaps/c3, configmaps/c4 and 2 more; `,
		},
		{deletion{what: "a namespace with the right", user: "bob", resource: "namespaces", name: "kept"}, "warning: namespaces/kept: deleted by the right to retire"},
		{
			deletion{what: "a collection with the right", user: "bob", resource: "prod/configmaps", collection: "one=b"},
			"ok\nwarning: configmaps/b: deleted by the right to retire",
		},
		{deletion{what: "a collection without the right", user: "ann", resource: "many/configmaps", collection: "one=c0"}, "409 Conflict "},
	} {
		of, by := step.send(server), step.send(guarded)
		if strings.HasPrefix(of, "409 ") { // the server warns about the right before it looks at the objects in a namespace
			of = regexp.MustCompile("\nwarning: .*: deleted by the right.*").ReplaceAllString(of, "")
		}
		if (of != by && step.collection == "") || !strings.Contains(by, step.want) { // the words about a collection differ
			t.Errorf("%s\nserver: %s\nguard: %s\nwant: %s", step.what, of, by, step.want)
		}
	}
	guarded.wantCount("deletions allowed by a right", count("overridden", "configmaps")-overridden, 2) // without the dry run
	guarded.wantCount("refused deletions", count("refused", "persistentvolumes")-refused, 1)
	for policy, message := range map[string]string{
		"configmaps": "1 Refused: refused the deletion of configmaps many/c0: no-delete",
		"volumes":    "1 Refused: refused the deletion of persistentvolumes v: no-delete",
		"pods":       "1 Refused: refused the deletion of pods prod/p: no-delete",
		"namespaces": "1 Refused: refused the deletion of namespaces kept/kept: no-delete",
		"soft":       "1 Warned: warned about the deletion of pods prod/q: no-delete",
	} {
		waittest.Until(t, "Event about "+policy, func() error {
			if got := guarded.eventsAbout(policy); !slices.Contains(got, message) {
				return fmt.Errorf("%q, want %q", got, message)
			}
			return nil
		})
	}
	for _, want := range []string{
		"fail volumes no-delete: refused the deletion of persistentvolumes v PersistentVolume/v 1",
		"fail pods no-delete: refused the deletion of pods prod/p Pod/p 1",
		"fail configmaps no-delete: refused the deletion of namespaces many/many Namespace/many ", // by one or two webhooks
		"warn soft no-delete: warned about the deletion of pods prod/q Pod/q 1",
	} {
		waittest.Until(t, "the report", func() error {
			got, _ := guarded.reported("clusterreports.v1alpha1.openreports.io")
			if !slices.ContainsFunc(got, func(line string) bool { return strings.HasPrefix(line, want) }) {
				return fmt.Errorf("%q, want %q", got, want)
			}
			return nil
		})
	}
}
