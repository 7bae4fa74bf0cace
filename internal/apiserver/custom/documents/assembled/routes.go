package assembled

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints"
	endpointsopenapi "k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/kube-openapi/pkg/handler"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/internal/definition"
)

// routes are what the v2 document has about a version of a custom resource, without the model of its kind: the descriptions of its
// paths by path, and the model of its list by name, both as JSON. They depend on a few names and properties of the definition.
type routes struct {
	paths, models map[string][]byte
	// shared has the models and parameters that all custom resources have in common, such as ObjectMeta.
	shared *spec.Swagger
}

// traits are the properties of a custom resource on which its routes depend, besides its names.
type traits struct {
	scope         apiextensionsv1.ResourceScope
	status, scale bool
	// article is the one of the kind in descriptions: "create an Engine".
	article string
}

// resourceNames are the names of a custom resource that its routes contain.
type resourceNames struct{ group, version, plural, kind, listKind string }

func namesOf(crd *definition.CustomResourceDefinition, v *definition.CustomResourceDefinitionVersion) resourceNames {
	return resourceNames{crd.Spec.Group, v.Name, crd.Spec.Names.Plural, crd.Spec.Names.Kind, crd.Spec.Names.ListKind}
}

// routeTexts makes routes. The library of Kubernetes needs about two milliseconds for those of one resource. Here it makes them only
// once for each combination of traits. The routes of other resources with these traits differ in nothing but the names.
type routeTexts struct{ samples map[traits]routes }

// of returns the routes of a version of a definition.
func (r routeTexts) of(crd *definition.CustomResourceDefinition, v *definition.CustomResourceDefinitionVersion) (routes, error) {
	names := namesOf(crd, v)
	t := traits{scope: crd.Spec.Scope, article: endpoints.GetArticleForNoun(names.kind, " ")}
	if v.Subresources != nil {
		t.status, t.scale = v.Subresources.Status != nil, v.Subresources.Scale != nil
	}
	if !names.ordinary() {
		return newRoutes(names, t)
	}
	from := sampleNames(t.article)
	sample, ok := r.samples[t]
	if !ok {
		var err error
		if sample, err = newRoutes(from, t); err != nil {
			return routes{}, err
		}
		r.samples[t] = sample
	}
	return sample.renamed(from, names), nil
}

var (
	ordinaryGroup   = regexp.MustCompile(`^[a-z0-9.-]+$`)
	ordinaryVersion = regexp.MustCompile(`^[a-z][a-z0-9]*$`)
	ordinaryKind    = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)
)

// ordinary reports whether routes contain the names only in the forms that forms returns. The library changes kinds with a
// hyphen, and gives models of groups of Kubernetes special names.
func (n resourceNames) ordinary() bool {
	return ordinaryGroup.MatchString(n.group) && !strings.HasSuffix(n.group, "k8s.io") && ordinaryVersion.MatchString(n.version) &&
		ordinaryGroup.MatchString(n.plural) && ordinaryKind.MatchString(n.kind) && ordinaryKind.MatchString(n.listKind)
}

// forms returns the forms of the names, in a fixed order. In operation IDs and tags, the names are in camel case.
func (n resourceNames) forms() []string {
	reversed := strings.Split(n.group, ".")
	slices.Reverse(reversed)
	return []string{
		n.group, strings.Join(reversed, "."),
		endpointsopenapi.ToValidOperationID(n.group, true), endpointsopenapi.ToValidOperationID(n.group, false),
		n.version, endpointsopenapi.ToValidOperationID(n.version, true),
		n.plural, n.kind, n.listKind,
	}
}

// sampleNames returns names for a sample. No other text in routes contains one of their forms. The kind has the given article.
func sampleNames(article string) resourceNames {
	kind := map[string]string{" a ": "Holdfastkind", " an ": "Oholdfastkind", " ": "Holdfastkinds"}[article]
	return resourceNames{"holdfastgroup.example", "vholdfast", "holdfastplural", kind, "Holdfastlistkind"}
}

// renamed returns routes with other names.
func (r routes) renamed(from, to resourceNames) routes {
	var pairs []string
	after := to.forms()
	for i, form := range from.forms() {
		pairs = append(pairs, form, after[i])
	}
	replacer := strings.NewReplacer(pairs...)
	replace := func(texts map[string][]byte) map[string][]byte {
		out := make(map[string][]byte, len(texts))
		for name, text := range texts {
			out[replacer.Replace(name)] = []byte(replacer.Replace(string(text)))
		}
		return out
	}
	return routes{paths: replace(r.paths), models: replace(r.models), shared: r.shared}
}

// newRoutes makes routes with the library of Kubernetes.
func newRoutes(n resourceNames, t traits) (routes, error) {
	version := apiextensionsv1.CustomResourceDefinitionVersion{Name: n.version, Subresources: &apiextensionsv1.CustomResourceSubresources{}}
	if t.status {
		version.Subresources.Status = &apiextensionsv1.CustomResourceSubresourceStatus{}
	}
	if t.scale {
		version.Subresources.Scale = &apiextensionsv1.CustomResourceSubresourceScale{}
	}
	part, err := builder.BuildOpenAPIV2(&apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{
		Group: n.group, Scope: t.scope, Versions: []apiextensionsv1.CustomResourceDefinitionVersion{version},
		Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: n.plural, Kind: n.kind, ListKind: n.listKind},
	}}, n.version, builder.Options{V2: true, AllowNonStructural: true})
	if err != nil {
		return routes{}, err
	}
	list := definition.ModelName(schema.GroupVersionKind{Group: n.group, Version: n.version, Kind: n.listKind})
	out := routes{paths: map[string][]byte{}, models: map[string][]byte{}}
	for path, item := range part.Paths.Paths {
		if out.paths[path], err = escaped(item); err != nil {
			return routes{}, fmt.Errorf("encode %s: %w", path, err)
		}
	}
	models := handler.PruneDefaults(part.Definitions)
	if out.models[list], err = escaped(models[list]); err != nil {
		return routes{}, fmt.Errorf("encode %s: %w", list, err)
	}
	delete(models, list)
	delete(models, definition.ModelName(schema.GroupVersionKind{Group: n.group, Version: n.version, Kind: n.kind}))
	// The library ignores a document without paths.
	out.shared = &spec.Swagger{SwaggerProps: spec.SwaggerProps{Paths: &spec.Paths{}, Definitions: models, Parameters: part.Parameters}}
	return out, nil
}

// escaped returns a value as JSON, with escapes for the characters that have a meaning in HTML.
func escaped(value json.Marshaler) ([]byte, error) {
	text, err := value.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	out.Grow(len(text) + len(text)/16)
	json.HTMLEscape(&out, text)
	return out.Bytes(), nil
}
