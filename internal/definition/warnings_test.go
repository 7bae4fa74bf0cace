package definition_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/definition"
)

func TestWarnings(t *testing.T) {
	const (
		marked = `
type: object
required: [spec]
properties:
  spec:
    type: object
    properties:
      a: {type: string, x-kubernetes-immutable: true}
      m: {type: object, additionalProperties: {type: string}, x-kubernetes-immutable: true}
`
		weakened = `
type: object
required: [spec]
properties:
  spec:
    type: object
    properties:
      a: {type: string}
      m: {type: object, additionalProperties: {type: string}, x-kubernetes-addition-only: true}
`
		escaping = `
type: object
required: [spec]
properties:
  spec:
    type: object
    properties:
      optional: {type: object, properties: {a: {type: string, x-kubernetes-immutable: true}}}
      keys: {type: object, additionalProperties: {type: string, x-kubernetes-immutable: true}}
      rule: {type: object, properties: {b: {type: string, maxLength: 9, x-kubernetes-validations: [{rule: self == oldSelf}]}}}
`
		twoVersions = `
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {plural: widgets, kind: Widget}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object,
      properties: {spec: {type: object, properties: {a: {type: string, x-kubernetes-immutable: true}}}}}}}
  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object,
      properties: {spec: {type: object, properties: {a: {type: string}}}}}}}
  - {name: v3, served: false, storage: false, schema: {openAPIV3Schema: {type: object}}}
`
		trapping = `
type: object
properties: {status: {type: object, properties: {a: {type: string, x-kubernetes-immutable: true}}}}
`
		escape = "spec.optional.a: immutable, but spec.optional is optional: " +
			"it can be removed and then set again with another value; x-kubernetes-immutable on spec.optional closes this, " +
			"and so does making it required"
	)
	withStatus := widgets(trapping) + "    subresources: {status: {}}\n"
	tests := map[string]struct {
		old, new string
		want     []string
	}{
		"no warning":        {new: widgets(`{type: object}`)},
		"markers are there": {new: widgets(marked)},
		"markers are weakened": {old: widgets(marked), new: widgets(weakened), want: []string{
			"spec.a: x-kubernetes-immutable is gone, so it may change from now on",
			"spec.m: x-kubernetes-immutable became x-kubernetes-addition-only, which promises less",
		}},
		"a marked field goes as a whole": {
			old: widgets(marked),
			new: widgets(`{type: object, required: [spec], properties: {spec: {type: object}}}`),
		},
		"an escape":                {new: widgets(escaping), want: []string{escape}},
		"an escape that was there": {old: widgets(escaping), new: widgets(escaping)},
		"an escape that is new":    {old: widgets(marked), new: widgets(escaping), want: []string{escape}},
		"versions that differ": {new: twoVersions, want: []string{
			"spec.a: immutable in v1, free in v2; the strictest holds in every version",
			"version v1: spec.a: immutable, but spec is optional: it can be removed and then set again with another value; " +
				"x-kubernetes-immutable on spec closes this, and so does making it required",
		}},
		"a field of the status": {new: withStatus, want: []string{
			"status.a: immutable, but status is optional: it can be removed and then set again with another value; " +
				`the rule "!has(oldSelf.status) || has(self.status)" at the root closes this`,
			"status.a: immutable under status: it can only be set by the write that sets the status for the first time",
		}},
		"a field of the status, without the subresource": {new: widgets(trapping), want: []string{
			"status.a: immutable, but status is optional: it can be removed and then set again with another value; " +
				`the rule "!has(oldSelf.status) || has(self.status)" at the root closes this`,
		}},
		"a format that the server does not validate": {
			new: widgets(`{type: object, properties: {a: {type: string, format: smell}, b: {type: string, format: smell}, ` +
				`c: {type: string, format: date}}}`),
			want: []string{`unrecognized format "smell"`},
		},
		"a name with a control character": {
			new: widgets(`{type: object, properties: {"a\nb": {type: object, properties: {c: {type: string, x-kubernetes-immutable: true}}}}}`),
			want: []string{
				`["a\nb"].c: immutable, but ["a\nb"] is optional: it can be removed and then set again with another value; ` +
					`x-kubernetes-immutable on ["a\nb"] closes this, and so does making it required`,
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := definition.Write{APIVersion: definition.V1}
			if test.old != "" {
				w.Old = store(t, test.old)
			}
			crd := accept(t, w, updated(read(t, test.new)))
			if diff := cmp.Diff(test.want, w.Warnings(crd)); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDropUnknown(t *testing.T) {
	crd := read(t, widgets(`
type: object
x-kubernetes-imutable: true
properties:
  spec:
    type: object
    x-kubernetes-no-pruning: true
    properties:
      a: {type: string, x-kubernetes-immutable: true, x-acme: 1}
`))
	want := []string{
		"spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[a].x-acme",
		"spec.versions[0].schema.openAPIV3Schema.properties[spec].x-kubernetes-no-pruning",
		"spec.versions[0].schema.openAPIV3Schema.x-kubernetes-imutable",
	}
	if diff := cmp.Diff(want, definition.DropUnknown(crd)); diff != "" {
		t.Errorf("unknown keys (-want +got):\n%s", diff)
	}
	const left = `{"properties":{"spec":{"properties":{"a":{"type":"string","x-kubernetes-immutable":true}},"type":"object"}},"type":"object"}`
	if diff := cmp.Diff(left, string(crd.Spec.Versions[0].Schema.OpenAPIV3Schema)); diff != "" {
		t.Errorf("what is left (-want +got):\n%s", diff)
	}
	if again := definition.DropUnknown(crd); len(again) > 0 {
		t.Errorf("dropped again: %v", again)
	}
}
