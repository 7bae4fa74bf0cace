package assembled

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiserver/pkg/endpoints"

	"holdfast.dev/holdfast/internal/definition"
)

// TestRoutes compares the routes of a resource with those that the library makes.
func TestRoutes(t *testing.T) {
	t.Parallel()
	for name, names := range map[string]resourceNames{
		"usual":                      {"example.com", "v1", "boats", "Boat", "BoatList"},
		"article an":                 {"example.com", "v1", "engines", "Engine", "EngineList"},
		"kind in the plural":         {"example.com", "v1", "settings", "Settings", "SettingsList"},
		"kind with a double s":       {"example.com", "v1", "classes", "Class", "ClassList"},
		"short names":                {"a", "v", "b", "C", "D"},
		"group with a digit":         {"3scale.net", "v1alpha1", "apis", "API", "APIList"},
		"group with a hyphen":        {"cert-manager.io", "v2beta3", "challenges", "Challenge", "ChallengeList"},
		"plural with a hyphen":       {"example.com", "v1", "sail-boats", "SailBoat", "SailBoatList"},
		"names of the sample":        {"holdfastgroup.example", "vholdfast", "holdfastplural", "Holdfastkind", "Holdfastlistkind"},
		"names with those inside":    {"example.holdfastgroup.example", "vholdfast2", "holdfastplurals", "Holdfastkindkind", "HoldfastkindList"},
		"kind that begins with list": {"example.com", "v1", "listeners", "Listener", "ListenerList"},
		"odd list":                   {"example.com", "v1", "boats", "Boat", "Boats"},
		"kind in lower case":         {"example.com", "v1", "boats", "boat", "boatList"},
		"kind with a hyphen":         {"example.com", "v1", "boats", "Sail-Boat", "Sail-BoatList"},
		"version with a hyphen":      {"example.com", "v1-next", "boats", "Boat", "BoatList"},
		"group of Kubernetes":        {"snapshot.storage.k8s.io", "v1", "boats", "Boat", "BoatList"},
		"group of a library":         {"apimachinery.k8s.io", "v1", "boats", "Boat", "BoatList"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, want := range allTraits(names.kind) {
				// The second resource with these traits has the routes of the first one, with other names.
				texts := routeTexts{map[traits]routes{}}
				if _, err := texts.of(definitionOf(sampleNames(want.article), want)); err != nil {
					t.Fatal(err)
				}
				got, err := texts.of(definitionOf(names, want))
				if err != nil {
					t.Fatal(err)
				}
				made, err := newRoutes(names, want)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(textsOf(t, made), textsOf(t, got)); diff != "" {
					t.Errorf("%+v (-want +got):\n%s", want, diff)
				}
			}
		})
	}
}

func allTraits(kind string) []traits {
	var all []traits
	for _, scope := range []apiextensionsv1.ResourceScope{apiextensionsv1.ClusterScoped, apiextensionsv1.NamespaceScoped} {
		for i := range 4 {
			all = append(all, traits{scope: scope, status: i%2 == 1, scale: i/2 == 1, article: endpoints.GetArticleForNoun(kind, " ")})
		}
	}
	return all
}

func definitionOf(n resourceNames, t traits) (*definition.CustomResourceDefinition, *definition.CustomResourceDefinitionVersion) {
	crd := &definition.CustomResourceDefinition{}
	crd.Spec.Group, crd.Spec.Scope = n.group, t.scope
	crd.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Plural: n.plural, Kind: n.kind, ListKind: n.listKind}
	v := &definition.CustomResourceDefinitionVersion{Name: n.version, Subresources: &apiextensionsv1.CustomResourceSubresources{}}
	if t.status {
		v.Subresources.Status = &apiextensionsv1.CustomResourceSubresourceStatus{}
	}
	if t.scale {
		v.Subresources.Scale = &apiextensionsv1.CustomResourceSubresourceScale{}
	}
	return crd, v
}

func textsOf(t *testing.T, r routes) map[string]string {
	t.Helper()
	shared, err := r.shared.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{"shared": string(shared)}
	for _, texts := range []map[string][]byte{r.paths, r.models} {
		for name, text := range texts {
			out[name] = string(text)
		}
	}
	return out
}
