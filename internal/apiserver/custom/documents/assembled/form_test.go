package assembled

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/internal/apiserver/custom/definitiontest"
	"holdfast.dev/holdfast/internal/apiserver/custom/documents/plain"
	"holdfast.dev/holdfast/internal/apiserver/openapi"
	"holdfast.dev/holdfast/internal/definition"
)

type definitions = []*definition.CustomResourceDefinition

// identify is a hash that takes the whole definition.
func identify(gv schema.GroupVersion, crds definitions) string {
	text, err := json.Marshal(crds)
	if err != nil {
		panic(err) // every definition can be encoded
	}
	return gv.String() + openapi.Hash(text)
}

// builtInKinds returns a v2 document with a model and a path before, between and after those of generated definitions.
func builtInKinds() *spec.Swagger {
	get := spec.PathItem{PathItemProps: spec.PathItemProps{Get: &spec.Operation{OperationProps: spec.OperationProps{Description: "get <all>"}}}}
	return &spec.Swagger{SwaggerProps: spec.SwaggerProps{
		Swagger: "2.0",
		Info:    &spec.Info{InfoProps: spec.InfoProps{Title: `a "paths":{} title`, Version: "v1"}},
		Paths:   &spec.Paths{Paths: map[string]spec.PathItem{"/api": get, "/apis/project000.example.com/v1/m": get, "/version": get}},
		Definitions: spec.Definitions{
			"a.Boat": *spec.StringProperty(), "com.example.project000.v1.M": *spec.Int64Property(), "z.Car": *spec.BoolProperty(),
		},
		Parameters: map[string]spec.Parameter{"p": {ParamProps: spec.ParamProps{Name: "p", In: "query"}}},
	}}
}

// maker is a form of the v2 document.
type maker interface {
	Add(document *spec.Swagger, crds definitions) (*spec.Swagger, error)
	Document(build func() (*spec.Swagger, error)) *openapi.Document
}

// served returns the v2 document that clients get.
func served(t *testing.T, form maker, builtIn *spec.Swagger, crds definitions) []byte {
	t.Helper()
	w := httptest.NewRecorder()
	form.Document(func() (*spec.Swagger, error) { return form.Add(builtIn, crds) }).
		ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/openapi/v2", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return w.Body.Bytes()
}

// escapedHTML returns JSON with escapes for HTML, which the texts of pieces have.
func escapedHTML(text []byte) string {
	var out bytes.Buffer
	json.HTMLEscape(&out, text)
	return out.String()
}

// TestForm compares the document with the plain one, byte by byte, after changes of definitions.
func TestForm(t *testing.T) {
	t.Parallel()
	form := New(identify)
	var crds definitions
	for _, number := range []int{0, 1, 4, 5} {
		crds = append(crds, definitiontest.Generated(number))
	}
	two := crds[1].Spec.Versions[0]
	two.Name, two.Storage, two.Subresources = "v2", false, nil
	crds[1].Spec.Versions = append(crds[1].Spec.Versions, two)
	changed := definitiontest.Generated(0)
	changed.Spec.Versions[0].Schema.OpenAPIV3Schema = json.RawMessage(`{"type":"object","description":"a <boat> {\"x\"}}"}`)
	for _, step := range []struct {
		name   string
		crds   definitions
		remade int
	}{
		{name: "none"},
		{name: "first", crds: crds, remade: 5},
		{name: "same again", crds: slices.Clone(crds)},
		{name: "one changed", crds: append(definitions{changed}, crds[1:]...), remade: 1},
		{name: "some removed", crds: crds[1:3]},
		{name: "one that was removed", crds: crds, remade: 2},
	} {
		before := form.kept
		got, want := served(t, form, builtInKinds(), step.crds), served(t, plain.Form{}, builtInKinds(), step.crds)
		if escapedHTML(got) != escapedHTML(want) {
			t.Errorf("%s: the document differs:\n%s\nwant:\n%s", step.name, got, want)
		}
		remade := 0
		for hash := range form.kept {
			if _, ok := before[hash]; !ok {
				remade++
			}
		}
		if remade != step.remade {
			t.Errorf("%s: the form made %d parts, want %d", step.name, remade, step.remade)
		}
	}
}

// TestRandom compares the documents of both forms for random definitions, before and after some of them change. It fails if too few of
// the definitions use a sample, or if a model or path of a definition is not a piece.
func TestRandom(t *testing.T) {
	t.Parallel()
	ordinary, all := 0, 0
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			form := New(identify)
			var crds definitions
			for i := range 20 {
				crds = append(crds, definitiontest.Random(random, i))
			}
			for range 2 {
				got, want := served(t, form, builtInKinds(), crds), served(t, plain.Form{}, builtInKinds(), crds)
				checkEqual(t, want, got)
				for crd, v := range plain.Served(crds) {
					all++
					if namesOf(crd, v).ordinary() {
						ordinary++
					}
				}
				checkPieces(t, form, crds)
				for i := range 5 {
					crds[i] = definitiontest.Random(random, 20+i)
				}
			}
		})
	}
	if 2*ordinary < all {
		t.Errorf("only %d of %d versions use a sample", ordinary, all)
	}
}

// checkPieces checks that every path and model of the definitions is a piece.
func checkPieces(t *testing.T, form *Form, crds definitions) {
	t.Helper()
	document, err := form.Add(builtInKinds(), crds)
	if err != nil {
		t.Fatal(err)
	}
	pieces := 0
	for _, item := range document.Paths.Paths {
		if pieceOf(item.Extensions) != nil {
			pieces++
		}
	}
	for _, model := range document.Definitions {
		if pieceOf(model.Extensions) != nil {
			pieces++
		}
	}
	want := 0
	for _, p := range form.kept {
		want += len(p.paths) + len(p.models)
	}
	if pieces != want || pieces < 4*len(crds) {
		t.Errorf("%d paths and models are pieces, want %d", pieces, want)
	}
}

// checkEqual compares two documents as JSON values.
func checkEqual(t *testing.T, want, got []byte) {
	t.Helper()
	var plain, assembled any
	if err := errors.Join(json.Unmarshal(want, &plain), json.Unmarshal(got, &assembled)); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(plain, assembled) {
		t.Fatalf("the documents differ (-plain +assembled):\n%s", cmp.Diff(plain, assembled))
	}
}

// TestConflicts checks that the document is the plain one if a built-in kind has a path, a model or a parameter of a definition.
func TestConflicts(t *testing.T) {
	t.Parallel()
	crds := definitions{definitiontest.Generated(2), definitiontest.Generated(5)}
	for name, change := range map[string]func(*spec.Swagger){
		"path": func(s *spec.Swagger) {
			s.Paths.Paths["/apis/project000.example.com/v1/kind0002s"] = spec.PathItem{}
		},
		"all paths of a kind": func(s *spec.Swagger) {
			for _, path := range []string{
				"kind0002s", "namespaces/{namespace}/kind0002s", "namespaces/{namespace}/kind0002s/{name}",
				"namespaces/{namespace}/kind0002s/{name}/status",
			} {
				s.Paths.Paths["/apis/project000.example.com/v1/"+path] = spec.PathItem{}
			}
		},
		"model": func(s *spec.Swagger) { s.Definitions["com.example.project000.v1.Kind0002"] = *spec.BoolProperty() },
		"list":  func(s *spec.Swagger) { s.Definitions["com.example.project000.v1.Kind0005List"] = *spec.BoolProperty() },
		"shared model": func(s *spec.Swagger) {
			s.Definitions["io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"] = *spec.BoolProperty()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			document := func() *spec.Swagger {
				out := builtInKinds()
				change(out)
				return out
			}
			got, want := served(t, New(identify), document(), crds), served(t, plain.Form{}, document(), crds)
			checkEqual(t, want, got)
		})
	}
}
