package documents_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/internal/apiserver/custom/definitiontest"
	"holdfast.dev/holdfast/internal/apiserver/custom/documents"
	"holdfast.dev/holdfast/internal/apiserver/openapi"
	"holdfast.dev/holdfast/internal/definition"
)

// lastPublished keeps the documents that were published last.
type lastPublished struct {
	v2 *openapi.Document
	v3 *openapi.Documents
}

func (p *lastPublished) SetV2(document *openapi.Document)              { p.v2 = document }
func (p *lastPublished) SetV3(path string, document *openapi.Document) { p.v3.Set(path, document) }
func (p *lastPublished) RemoveV3(path string)                          { p.v3.Remove(path) }

// publish returns documents whose v2 document also has a given one.
func publish(builtIn *spec.Swagger) (*documents.Documents, *lastPublished) {
	publisher := &lastPublished{v3: openapi.NewDocuments()}
	return documents.New(publisher, func() (*spec.Swagger, error) { return builtIn, nil }, "test"), publisher
}

// document returns a v2 document with paths and with models that have a type.
func document(models map[string]string, paths ...string) *spec.Swagger {
	out := &spec.Swagger{SwaggerProps: spec.SwaggerProps{
		Swagger: "2.0", Paths: &spec.Paths{Paths: map[string]spec.PathItem{}}, Definitions: spec.Definitions{},
	}}
	for _, path := range paths {
		operation := &spec.Operation{OperationProps: spec.OperationProps{Description: "of another server"}}
		out.Paths.Paths[path] = spec.PathItem{PathItemProps: spec.PathItemProps{Get: operation}}
	}
	for name, kind := range models {
		out.Definitions[name] = spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{kind}}}
	}
	return out
}

// TestConflicts checks that paths and models of built-in kinds win over those of custom resources, and these over the ones of other
// servers, and that no piece is left in the document.
func TestConflicts(t *testing.T) {
	t.Parallel()
	const kind2, kind3, path3 = "com.example.project000.v1.Kind0002", "com.example.project000.v1.Kind0003", "/apis/project000.example.com/v1/kind0003s"
	for name, test := range map[string]struct {
		builtIn, foreign *spec.Swagger
		models           map[string]string
		path3            string
	}{
		"another server": {
			builtIn: document(map[string]string{"a.Boat": "string"}),
			foreign: document(map[string]string{kind3: "boolean", "com.example.cars.Car": "boolean"}, "/apis/cars.example.com", path3),
			models: map[string]string{
				"a.Boat": "string", kind2: "object", kind3: "object", kind3 + "_v2": "boolean", "com.example.cars.Car": "boolean",
			},
			path3: "list objects of kind Kind0003",
		},
		"built-in kinds": {
			builtIn: document(map[string]string{kind2: "boolean"}, path3),
			foreign: document(map[string]string{"com.example.cars.Car": "boolean"}, "/apis/cars.example.com"),
			models:  map[string]string{kind2: "boolean", kind2 + "_v2": "object", kind3: "object", "com.example.cars.Car": "boolean"},
			path3:   "of another server",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			documents, publisher := publish(test.builtIn)
			documents.SetForeign([]*spec.Swagger{test.foreign})
			crds := []*definition.CustomResourceDefinition{definitiontest.Generated(2), definitiontest.Generated(3)}
			documents.Update("project000.example.com", crds)
			w := httptest.NewRecorder()
			publisher.v2.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/openapi/v2", nil))
			var got struct {
				Paths       map[string]struct{ Get struct{ Description string } }
				Definitions map[string]struct{ Type string }
			}
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
				t.Fatalf("%d: %v", w.Code, err)
			}
			if bytes.Contains(w.Body.Bytes(), []byte("x-holdfast-piece")) {
				t.Error("a piece was not replaced by its text")
			}
			for name, want := range test.models {
				if got := got.Definitions[name].Type; got != want {
					t.Errorf("the model %s has the type %q, want %s", name, got, want)
				}
			}
			if got := got.Paths[path3].Get.Description; got != test.path3 {
				t.Errorf("the description of %s is %q, want %q", path3, got, test.path3)
			}
			for _, path := range []string{"/apis/cars.example.com", "/apis/project000.example.com/v1/kind0002s"} {
				if _, ok := got.Paths[path]; !ok {
					t.Errorf("the path %s is missing", path)
				}
			}
		})
	}
}

// TestPublished checks which v3 documents are published, and that a change of a definition gives its document another number.
func TestPublished(t *testing.T) {
	t.Parallel()
	documents, publisher := publish(document(nil))
	gv := schema.GroupVersion{Group: "project000.example.com", Version: "v1"}
	crd := definitiontest.Generated(0)
	documents.Update(gv.Group, []*definition.CustomResourceDefinition{crd})
	first := documents.Published()
	documents.Update(gv.Group, []*definition.CustomResourceDefinition{crd, definitiontest.Generated(1)})
	second := documents.Published()
	if len(first) != 1 || len(second) != 1 || first[gv] == second[gv] {
		t.Errorf("published are %v and then %v, want two numbers for %s", first, second, gv)
	}
	req := httptest.NewRequest(http.MethodGet, openapi.PathV3+"/apis/"+gv.String(), nil)
	if publisher.v3.Of(req) == nil {
		t.Errorf("%s has no v3 document", gv)
	}
	documents.Update(gv.Group, nil)
	if diff := cmp.Diff(map[schema.GroupVersion]uint64{}, documents.Published()); diff != "" || publisher.v3.Of(req) != nil {
		t.Errorf("%s is still published (-want +got):\n%s", gv, diff)
	}
}
