package custom

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/kube-openapi/pkg/handler"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/apiserver/openapi"
	"holdfast.dev/holdfast/definition"
)

// builtInV2 returns a v2 document with a model and a path before, between and after those of generated definitions, and with a path
// and a model that one of them has too.
func builtInV2() *spec.Swagger {
	get := spec.PathItem{PathItemProps: spec.PathItemProps{Get: &spec.Operation{OperationProps: spec.OperationProps{Description: "get <all>"}}}}
	return &spec.Swagger{SwaggerProps: spec.SwaggerProps{
		Swagger: "2.0",
		Info:    &spec.Info{InfoProps: spec.InfoProps{Title: `a "paths":{} title`, Version: "v1"}},
		Paths: &spec.Paths{Paths: map[string]spec.PathItem{
			"/api": get, "/apis/project000.example.com/v1/m": get, "/apis/project000.example.com/v1/kind0003s": get, "/version": get,
		}},
		Definitions: spec.Definitions{
			"a.Boat": *spec.StringProperty(), "com.example.project000.v1.M": *spec.Int64Property(), "z.Car": *spec.BoolProperty(),
			"com.example.project000.v1.Kind0002": *spec.BoolProperty(),
		},
		Parameters: map[string]spec.Parameter{"p": {ParamProps: spec.ParamProps{Name: "p", In: "query"}}},
	}}
}

// wholeV2 returns the v2 document as the library encodes it, without pieces. Models and paths of custom resources are encoded with
// escapes for HTML, as in the pieces.
func wholeV2(t *testing.T, crds []*definition.CustomResourceDefinition) []byte {
	t.Helper()
	var all []*spec.Swagger
	for _, crd := range crds {
		for _, v := range crd.Spec.Versions {
			typed, err := pathsOnly(crd)
			if err != nil {
				t.Fatal(err)
			}
			one, err := builder.BuildOpenAPIV2(typed, v.Name, builder.Options{V2: true, AllowNonStructural: true})
			if err != nil {
				t.Fatal(err)
			}
			model, err := definition.Publish(crd, v.Name)
			if err != nil {
				t.Fatal(err)
			}
			one.Definitions[definition.ModelName(runtimeKind{Group: crd.Spec.Group, Version: v.Name, Kind: crd.Spec.Names.Kind})] = *model.OpenAPIV2()
			one.Definitions = handler.PruneDefaults(one.Definitions)
			all = append(all, one)
		}
	}
	document, err := builder.MergeSpecs(builtInV2(), all...)
	if err != nil {
		t.Fatal(err)
	}
	text, err := document.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// servedV2 returns the v2 document that clients get.
func servedV2(t *testing.T, published *lastPublished) []byte {
	t.Helper()
	w := httptest.NewRecorder()
	published.v2.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/openapi/v2", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return w.Body.Bytes()
}

// inHTML returns JSON with escapes for HTML.
func inHTML(text []byte) []byte {
	var out bytes.Buffer
	json.HTMLEscape(&out, text)
	return out.Bytes()
}

// TestV2 compares the v2 document with the one that the library makes, byte by byte, after changes of definitions.
func TestV2(t *testing.T) {
	t.Parallel()
	publisher := &lastPublished{v3: openapi.NewDocuments()}
	server := &Server{config: Config{Revision: "test"}}
	server.Publish(publisher, func() (*spec.Swagger, error) { return builtInV2(), nil })
	crds := []*definition.CustomResourceDefinition{Generated(0), Generated(1), Generated(4), Generated(5)}
	two := crds[1].Spec.Versions[0]
	two.Name, two.Storage, two.Subresources = "v2", false, nil
	crds[1].Spec.Versions = append(crds[1].Spec.Versions, two)
	changed := Generated(0)
	changed.Spec.Versions[0].Schema.OpenAPIV3Schema = json.RawMessage(`{"type":"object","description":"a <boat> {\"x\"}}"}`)
	for _, step := range []struct {
		name   string
		crds   []*definition.CustomResourceDefinition
		remade int
	}{
		{name: "none"},
		{name: "first", crds: crds, remade: 5},
		{name: "same again", crds: slices.Clone(crds)},
		{name: "one changed", crds: append([]*definition.CustomResourceDefinition{changed}, crds[1:]...), remade: 1},
		{name: "some removed", crds: crds[1:3]},
		{name: "one that was removed", crds: crds, remade: 2},
	} {
		before := server.openapi.parts.kept
		server.openapi.update("project000.example.com", step.crds)
		if got, want := inHTML(servedV2(t, publisher)), inHTML(wholeV2(t, step.crds)); !bytes.Equal(got, want) {
			t.Errorf("%s: the document differs:\n%s\nwant:\n%s", step.name, got, want)
		}
		remade := 0
		for hash := range server.openapi.parts.kept {
			if _, ok := before[hash]; !ok {
				remade++
			}
		}
		if remade != step.remade {
			t.Errorf("%s: the server made %d parts, want %d", step.name, remade, step.remade)
		}
	}
}

// TestV2Conflicts checks that built-in paths and models win, that other servers add theirs, and that no piece is lost.
func TestV2Conflicts(t *testing.T) {
	t.Parallel()
	publisher := &lastPublished{v3: openapi.NewDocuments()}
	server := &Server{config: Config{Revision: "test"}}
	server.Publish(publisher, func() (*spec.Swagger, error) { return builtInV2(), nil })
	server.MergeOpenAPI([]*spec.Swagger{{SwaggerProps: spec.SwaggerProps{
		Swagger: "2.0", Paths: &spec.Paths{Paths: map[string]spec.PathItem{"/apis/cars.example.com": {}}},
		Definitions: spec.Definitions{"com.example.project000.v1.Kind0003": *spec.BoolProperty(), "com.example.cars.Car": *spec.BoolProperty()},
	}}})
	server.openapi.update("project000.example.com", []*definition.CustomResourceDefinition{Generated(2), Generated(3)})
	text := servedV2(t, publisher)
	var got struct {
		Paths       map[string]map[string]any
		Definitions map[string]map[string]any
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(text, []byte(pieceExtension)) {
		t.Error("a piece was not replaced by its text")
	}
	for name, want := range map[string]string{
		"com.example.project000.v1.Kind0002": "boolean", "com.example.project000.v1.Kind0002_v2": "object",
		"com.example.project000.v1.Kind0003": "object", "com.example.project000.v1.Kind0003_v2": "boolean", "com.example.cars.Car": "boolean",
	} {
		if got.Definitions[name]["type"] != want {
			t.Errorf("the model %s has the type %v, want %s", name, got.Definitions[name]["type"], want)
		}
	}
	if get, _ := got.Paths["/apis/project000.example.com/v1/kind0003s"]["get"].(map[string]any); get["description"] != "get <all>" {
		t.Errorf("the path of a built-in kind is %v", get)
	}
	if got.Paths["/apis/cars.example.com"] == nil || got.Paths["/apis/project000.example.com/v1/kind0002s"] == nil {
		t.Error("a path is missing")
	}
}
