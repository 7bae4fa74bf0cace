package rbac_test

import (
	"context"
	"math/rand/v2"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/component-helpers/auth/rbac/validation"

	"holdfast.dev/holdfast/internal/access/rbac"
	"holdfast.dev/holdfast/internal/admission/escalation"
)

const (
	// worlds is the number of random worlds that the tests compare, and requests the number
	// of requests in each.
	worlds   = 3000
	requests = 24
	// worldBytes is enough to draw a world and its requests from.
	worldBytes = 600
)

// inWorlds runs a check in random worlds that are the same in every run.
func inWorlds(t *testing.T, check func(t testing.TB, c *choices)) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	for i := range worlds {
		data := make([]byte, worldBytes)
		for j := range data {
			data[j] = byte(random.Uint32())
		}
		if check(t, &choices{data}); t.Failed() {
			t.Fatalf("in world %d", i)
		}
	}
}

func TestAuthorizeLikeKubernetes(t *testing.T)         { inWorlds(t, checkRequests) }
func TestPreventEscalationLikeKubernetes(t *testing.T) { inWorlds(t, checkEscalation) }
func TestAggregateLikeKubernetes(t *testing.T)         { inWorlds(t, checkAggregation) }

// FuzzAuthorize compares the authorizer, the escalation check and the aggregation of roles with
// the judge, in worlds that the fuzzer draws.
func FuzzAuthorize(f *testing.F) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 8 {
		data := make([]byte, worldBytes)
		for j := range data {
			data[j] = byte(random.Uint32())
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		checkRequests(t, &choices{data})
		checkEscalation(t, &choices{data})
		checkAggregation(t, &choices{data})
	})
}

// checkRequests compares decisions of the authorizer with those of the judge.
func checkRequests(t testing.TB, c *choices) {
	t.Helper()
	w := newWorld(c)
	a := w.authorizer(t)
	for range requests {
		attributes := c.request(c.user())
		decision, _, err := a.Authorize(t.Context(), attributes)
		if err != nil {
			t.Fatal(err)
		}
		namespace := attributes.Namespace
		want := judgeRequest(w.judgeRules(attributes.User, namespace), attributes)
		if got := decision == authorizer.DecisionAllow; got != want {
			t.Errorf("request %+v of %v: allowed %t, want %t, in\n%s", attributes, attributes.User, got, want, w)
		}
	}
}

// checkEscalation compares the refusals of the escalation check with upstream's function for
// covered rules. It also checks what the refusals are for: an author that may write a role or a
// binding may do everything that it grants.
func checkEscalation(t testing.TB, c *choices) {
	t.Helper()
	w := newWorld(c)
	bindings := w.authorizer(t)
	roles := func(_ context.Context, ref rbacv1.RoleRef, namespace string) ([]rbacv1.PolicyRule, error) {
		if rules, found := w.judgeRole(ref, namespace); found {
			return rules, nil
		}
		return nil, apierrors.NewNotFound(rbacv1.Resource("roles"), ref.Name)
	}
	plugin := escalation.New(bindings, bindings, roles)
	author, namespace := c.user(), c.namespace()
	held := w.judgeRules(author, namespace)
	allowed := func(verb, resource, name string) bool {
		return judgeRequest(held, authorizer.AttributesRecord{
			User: author, Verb: verb, APIGroup: rbacv1.GroupName, Resource: resource, Namespace: namespace, Name: name, ResourceRequest: true,
		})
	}
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "new", Namespace: namespace}, Rules: c.rules()}
	binding := &rbacv1.RoleBinding{ObjectMeta: role.ObjectMeta, RoleRef: c.roleRef(), Subjects: c.subjects()}
	bound, found := w.judgeRole(binding.RoleRef, namespace)
	resources := map[string]string{"Role": "roles", "ClusterRole": "clusterroles"}
	mayBind := resources[binding.RoleRef.Kind] != "" && allowed("bind", resources[binding.RoleRef.Kind], binding.RoleRef.Name)
	for _, written := range []struct {
		obj      runtime.Object
		resource string
		rules    []rbacv1.PolicyRule
		exempt   bool
		missing  bool
	}{
		{obj: role, resource: "roles", rules: role.Rules, exempt: allowed("escalate", "roles", "")},
		{obj: binding, resource: "rolebindings", rules: bound, exempt: mayBind, missing: !found},
	} {
		covered, _ := validation.Covers(held, written.rules)
		want := written.exempt || covered && !written.missing
		err := create(plugin, written.obj, written.resource, author)
		if (err == nil) != want {
			t.Errorf("%v creates %+v: %v, want allowed %t, in\n%s", author, written.obj, err, want, w)
		}
		if err != nil || written.exempt {
			continue
		}
		for range requests {
			granted := c.request(author)
			granted.Namespace = namespace
			if judgeRequest(written.rules, granted) && !judgeRequest(held, granted) {
				t.Errorf("%v may create %+v but may not do %+v, in\n%s", author, written.obj, granted, w)
			}
		}
	}
}

// create asks the plugin whether a user may create an object.
func create(plugin *escalation.Plugin, obj runtime.Object, resource string, u user.Info) error {
	meta := obj.(metav1.Object)
	ctx := request.WithRequestInfo(context.Background(), &request.RequestInfo{
		IsResourceRequest: true, APIGroup: rbacv1.GroupName, Resource: resource, Namespace: meta.GetNamespace(),
	})
	return plugin.Validate(ctx, admission.NewAttributesRecord(obj, nil, rbacv1.SchemeGroupVersion.WithKind("Role"), meta.GetNamespace(),
		meta.GetName(), rbacv1.SchemeGroupVersion.WithResource(resource), "", admission.Create, nil, false, u), nil)
}

// checkAggregation compares what an aggregated role allows with what the selected roles allow.
func checkAggregation(t testing.TB, c *choices) {
	t.Helper()
	w := newWorld(c)
	selected := c.one("view", "edit")
	aggregated := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: c.one("r0", "r1", "sum"), Labels: map[string]string{"to": selected}},
		AggregationRule: &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{
			{MatchLabels: map[string]string{"to": selected}}, {MatchLabels: map[string]string{"to": selected}},
		}},
		Rules: c.rules(),
	}
	rules, err := rbac.Aggregate(aggregated, append(w.clusterRoles, aggregated))
	if err != nil {
		t.Fatal(err)
	}
	var want []rbacv1.PolicyRule
	for _, role := range w.clusterRoles {
		if role.Labels["to"] == selected && role.Name != aggregated.Name {
			want = append(want, role.Rules...)
		}
	}
	for range requests {
		attributes := c.request(c.user())
		if got, want := rbac.Allow(rules, attributes), judgeRequest(want, attributes); got != want {
			t.Errorf("request %+v: allowed %t, want %t, in\n%s", attributes, got, want, w)
		}
	}
}
