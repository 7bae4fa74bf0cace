package definitiontest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/definition"
)

// Random returns a definition with random names, scope, versions, subresources and schemas. Definitions with different numbers have
// different names.
func Random(random *rand.Rand, number int) *definition.CustomResourceDefinition {
	kind := fmt.Sprint(pick(random, "Boat", "Engine", "API", "Listener", "Holdfastkind"), number, pick(random, "", "", "s", "ss", "Set"))
	if random.IntN(8) == 0 {
		kind = pick(random, "boat", "Sail-Boat", "o") + fmt.Sprint(number)
	}
	plural := strings.ToLower(kind) + pick(random, "", "s", "es")
	group := pick(random, "example.com", "cert-manager.io", "3scale.net", "a", "holdfastgroup.example")
	if random.IntN(8) == 0 {
		group = pick(random, "storage.k8s.io", "snapshot.storage.k8s.io")
	}
	crd := &definition.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group}}
	crd.Spec = definition.CustomResourceDefinitionSpec{
		Group: group, Scope: pick(random, apiextensionsv1.NamespaceScoped, apiextensionsv1.ClusterScoped),
		Names: apiextensionsv1.CustomResourceDefinitionNames{
			Plural: plural, Singular: strings.ToLower(kind), Kind: kind, ListKind: kind + pick(random, "List", "List", "Items"),
		},
	}
	names := []string{"v1", "v1alpha1", "v2beta3", "v3", "v1-next"}
	random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for i, name := range names[:1+random.IntN(3)] {
		crd.Spec.Versions = append(crd.Spec.Versions, randomVersion(random, name))
		crd.Spec.Versions[i].Storage = i == 0
	}
	return crd
}

func randomVersion(random *rand.Rand, name string) definition.CustomResourceDefinitionVersion {
	v := definition.CustomResourceDefinitionVersion{Name: name, Served: random.IntN(4) > 0}
	if random.IntN(4) > 0 {
		v.Subresources = &apiextensionsv1.CustomResourceSubresources{}
		if random.IntN(2) == 0 {
			v.Subresources.Status = &apiextensionsv1.CustomResourceSubresourceStatus{}
		}
		if random.IntN(2) == 0 {
			v.Subresources.Scale = &apiextensionsv1.CustomResourceSubresourceScale{
				SpecReplicasPath: ".spec.replicas", StatusReplicasPath: ".status.replicas",
			}
		}
	}
	if random.IntN(8) > 0 {
		root := randomObject(random, 3)
		if random.IntN(8) == 0 {
			root["x-kubernetes-preserve-unknown-fields"] = true
		}
		text, err := json.Marshal(root)
		if err != nil {
			panic(err) // only maps, lists, strings and numbers
		}
		v.Schema = &definition.CustomResourceValidation{OpenAPIV3Schema: text}
	}
	if random.IntN(4) == 0 {
		v.SelectableFields = []apiextensionsv1.SelectableField{{JSONPath: ".spec.color"}}
	}
	return v
}

// randomSchema returns a schema with at most a number of levels.
func randomSchema(random *rand.Rand, levels int) keywords {
	var out keywords
	switch choice := random.IntN(10); {
	case levels > 0 && choice < 3:
		out = randomObject(random, levels)
	case levels > 0 && choice == 3:
		out = keywords{"type": "array", "items": randomSchema(random, levels-1)}
	case levels > 0 && choice == 4:
		out = keywords{"type": "object", "additionalProperties": randomSchema(random, levels-1)}
	case choice == 5:
		out = keywords{"x-kubernetes-int-or-string": true}
	case choice == 6:
		out = keywords{"type": pick(random, "integer", "number"), "minimum": random.IntN(9), "default": 10}
	case choice == 7:
		out = keywords{"type": "boolean"}
	case choice == 8:
		out = keywords{"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true}
	default:
		out = keywords{"type": "string", "enum": []any{"red", "<b>"}, "pattern": "^[a-z<&>]*$", "default": "red"}
	}
	if random.IntN(3) == 0 {
		out["description"] = pick(random, "a boat", `a <boat> & "more"`, "line\u2028break", `a "paths":{} {"x"}}`)
	}
	switch random.IntN(8) {
	case 0:
		out["nullable"] = true
	case 1:
		out["x-kubernetes-immutable"] = true
	}
	return out
}

func randomObject(random *rand.Rand, levels int) keywords {
	properties := keywords{}
	for _, name := range []string{"spec", "status", "color", "$ref", "replicas", "x-holdfast-piece"} {
		if random.IntN(2) == 0 {
			properties[name] = randomSchema(random, levels-1)
		}
	}
	return keywords{"type": "object", "properties": properties}
}

func pick[T any](random *rand.Rand, values ...T) T { return values[random.IntN(len(values))] }
