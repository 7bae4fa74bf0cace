// Package definitiontest has definitions for tests and benchmarks.
//
//	crd := definitiontest.Generated(0)             // of the size that definitions of public projects have
//	crd := definitiontest.Random(random, number) // small, with unusual names and schemas among them
package definitiontest

import (
	"encoding/json"
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/definition"
)

// fields are the numbers of fields of generated definitions, in turn, as in bench/compare. Most definitions of public
// projects are small and a few are very large.
func fields() []int { return []int{30, 100, 30, 300, 100, 30, 1000, 100, 30, 300} }

// Generated returns one of many definitions, which the server has not stored yet. Fifteen definitions have the same group.
func Generated(number int) *definition.CustomResourceDefinition {
	sizes := fields()
	return Sized(fmt.Sprintf("project%03d.example.com", number/15), fmt.Sprintf("kind%04d", number), sizes[number%len(sizes)])
}

// Sized returns a definition with a group, a name in the singular, and a number of fields. The server has not stored it yet.
func Sized(group, singular string, size int) *definition.CustomResourceDefinition {
	plural, kind := singular+"s", strings.ToUpper(singular[:1])+singular[1:]
	crd := &definition.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group}}
	crd.APIVersion, crd.Kind = "apiextensions.k8s.io/v1", "CustomResourceDefinition"
	crd.Spec = definition.CustomResourceDefinitionSpec{
		Group: group, Scope: apiextensionsv1.NamespaceScoped,
		Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Singular: singular, Kind: kind, ListKind: kind + "List"},
		Versions: []definition.CustomResourceDefinitionVersion{{
			Name: "v1", Served: true, Storage: true,
			Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
			Schema:       &definition.CustomResourceValidation{OpenAPIV3Schema: Schema(size)},
		}},
	}
	return crd
}

type keywords = map[string]any

// Schema returns a schema with a number of fields. Most of them are in objects of 15 fields, which describe a workload.
func Schema(size int) json.RawMessage {
	properties := keywords{"region": described("The region that all parts run in.", `{"type":"string","maxLength":64}`)}
	for i := range size / 15 {
		properties[fmt.Sprintf("part%03d", i)] = part()
	}
	for i := range size % 15 {
		properties[fmt.Sprintf("text%02d", i)] = described("A text that the controller copies to the status.", `{"type":"string","maxLength":64}`)
	}
	text, err := json.Marshal(keywords{
		"type": "object", "required": []any{"spec"}, "properties": keywords{
			"status": json.RawMessage(`{"type":"object","properties":{"phase":{"type":"string"}}}`),
			"spec": keywords{
				"type": "object", "properties": properties,
				"x-kubernetes-validations": []any{keywords{"rule": "self.region == oldSelf.region", "message": "region is fixed"}},
			},
		},
	})
	if err != nil {
		panic(err) // only maps, lists and strings
	}
	return text
}

// part returns the schema of an object, with the keywords that schemas of public projects use.
func part() keywords {
	text := `{"type":"string","maxLength":63}`
	return keywords{
		"type": "object", "required": []any{"image", "replicas"},
		"x-kubernetes-validations": []any{
			keywords{"rule": "self.replicas <= self.maxReplicas", "message": "replicas must not exceed maxReplicas"},
			keywords{"rule": "!has(self.ports) || self.ports.all(p, p.port > 0)", "message": "ports must be positive"},
		},
		"properties": keywords{
			"image": described("The image that the containers of this part run, with its registry and its tag.",
				`{"type":"string","minLength":1,"maxLength":256,"pattern":"^[a-z0-9./:@_-]+$"}`),
			"class": described("The size of the machines.", `{"type":"string","enum":["small","medium","large"]}`),
			"replicas": described("The number of replicas that the controller starts. It must not exceed maxReplicas.",
				`{"type":"integer","minimum":0,"maximum":1000}`),
			"maxReplicas": described("The highest number of replicas.", `{"type":"integer","minimum":0,"maximum":1000,"default":1000}`),
			"priority":    described("Parts with a higher priority start first.", `{"type":"integer","minimum":0,"maximum":100}`),
			"paused":      described("The controller changes nothing while this is true.", `{"type":"boolean","default":false}`),
			"retention":   described("How long the controller keeps finished work.", `{"type":"string","format":"duration"}`),
			"threshold": described("The load at which the controller adds a replica, as a number or a percentage.",
				`{"x-kubernetes-int-or-string":true}`),
			"weight": described("The part of the traffic.", `{"type":"number","minimum":0,"maximum":1}`),
			"labels": described("Labels that the controller adds to every object that it creates.",
				`{"type":"object","maxProperties":32,"additionalProperties":`+text+`}`),
			"resources": described("What each replica may use.", `{"type":"object","properties":{
				"cpu":{"x-kubernetes-int-or-string":true},"memory":{"x-kubernetes-int-or-string":true}}}`),
			"env": described("The environment of the containers.", `{"type":"array","maxItems":64,"x-kubernetes-list-type":"map",
				"x-kubernetes-list-map-keys":["name"],"items":{"type":"object","required":["name"],
				"properties":{"name":`+text+`,"value":`+text+`}}}`),
			"ports": described("The ports that the containers listen on.", `{"type":"array","maxItems":16,"x-kubernetes-list-type":"map",
				"x-kubernetes-list-map-keys":["port"],"items":{"type":"object","required":["port"],"properties":{
				"port":{"type":"integer","minimum":0,"maximum":65535},"protocol":{"type":"string","enum":["TCP","UDP"],"default":"TCP"}}}}`),
			"zones": described("The zones of the replicas.", `{"type":"array","maxItems":8,"x-kubernetes-list-type":"set","items":`+text+`}`),
		},
	}
}

// described adds a description to a schema. The descriptions have a length that is usual in public projects.
func described(description, schema string) keywords {
	out := keywords{}
	if err := json.Unmarshal([]byte(schema), &out); err != nil {
		panic(err) // the schemas above are JSON
	}
	out["description"] = description
	return out
}
