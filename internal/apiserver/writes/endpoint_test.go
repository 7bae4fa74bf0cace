package writes

import (
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"holdfast.dev/holdfast/internal/native"
)

// configMaps is the storage of a kind. It stores nothing.
type configMaps struct{ rest.Patcher }

func (configMaps) New() runtime.Object { return &corev1.ConfigMap{} }

// TestPrepare says which requests are regular. The library gets the whole body of the others.
func TestPrepare(t *testing.T) {
	const (
		apply     = "application/apply-patch+yaml"
		merge     = "application/merge-patch+json"
		strategic = "application/strategic-merge-patch+json"
		body      = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`
	)
	scheme := native.NewScheme()
	endpoint := &Endpoint{storage: configMaps{}, scope: &handlers.RequestScope{
		Namer: handlers.ContextBasedNaming{Namer: runtime.Namer(meta.NewAccessor())}, Serializer: serializer.NewCodecFactory(scheme),
		Resource: corev1.SchemeGroupVersion.WithResource("configmaps"), Kind: corev1.SchemeGroupVersion.WithKind("ConfigMap"),
		HubGroupVersion: schema.GroupVersion{Version: runtime.APIVersionInternal}, MetaGroupVersion: metav1.SchemeGroupVersion, MaxRequestBodyBytes: 300,
		TableConvertor: rest.NewDefaultTableConvertor(schema.GroupResource{Resource: "configmaps"}),
	}}
	for name, test := range map[string]struct {
		method, media, query, accept, body string
		want                               bool
	}{
		"an apply":            {"PATCH", apply, "?fieldManager=m", "", body, true},
		"with a charset":      {"PATCH", apply + "; charset=utf-8", "?fieldManager=m", "", body, true},
		"an answer in YAML":   {"PATCH", apply, "?fieldManager=m", "application/yaml", body, true},
		"a dry run":           {"PATCH", apply, "?fieldManager=m&dryRun=All&force=true", "", body, true},
		"another patch":       {"PATCH", "application/json-patch+json", "?fieldManager=m", "", "[]", false},
		"no manager":          {"PATCH", apply, "", "", body, false},
		"a wrong option":      {"PATCH", apply, "?fieldManager=m&dryRun=Some", "", body, false},
		"a table":             {"PATCH", apply, "?fieldManager=m", "application/json;as=Table;v=v1;g=meta.k8s.io", body, false},
		"a table or not":      {"PATCH", apply, "?fieldManager=m", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json", body, false},
		"an unknown answer":   {"PATCH", apply, "?fieldManager=m", "text/plain", body, false},
		"YAML":                {"PATCH", apply, "?fieldManager=m", "", "apiVersion: v1", false},
		"too large":           {"PATCH", apply, "?fieldManager=m", "", `{"a":"` + strings.Repeat("a", 300) + `"}`, false},
		"no body":             {"PATCH", apply, "?fieldManager=m", "", "", false},
		"an unknown strategy": {"PATCH", apply, "?fieldManager=m&fieldValidation=Maybe", "", body, false},

		"a merge patch":                {"PATCH", merge, "", "", `{"metadata":{"labels":{"$a":"b"}},"$b":1}`, false},
		"a merge patch of labels":      {"PATCH", merge, "?fieldValidation=Strict", "", `{"metadata":{"labels":{"$a":"b"}}}`, true},
		"a merge patch of managers":    {"PATCH", merge, "", "", `{"metadata":{"managedFields":null}}`, false},
		"a merge patch of metadata":    {"PATCH", merge, "", "", `{"metadata":null}`, false},
		"no object":                    {"PATCH", merge, "", "", `[]`, false},
		"nothing":                      {"PATCH", merge, "", "", `null`, false},
		"a key twice":                  {"PATCH", merge, "", "", `{"data":{},"data":{"a":"b"}}`, false},
		"upper case":                   {"PATCH", strings.ToUpper(merge), "", "", `{}`, false},
		"with force":                   {"PATCH", merge, "?force=true", "", `{}`, false},
		"a strategic patch":            {"PATCH", strategic, "?dryRun=All", "", `{"data":{"$patch":"replace"}}`, true},
		"a strategic patch of all":     {"PATCH", strategic, "", "", `{"$patch":"replace"}`, false},
		"a directive for the metadata": {"PATCH", strategic, "", "", `{"metadata":{"$patch":"replace"}}`, false},

		"an update":                {"PUT", "application/json", "", "", body, true},
		"an update in YAML":        {"PUT", "application/yaml", "?fieldManager=m&fieldValidation=Ignore", "", "metadata: {name: a}", true},
		"an update without a type": {"PUT", "", "", "", body, true},
		"an unknown type":          {"PUT", "text/plain", "", "", body, false},
		"an unknown field":         {"PUT", "application/json", "?fieldValidation=Ignore", "", `{"metadata":{"name":"a"},"b":1}`, false},
		"another name":             {"PUT", "application/json", "", "", `{"metadata":{"name":"b"}}`, false},
		"another namespace":        {"PUT", "application/json", "", "", `{"metadata":{"name":"a","namespace":"b"}}`, false},
		"another kind":             {"PUT", "application/json", "", "", `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}}`, false},
		"an owner twice":           {"PUT", "application/json", "", "", `{"metadata":{"name":"a","ownerReferences":[{"uid":"u","name":"x"},{"uid":"u","name":"y"}]}}`, false},
		"two owners":               {"PUT", "application/json", "", "", `{"metadata":{"name":"a","ownerReferences":[{"uid":"u"},{"uid":"v"}]}}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			info := &genericapirequest.RequestInfo{Namespace: "default", Name: "a"}
			ctx := audit.WithAuditContext(genericapirequest.WithRequestInfo(t.Context(), info))
			req := httptest.NewRequestWithContext(ctx, test.method, "/"+test.query, strings.NewReader(test.body))
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
