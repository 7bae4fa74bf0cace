package review_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/access/review"
)

// echo returns the attributes of the request as its reason. It allows the verb get
// and denies the verb delete.
var echo = authorizer.AuthorizerFunc(func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	fieldSelector, fieldErr := a.GetFieldSelector()
	labelSelector, labelErr := a.GetLabelSelector()
	reason := fmt.Sprintf("%s%v %s ", a.GetUser().GetName(), a.GetUser().GetGroups(), a.GetVerb())
	if a.IsResourceRequest() {
		reason += fmt.Sprintf("%s/%s/%s/%s ", a.GetAPIGroup(), a.GetAPIVersion(), a.GetResource(), a.GetSubresource())
		reason += fmt.Sprintf("%s/%s fields=%v labels=%v", a.GetNamespace(), a.GetName(), fieldSelector, labelSelector)
	} else {
		reason += a.GetPath()
	}
	decision := authorizer.DecisionNoOpinion
	switch a.GetVerb() {
	case "get":
		decision = authorizer.DecisionAllow
	case "delete":
		decision = authorizer.DecisionDeny
	}
	return decision, reason, errors.Join(fieldErr, labelErr)
})

// create creates a review as user ann. It returns the review with its status, or
// the text of the error.
func create[T any](t *testing.T, storage rest.Storage, namespace string, document string) (*T, string) {
	t.Helper()
	obj := storage.New()
	if err := yaml.Unmarshal([]byte(document), obj); err != nil {
		t.Fatal(err)
	}
	ctx := request.WithUser(t.Context(), &user.DefaultInfo{Name: "ann", Groups: []string{"g"}})
	ctx = request.WithNamespace(ctx, namespace)
	admitted := false
	evaluated, err := storage.(rest.Creater).Create(ctx, obj, func(context.Context, runtime.Object) error {
		admitted = true
		return nil
	}, nil)
	if err != nil {
		return nil, err.Error()
	}
	if !admitted {
		t.Error("admission was not called")
	}
	return evaluated.(any).(*T), ""
}

func TestSubjectAccess(t *testing.T) {
	const invalid = `SubjectAccessReview.authorization.k8s.io "" is invalid: `
	tests := map[string]struct {
		spec      string
		want      authorizationv1.SubjectAccessReviewStatus
		wantError string
	}{
		"resource": {
			spec: `{user: bob, groups: [a, b], resourceAttributes: ` +
				`{verb: get, group: apps, resource: deployments, subresource: scale, namespace: ns, name: web}}`,
			want: authorizationv1.SubjectAccessReviewStatus{
				Allowed: true, Reason: "bob[a b] get apps/*/deployments/scale ns/web fields=[] labels=",
			},
		},
		"selectors": {
			spec: `{user: bob, resourceAttributes: {verb: list, resource: pods, fieldSelector: {rawSelector: spec.nodeName=n1}, ` +
				`labelSelector: {requirements: [{key: app, operator: In, values: [x]}]}}}`,
			want: authorizationv1.SubjectAccessReviewStatus{
				Reason: "bob[] list /*/pods/ / fields=[{= spec.nodeName n1}] labels=app in (x)",
			},
		},
		"field requirements, Exists is left out": {
			spec: `{user: bob, resourceAttributes: {verb: list, resource: pods, fieldSelector: {requirements: ` +
				`[{key: a, operator: In, values: [x]}, {key: b, operator: NotIn, values: [other]}, {key: c, operator: Exists}]}}}`,
			want: authorizationv1.SubjectAccessReviewStatus{Reason: "bob[] list /*/pods/ / fields=[{= a x} {!= b other}] labels="},
		},
		"URL path": {
			spec: `{groups: [a], nonResourceAttributes: {verb: delete, path: /x}}`,
			want: authorizationv1.SubjectAccessReviewStatus{Denied: true, Reason: "[a] delete /x"},
		},
		"neither user nor groups": {
			spec:      `{nonResourceAttributes: {verb: get, path: /x}}`,
			wantError: invalid + `spec.user: Invalid value: "": at least one of user or group must be specified`,
		},
		"neither resource nor path": {
			spec: `{user: bob}`,
			wantError: invalid + `spec.resourceAttributes: Invalid value: null: ` +
				`exactly one of nonResourceAttributes or resourceAttributes must be specified`,
		},
		"both resource and path": {
			spec: `{user: bob, resourceAttributes: {verb: get}, nonResourceAttributes: {verb: get, path: /x}}`,
			wantError: invalid + `spec.nonResourceAttributes: Invalid value: {"path":"/x","verb":"get"}: ` +
				`cannot be specified in combination with resourceAttributes`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := create[authorizationv1.SubjectAccessReview](t, review.SubjectAccess(echo), "", "spec: "+test.spec)
			if diff := cmp.Diff(test.wantError, err); diff != "" {
				t.Fatalf("error (-want +got):\n%s", diff)
			}
			if got == nil {
				return
			}
			if diff := cmp.Diff(test.want, got.Status); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLocalSubjectAccess(t *testing.T) {
	// createIn creates a review at the path of namespace ns.
	createIn := func(document string) (*authorizationv1.LocalSubjectAccessReview, string) {
		return create[authorizationv1.LocalSubjectAccessReview](t, review.LocalSubjectAccess(echo), "ns", document)
	}
	got, err := createIn(`
metadata: {namespace: ns}
spec: {user: bob, resourceAttributes: {verb: get, resource: pods, namespace: ns}}`)
	if err != "" || !got.Status.Allowed {
		t.Errorf("attributes in the review's namespace: %v %s", got, err)
	}
	_, err = createIn(`
metadata: {namespace: ns}
spec: {user: bob, resourceAttributes: {verb: get, resource: pods, namespace: other}}`)
	want := `LocalSubjectAccessReview.authorization.k8s.io "" is invalid: ` +
		`spec.resourceAttributes.namespace: Invalid value: "other": must match metadata.namespace`
	if err != want {
		t.Errorf("attributes in another namespace: %s", err)
	}
	_, err = createIn(`
metadata: {namespace: other}
spec: {user: bob, resourceAttributes: {verb: get, resource: pods, namespace: other}}`)
	if err == "" {
		t.Error("a review of another namespace than that of the path: accepted")
	}
	_, err = createIn(`
metadata: {namespace: ns}
spec: {user: bob, nonResourceAttributes: {verb: get, path: /x}}`)
	if err == "" {
		t.Error("a URL path: accepted")
	}
}

func TestSelfReviews(t *testing.T) {
	access, err := create[authorizationv1.SelfSubjectAccessReview](t, review.SelfSubjectAccess(echo), "",
		`{spec: {resourceAttributes: {verb: get, resource: pods, namespace: ns}}}`)
	if err != "" || access.Status.Reason != "ann[g] get /*/pods/ ns/ fields=[] labels=" {
		t.Errorf("selfsubjectaccessreview: %+v %s", access, err)
	}
	self, err := create[authenticationv1.SelfSubjectReview](t, review.SelfSubject(), "", `{}`)
	if err != "" || self.Status.UserInfo.Username != "ann" || !cmp.Equal(self.Status.UserInfo.Groups, []string{"g"}) {
		t.Errorf("selfsubjectreview: %+v %s", self, err)
	}
	rules, err := create[authorizationv1.SelfSubjectRulesReview](t, review.SelfSubjectRules(resolver{}), "", `{spec: {namespace: ns}}`)
	if err != "" {
		t.Fatal(err)
	}
	want := authorizationv1.SubjectRulesReviewStatus{
		ResourceRules:    []authorizationv1.ResourceRule{{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}}},
		NonResourceRules: []authorizationv1.NonResourceRule{{Verbs: []string{"get"}, NonResourceURLs: []string{"/x"}}},
		EvaluationError:  "role gone",
	}
	if diff := cmp.Diff(want, rules.Status); diff != "" {
		t.Errorf("selfsubjectrulesreview (-want +got):\n%s", diff)
	}
	_, err = create[authorizationv1.SelfSubjectRulesReview](t, review.SelfSubjectRules(resolver{}), "", `{}`)
	if err != "no namespace on request" {
		t.Errorf("without a namespace: %q", err)
	}
}

type resolver struct{}

func (resolver) RulesFor(
	context.Context, user.Info, string,
) ([]authorizer.ResourceRuleInfo, []authorizer.NonResourceRuleInfo, bool, error) {
	get := []string{"get"}
	pods := &authorizer.DefaultResourceRuleInfo{Verbs: get, APIGroups: []string{""}, Resources: []string{"pods"}}
	path := &authorizer.DefaultNonResourceRuleInfo{Verbs: get, NonResourceURLs: []string{"/x"}}
	return []authorizer.ResourceRuleInfo{pods}, []authorizer.NonResourceRuleInfo{path}, false, errors.New("role gone")
}

func TestToken(t *testing.T) {
	tokens := authenticator.TokenFunc(func(ctx context.Context, token string) (*authenticator.Response, bool, error) {
		audiences, _ := authenticator.AudiencesFrom(ctx)
		switch token {
		case "good":
			bob := &user.DefaultInfo{Name: "bob", Extra: map[string][]string{"k": {"v"}}}
			return &authenticator.Response{User: bob, Audiences: audiences}, true, nil
		case "bad":
			return nil, false, errors.New("expired")
		}
		return nil, false, nil
	})
	storage := review.Token(tokens, authenticator.Audiences{"api"})
	bob := authenticationv1.UserInfo{Username: "bob", Extra: map[string]authenticationv1.ExtraValue{"k": {"v"}}}
	tests := map[string]struct {
		spec      string
		want      authenticationv1.TokenReviewStatus
		wantError string
	}{
		"valid token": {
			spec: `{token: good}`,
			want: authenticationv1.TokenReviewStatus{Authenticated: true, Audiences: []string{"api"}, User: bob},
		},
		"valid token, other audience": {
			spec: `{token: good, audiences: [vault]}`,
			want: authenticationv1.TokenReviewStatus{Authenticated: true, Audiences: []string{"vault"}, User: bob},
		},
		"expired token": {spec: `{token: bad}`, want: authenticationv1.TokenReviewStatus{Error: "expired"}},
		"unknown token": {spec: `{token: unknown}`},
		"no token":      {spec: `{}`, wantError: "token is required for TokenReview in authentication"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := create[authenticationv1.TokenReview](t, storage, "", "spec: "+test.spec)
			if err != test.wantError {
				t.Fatalf("error %q, want %q", err, test.wantError)
			}
			if got == nil {
				return
			}
			if diff := cmp.Diff(test.want, got.Status); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
		})
	}
}
