package disclosure_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"holdfast.dev/holdfast/internal/apiserver/disclosure"
	"holdfast.dev/holdfast/internal/apiserver/rights"
)

// granted allows the listed requests and records all requests that it is asked about.
type granted struct {
	allowed []string
	asked   []string
}

func (r *granted) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	asked := fmt.Sprintf("%s %s %s/%s %s", a.GetUser().GetName(), a.GetVerb(), a.GetResource(), a.GetSubresource(), a.GetName())
	r.asked = append(r.asked, asked)
	if slices.Contains(r.allowed, asked) {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

// TestAllowed checks what the authorizer is asked, and that it is asked once per request.
func TestAllowed(t *testing.T) {
	const main, scale = "ann get deployments/ web", "ann get deployments/scale web"
	tests := map[string]struct {
		verb, subresource string
		allowed           []string
		want              bool
		asked             []string
	}{
		"may get the object":           {"update", "", []string{main}, true, []string{main}},
		"may get nothing":              {"patch", "", nil, false, []string{main}},
		"subresource, may get object":  {"update", "scale", []string{main}, true, []string{main}},
		"subresource, may get that":    {"update", "scale", []string{scale}, true, []string{main, scale}},
		"subresource, may get nothing": {"patch", "scale", nil, false, []string{main, scale}},
		"object, may get subresource":  {"patch", "", []string{scale}, false, []string{main}},
		"create of a subresource":      {"create", "scale", []string{main}, true, []string{main}},
		"create":                       {"create", "", []string{main}, false, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := &granted{allowed: test.allowed}
			var got []bool
			serve(t, r, test.verb, test.subresource, func(ctx context.Context) {
				if len(r.asked) > 0 {
					t.Errorf("a request without a message asks for %v", r.asked)
				}
				got = append(got, disclosure.Allowed(ctx), disclosure.Allowed(context.WithoutCancel(ctx)))
			})
			if diff := cmp.Diff([]bool{test.want, test.want}, got); diff != "" {
				t.Errorf("allowed (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.asked, r.asked); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
		})
	}
}

// serve passes a write to the Deployment web by the user ann through the filter.
func serve(t *testing.T, r *granted, verb, subresource string, handle func(context.Context)) {
	t.Helper()
	info := &genericapirequest.RequestInfo{
		IsResourceRequest: true, Verb: verb, APIGroup: "apps", APIVersion: "v1",
		Resource: "deployments", Subresource: subresource, Namespace: "default", Name: "web",
	}
	ctx := genericapirequest.WithRequestInfo(t.Context(), info)
	ctx = genericapirequest.WithUser(ctx, &user.DefaultInfo{Name: "ann"})
	inner := http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) { handle(req.Context()) })
	req := httptest.NewRequestWithContext(ctx, http.MethodPut, "/", http.NoBody)
	rights.Filter(inner, r).ServeHTTP(httptest.NewRecorder(), req)
}

// TestErrors checks the texts of errors with and without their values.
func TestErrors(t *testing.T) {
	path := field.NewPath("spec", "size")
	errs := field.ErrorList{
		field.Invalid(path, map[string]any{"a": 1}, "field is immutable"), field.NotSupported(path, "c", []string{"a", "b"}),
		field.Duplicate(path, "a"), field.Required(path, "must be set"), field.Forbidden(path, "may not change"),
		field.TooLong(path, "aaa", 2), field.TooMany(path, 3, 2), field.NotFound(path, "a"),
	}
	shown := texts(errs)
	serve(t, &granted{allowed: []string{"ann get deployments/ web"}}, "update", "", func(ctx context.Context) {
		if diff := cmp.Diff(shown, texts(disclosure.Errors(ctx, errs))); diff != "" {
			t.Errorf("may get the object (-want +got):\n%s", diff)
		}
	})
	want := []string{
		"spec.size: Invalid value: field is immutable", `spec.size: Unsupported value: supported values: "a", "b"`,
		"spec.size: Duplicate value", "spec.size: Required value: must be set", "spec.size: Forbidden: may not change",
		"spec.size: Too long: may not be more than 2 bytes", "spec.size: Too many: must have at most 2 items", "spec.size: Not found",
	}
	serve(t, &granted{}, "update", "", func(ctx context.Context) {
		if diff := cmp.Diff(want, texts(disclosure.Errors(ctx, errs))); diff != "" {
			t.Errorf("may not get the object (-want +got):\n%s", diff)
		}
	})
	if diff := cmp.Diff(shown, texts(errs)); diff != "" {
		t.Errorf("the errors themselves changed (-want +got):\n%s", diff)
	}
}

func texts(errs field.ErrorList) []string {
	var out []string
	for _, err := range errs {
		out = append(out, err.Error())
	}
	return out
}
