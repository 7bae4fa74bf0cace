package while_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

	"holdfast.dev/holdfast/internal/while"
	"holdfast.dev/holdfast/internal/yamltest"
)

const fieldsSchema = `{type: object, required: [spec], properties: {
	spec: {type: object, required: [size, nullable], properties: {
		size: {type: string}, zone: {type: string}, filled: {type: string, default: x}, nullable: {type: string, nullable: true},
		d-e: {type: string}, map: {type: object, additionalProperties: {type: string}},
		list: {type: array, items: {type: object, required: [name], properties: {name: {type: string}, port: {type: integer}}}}}},
	status: {type: object, properties: {phase: {type: string}}}}}`

func structuralOf(t *testing.T, text string) *structuralschema.Structural {
	t.Helper()
	data, err := json.Marshal(yamltest.Map(t, text))
	if err != nil {
		t.Fatal(err)
	}
	var props apiextensionsv1.JSONSchemaProps
	if err := json.Unmarshal(data, &props); err != nil {
		t.Fatal(err)
	}
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&props, &internal, nil); err != nil {
		t.Fatal(err)
	}
	s, err := structuralschema.NewStructural(&internal)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestFields checks which reads of optional fields are not protected.
func TestFields(t *testing.T) {
	for expression, want := range map[string]string{
		`oldSelf.spec.size == "L"`:                                                                                  "",
		`oldSelf.spec.filled == "L"`:                                                                                "",
		`oldSelf.spec.nullable == "L"`:                                                                              "oldSelf.spec.nullable",
		`oldSelf.spec.zone == "L"`:                                                                                  "oldSelf.spec.zone",
		`oldSelf.spec.d__dash__e == "L"`:                                                                            "oldSelf.spec.d__dash__e",
		`oldSelf.status.phase == "Ready"`:                                                                           "oldSelf.status oldSelf.status.phase",
		`has(oldSelf.status)`:                                                                                       "",
		`has(oldSelf.status.phase)`:                                                                                 "oldSelf.status",
		`has(oldSelf.status) && oldSelf.status.phase == "Ready"`:                                                    "oldSelf.status.phase",
		`has(oldSelf.status) && has(oldSelf.status.phase)`:                                                          "",
		`has(oldSelf.status.phase) && oldSelf.status.phase == "Ready"`:                                              "oldSelf.status",
		`oldSelf.status.phase == "a" && has(oldSelf.status) && has(oldSelf.status.phase)`:                           "",
		`!has(oldSelf.spec.zone) || oldSelf.spec.zone == "a"`:                                                       "",
		`has(oldSelf.spec.zone) || oldSelf.spec.zone == "a"`:                                                        "oldSelf.spec.zone",
		`!(has(oldSelf.spec.zone) && oldSelf.spec.size == "L") || oldSelf.spec.zone == "a"`:                         "",
		`has(oldSelf.spec.zone) ? oldSelf.spec.zone == "a" : oldSelf.spec.size == "L"`:                              "",
		`has(oldSelf.spec.zone) ? true : oldSelf.spec.zone == "a"`:                                                  "oldSelf.spec.zone",
		`oldSelf.?status.?phase.orValue("") == "Ready"`:                                                             "",
		`oldSelf.metadata.name == "a" && oldSelf.metadata.labels["a/b"] == "c"`:                                     `oldSelf.metadata.labels oldSelf.metadata.labels["a/b"]`,
		`has(oldSelf.metadata.labels) && "a/b" in oldSelf.metadata.labels && oldSelf.metadata.labels["a/b"] == "c"`: "",
		`has(oldSelf.spec.map) && has(oldSelf.spec.map.a) && oldSelf.spec.map["a"] == "b"`:                          "",
		`has(oldSelf.spec.list) && oldSelf.spec.list.all(i, i.name == "a" || i.port == 1)`:                          "oldSelf.spec.list[*].port",
		`has(oldSelf.spec.list) && oldSelf.spec.list.exists(i, has(i.port) && i.port == 1)`:                         "",
	} {
		structural := structuralOf(t, fieldsSchema)
		if _, err := while.ForCustom(structural, expression); err != nil {
			// An estimate over the limit does not matter here.
			if !strings.Contains(err.Error(), "estimated cost") {
				t.Errorf("%s: %v", expression, err)
			}
		}
		fields, err := while.Fields(structural, expression)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range fields {
			if !f.Protected {
				got = append(got, f.Path)
			}
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", expression, diff)
		}
	}
}

func TestRename(t *testing.T) {
	for expression, want := range map[string]string{
		`oldSelf.a == "oldSelf" && has(oldSelf.b)`:            `oldObject.a == "oldSelf" && has(oldObject.b)`,
		`oldSelf.a.exists(x, x == oldSelf.b) || oldSelf == 1`: `oldObject.a.exists(x, x == oldObject.b) || oldObject == 1`,
		`oldSelf.a.oldSelf == 'ü' && oldSelf.b`:               `oldObject.a.oldSelf == 'ü' && oldObject.b`,
		`[1].all(oldSelf, oldSelf == 1)`:                      "",
	} {
		got, ok := while.Rename(expression, "oldObject")
		if ok != (want != "") || ok && got != want {
			t.Errorf("%s: %s, %t", expression, got, ok)
		}
	}
}
