package schema_test

import (
	stdjson "encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"

	"holdfast.dev/holdfast/internal/yamltest"
	"holdfast.dev/holdfast/schema"
)

// everyKeyword has each keyword at least once, some with their zero value.
const everyKeyword = `
id: a
$schema: b
$ref: c
description: d
title: e
type: object
format: f
nullable: true
default: {a: [1, null, 2.5], b: 9007199254740993}
example: ""
enum: [1, null, "x", {}]
maximum: 9007199254740993
minimum: -1.5
multipleOf: 1.0e+30
exclusiveMaximum: true
exclusiveMinimum: false
maxLength: 9007199254740993
minLength: 0
pattern: ^a<b&c
maxItems: 5
minItems: 0
uniqueItems: false
maxProperties: 3
minProperties: 0
required: [a, b]
items: {type: string}
additionalItems: false
properties:
  a: {}
  b: {items: [{type: string}, {}], additionalItems: {type: integer}, nullable: false}
  c: {items: [], properties: {}, required: [], enum: [], allOf: [], description: "", format: "", title: "", pattern: "", type: ""}
patternProperties: {"^x": {type: string}}
additionalProperties: true
allOf: [{type: object}, {}]
anyOf: [{type: object}]
oneOf: [{type: object}]
not: {type: string}
definitions: {d: {type: string}}
dependencies: {e: [a, b], f: {type: string}, g: []}
externalDocs: {description: g, url: ""}
x-kubernetes-preserve-unknown-fields: false
x-kubernetes-embedded-resource: true
x-kubernetes-int-or-string: false
x-kubernetes-list-type: map
x-kubernetes-list-map-keys: [name]
x-kubernetes-map-type: atomic
x-kubernetes-validations:
- {rule: self == oldSelf, message: "", messageExpression: "'x'", reason: FieldValueInvalid, fieldPath: .a, optionalOldSelf: false}
- {rule: ""}
x-kubernetes-immutable: true
x-kubernetes-immutable-keys: false
x-kubernetes-addition-only: true
x-kubernetes-deletion-only: false
x-kubernetes-update: [NoSet, NoModify]
x-kubernetes-no-prune: false
x-kubernetes-normalize: ""
`

func TestEncodeReturnsEveryKeyword(t *testing.T) {
	in := yamltest.Value(t, everyKeyword)
	s, unknown, err := schema.Decode(in)
	if err != nil || len(unknown) > 0 {
		t.Fatalf("decode: %v, unknown: %v", err, unknown)
	}
	if diff := cmp.Diff(in, any(schema.Encode(s))); diff != "" {
		t.Errorf("encoded schema (-want +got):\n%s", diff)
	}
	want, _ := stdjson.Marshal(in)
	got, err := stdjson.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("bytes differ:\nwant %s\ngot  %s", want, got)
	}
	for _, keyword := range schema.Keywords() {
		if _, ok := in.(map[string]any)[keyword]; !ok {
			t.Errorf("this test does not show keyword %s", keyword)
		}
	}
}

func TestKeywordsAreThoseOfUpstreamAndHoldfast(t *testing.T) {
	ours := []string{
		schema.ImmutableKeyword, schema.ImmutableKeysKeyword, schema.AdditionOnlyKeyword,
		schema.DeletionOnlyKeyword, schema.UpdateKeyword, schema.NoPruneKeyword, schema.NormalizeKeyword,
	}
	for name, upstream := range map[string]reflect.Type{
		"v1":      reflect.TypeFor[apiextensionsv1.JSONSchemaProps](),
		"v1beta1": reflect.TypeFor[apiextensionsv1beta1.JSONSchemaProps](),
	} {
		t.Run(name, func(t *testing.T) {
			want := slices.Clone(ours)
			for i := range upstream.NumField() {
				key, _, _ := strings.Cut(upstream.Field(i).Tag.Get("json"), ",")
				want = append(want, key)
			}
			slices.Sort(want)
			if diff := cmp.Diff(want, schema.Keywords()); diff != "" {
				t.Errorf("keywords (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMarkersDistinguishAbsentAndFalse(t *testing.T) {
	for text, want := range map[string]*bool{
		`{}`:                              nil,
		`{x-kubernetes-immutable: true}`:  new(true),
		`{x-kubernetes-immutable: false}`: new(false),
		`{x-kubernetes-immutable: null}`:  nil,
	} {
		s, _, err := schema.Decode(yamltest.Value(t, text))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, s.Immutable); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}
