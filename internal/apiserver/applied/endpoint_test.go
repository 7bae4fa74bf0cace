package applied

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"holdfast.dev/holdfast/internal/native"
)

// TestPrepare says which requests are regular. The library gets the whole body of the others.
func TestPrepare(t *testing.T) {
	const apply, body = "application/apply-patch+yaml", `{"apiVersion":"v1","kind":"ConfigMap"}`
	endpoint := &Endpoint{scope: &handlers.RequestScope{
		Namer: handlers.ContextBasedNaming{Namer: runtime.Namer(meta.NewAccessor())}, Serializer: serializer.NewCodecFactory(native.NewScheme()),
		MetaGroupVersion: metav1.SchemeGroupVersion, MaxRequestBodyBytes: 100,
	}}
	for name, test := range map[string]struct {
		media, query, accept, body string
		want                       bool
	}{
		"an apply":            {apply, "?fieldManager=m", "", body, true},
		"with a charset":      {apply + "; charset=utf-8", "?fieldManager=m", "", body, true},
		"an answer in YAML":   {apply, "?fieldManager=m", "application/yaml", body, true},
		"a dry run":           {apply, "?fieldManager=m&dryRun=All&force=true", "", body, true},
		"another patch":       {"application/merge-patch+json", "?fieldManager=m", "", body, false},
		"no manager":          {apply, "", "", body, false},
		"a wrong option":      {apply, "?fieldManager=m&dryRun=Some", "", body, false},
		"a table":             {apply, "?fieldManager=m", "application/json;as=Table;v=v1;g=meta.k8s.io", body, false},
		"an unknown answer":   {apply, "?fieldManager=m", "text/plain", body, false},
		"YAML":                {apply, "?fieldManager=m", "", "apiVersion: v1", false},
		"too large":           {apply, "?fieldManager=m", "", `{"a":"` + strings.Repeat("a", 100) + `"}`, false},
		"no body":             {apply, "?fieldManager=m", "", "", false},
		"an unknown strategy": {apply, "?fieldManager=m&fieldValidation=Maybe", "", body, false},
	} {
		t.Run(name, func(t *testing.T) {
			info := &genericapirequest.RequestInfo{Namespace: "default", Name: "a"}
			ctx := genericapirequest.WithRequestInfo(t.Context(), info)
			req := httptest.NewRequestWithContext(ctx, http.MethodPatch, "/"+test.query, strings.NewReader(test.body))
			req.Header.Set("Content-Type", test.media)
			if test.accept != "" {
				req.Header.Set("Accept", test.accept)
			}
			if _, ok := endpoint.prepare(req); ok != test.want {
				t.Errorf("the request is regular: %t, want %t", ok, test.want)
			}
			if text, err := io.ReadAll(req.Body); err != nil || string(text) != test.body {
				t.Errorf("the library reads %q (%v), want %q", text, err, test.body)
			}
		})
	}
}
