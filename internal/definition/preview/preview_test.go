package preview_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/definition/preview"
	"holdfast.dev/holdfast/internal/definition/refusal"
	"holdfast.dev/holdfast/internal/definition/source"
	"holdfast.dev/holdfast/internal/manifest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// widgets has markers, a default, a CEL rule and a status subresource in v1, and other markers
// in v2.
const widgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {plural: widgets, kind: Widget}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            x-kubernetes-validations: [{rule: "!has(oldSelf.shape) || self.shape == oldSelf.shape", message: shape is fixed}]
            properties:
              size: {type: string, x-kubernetes-immutable: true}
              shape: {type: string, maxLength: 10}
              replicas: {type: integer, default: 1, minimum: 0}
              notes: {type: array, items: {type: string}, x-kubernetes-normalize: undefined}
              colour: {type: string}
              ports:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                x-kubernetes-addition-only: true
                items:
                  type: object
                  required: [name]
                  properties:
                    name: {type: string, x-kubernetes-immutable: true}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
  - name: v2
    served: true
    storage: false
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: string}
              shape: {type: string}
              replicas: {type: integer}
              colour: {type: string, x-kubernetes-immutable: true}
  - name: v3
    served: false
    storage: false
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {replicas: {type: integer, x-kubernetes-immutable: true}}}}
`

// read reads a definition.
func read(t *testing.T, text string) (*definition.CustomResourceDefinition, map[string]*definition.Compiled) {
	t.Helper()
	objects, err := manifest.Split("crd.yaml", []byte(text))[0].Objects()
	if err != nil {
		t.Fatal(err)
	}
	def, err := source.Decode(objects[0])
	if err != nil {
		t.Fatal(err)
	}
	versions, err := definition.Compile(def.CustomResourceDefinition)
	if err != nil {
		t.Fatal(err)
	}
	return def.CustomResourceDefinition, versions
}

// findings returns everything that a judgement found, a line for each.
func findings(j preview.Judgement) []string {
	var lines []string
	for _, w := range j.WrongTypes {
		lines = append(lines, w.Path+": must be "+w.Want)
	}
	for _, v := range j.Refused {
		lines = append(lines, v.String())
	}
	for _, v := range j.Allowed {
		lines = append(lines, refusal.Answer{Values: true}.Override(v))
	}
	for _, err := range j.Invalid {
		lines = append(lines, err.Error())
	}
	for _, path := range j.Dropped {
		lines = append(lines, path+": dropped")
	}
	for _, version := range j.Unchecked {
		lines = append(lines, version+": unchecked")
	}
	return lines
}

func TestJudge(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		old, updated string // spec and status, in flow style; old is empty for a create
		version      string // v1 if empty
		outcome      preview.Outcome
		want         []string
	}{
		"the same":                  {old: "spec: {size: s}", updated: "spec: {size: s}", outcome: preview.Unchanged},
		"a default that is written": {old: "spec: {}", updated: "spec: {replicas: 1}", outcome: preview.Unchanged},
		"a normalized list":         {old: "spec: {}", updated: "spec: {notes: []}", outcome: preview.Unchanged},
		"a dropped field":           {"spec: {}", "spec: {x: 1}", "", preview.Unchanged, []string{"spec.x: dropped"}},
		"the status of the client": {
			old: "spec: {}\nstatus: {a: b}", updated: "spec: {}\nstatus: {a: c}", outcome: preview.Unchanged,
		},
		"a free field": {old: "spec: {size: s}", updated: "spec: {size: s, replicas: 2}", outcome: preview.InPlace},
		"an item more": {old: "spec: {}", updated: "spec: {ports: [{name: a}]}", outcome: preview.InPlace},
		"a marker of a version that is not served": {old: "spec: {replicas: 1}", updated: "spec: {replicas: 2}", outcome: preview.InPlace},
		"an immutable field": {
			"spec: {size: s}", "spec: {size: t}", "", preview.Replace, []string{`spec.size: field is immutable: changed from "s" to "t"`},
		},
		"an item less": {
			"spec: {ports: [{name: a}, {name: b}]}", "spec: {ports: [{name: b}]}", "", preview.Replace,
			[]string{`spec.ports[name="a"]: field is immutable: addition only: removed {"name":"a"}`},
		},
		"a transition rule": {
			"spec: {shape: round}", "spec: {shape: square}", "", preview.Replace, []string{`spec: Invalid value: shape is fixed`},
		},
		"the marker of another version": {
			"spec: {colour: red}", "spec: {colour: blue}", "", preview.Replace, []string{`spec.colour: field is immutable: changed from "red" to "blue"`},
		},
		"the marker of the stored version": {
			"spec: {size: s}", "spec: {size: t}", "v2", preview.Replace, []string{`spec.size: field is immutable: changed from "s" to "t"`},
		},
		"a wrong type": {"spec: {}", "spec: {replicas: two}", "", preview.Invalid, []string{"spec.replicas: must be integer"}},
		"a wrong value, also for a new object": {
			"spec: {size: s}", "spec: {size: t, replicas: -1}", "", preview.Invalid,
			[]string{
				`spec.size: field is immutable: changed from "s" to "t"`,
				"spec.replicas: Invalid value: -1: spec.replicas in body should be greater than or equal to 0",
			},
		},
		"a new object": {updated: "spec: {size: s, shape: round}", outcome: preview.Create},
		"a wrong new object": {
			"", "spec: {shape: aaaaaaaaaaaa}", "", preview.Invalid,
			[]string{
				"spec.shape: Too long: may not be more than 10 bytes",
				"<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; " +
					"correct the existing errors to complete validation",
			},
		},
	}
	crd, versions := read(t, widgets)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			version := test.version
			if version == "" {
				version = "v1"
			}
			header := "apiVersion: example.com/" + version + "\nkind: Widget\n"
			update := preview.Update{
				Definition: crd, Versions: versions, Version: version,
				New: yamltest.Map(t, header+"metadata: {name: a}\n"+test.updated),
			}
			if test.old != "" {
				update.Old = yamltest.Map(t, strings.Replace(header, "/v2", "/v1", 1)+
					"metadata: {name: a, namespace: space, uid: u, resourceVersion: '7', creationTimestamp: x}\n"+test.old)
			}
			before := cmp.Diff(nil, update.New)
			j := update.Judge(t.Context())
			if j.Outcome != test.outcome {
				t.Errorf("outcome %q, want %q", j.Outcome, test.outcome)
			}
			if diff := cmp.Diff(test.want, findings(j)); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, cmp.Diff(nil, update.New)); diff != "" {
				t.Errorf("the new object was changed:\n%s", diff)
			}
		})
	}
}

// TestJudgeRules checks rules with a condition, rules with a verb, and rules about labels. The annotation and the schema say the
// same of spec.colour, which is one violation.
func TestJudgeRules(t *testing.T) {
	t.Parallel()
	const rules = `{name: widgets.example.com, annotations: {holdfast.dev/immutability: "
      no-unset spec.shape unless reshape\n
      set-once spec.colour while oldSelf.spec.replicas > 1\n
      no-set spec.notes while oldSelf.status.phase == 'Ready'\n
      v2: immutable spec.colour\n
      addition-only metadata.labels"}}`
	text := strings.Replace(widgets, "{name: widgets.example.com}", rules, 1)
	text = strings.Replace(text, "!has(oldSelf.shape) ||", "true ||", 1)
	text = strings.Replace(text, "{type: object, x-kubernetes-preserve-unknown-fields: true}", "{type: object, properties: {phase: {type: string}}}", 1)
	crd, versions := read(t, text)
	if errs := crd.AnnotationErrors(); len(errs) > 0 {
		t.Fatal(errs)
	}
	const unclear = "spec.notes: field is immutable: no-set while oldSelf.status.phase == 'Ready': added [\"a\"]"
	tests := map[string]struct {
		old, updated string
		outcome      preview.Outcome
		want         []string
	}{
		"the condition holds":         {"spec: {notes: []}\nstatus: {phase: Ready}", "spec: {notes: [a]}", preview.Replace, []string{unclear}},
		"the condition does not hold": {"spec: {}\nstatus: {phase: New}", "spec: {notes: [a]}", preview.InPlace, nil},
		"the condition has no value":  {"spec: {}", "spec: {notes: [a]}", preview.Replace, []string{unclear + " unclear"}},
		"set once, and a keyword of v2": {"spec: {colour: red}", "spec: {colour: blue}", preview.Replace, []string{
			`spec.colour: field is immutable: changed from "red" to "blue"`,
		}},
		"a right":       {"spec: {shape: round}", "spec: {}", preview.InPlace, []string{`spec.shape: removed "round" by the right to reshape`}},
		"another right": {"spec: {size: s}", "spec: {}", preview.Replace, []string{`spec.size: field is immutable: removed "s"`}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const head = "apiVersion: example.com/v1\nkind: Widget\n"
			j := preview.Update{
				Definition: crd, Versions: versions, Version: "v1", May: func(verb string) bool { return verb == "reshape" },
				Old: yamltest.Map(t, head+"metadata: {name: a}\n"+test.old), New: yamltest.Map(t, head+"metadata: {name: a}\n"+test.updated),
			}.Judge(t.Context())
			got := findings(j)
			for i, v := range j.Refused {
				if v.Unclear != nil {
					got[i] += " unclear"
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" || j.Outcome != test.outcome {
				t.Errorf("outcome %q, findings (-want +got):\n%s", j.Outcome, diff)
			}
		})
	}
	label := preview.Update{
		Definition: crd, Versions: versions, Version: "v1",
		Old: yamltest.Map(t, "{apiVersion: example.com/v1, kind: Widget, metadata: {name: a, labels: {team: x}}, spec: {shape: round}}"),
		New: yamltest.Map(t, "{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}, spec: {}}"),
	}.Judge(t.Context())
	want := []string{
		`spec.shape: field is immutable: no-unset: removed "round"`, `metadata.labels.team: field is immutable: addition only: removed "x"`,
	}
	if diff := cmp.Diff(want, findings(label)); diff != "" {
		t.Errorf("a label, and a user without rights (-want +got):\n%s", diff)
	}
}

// TestJudgeConversion checks that a version behind a conversion webhook is named, not judged.
func TestJudgeConversion(t *testing.T) {
	t.Parallel()
	crd, versions := read(t, strings.Replace(widgets, "  versions:\n", "  conversion: {strategy: Webhook, webhook: "+
		"{conversionReviewVersions: [v1], clientConfig: {url: 'https://127.0.0.1:1/'}}}\n  versions:\n", 1))
	j := preview.Update{
		Definition: crd, Versions: versions, Version: "v1",
		Old: yamltest.Map(t, "{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}, spec: {colour: red}}"),
		New: yamltest.Map(t, "{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}, spec: {colour: blue}}"),
	}.Judge(t.Context())
	if j.Outcome != preview.InPlace || !slices.Equal(findings(j), []string{"v2: unchecked"}) {
		t.Errorf("outcome %q, findings %v", j.Outcome, findings(j))
	}
}

func TestLoss(t *testing.T) {
	t.Parallel()
	const applied = "kubectl.kubernetes.io/last-applied-configuration"
	child := func(name, uid, owners string) string {
		return "{kind: Pod, metadata: {name: " + name + ", uid: " + uid + ", ownerReferences: [" + owners + "]}}"
	}
	tests := map[string]struct {
		old, updated string
		others       []string
		want         preview.Loss
	}{
		"nothing": {
			old: "{kind: W, metadata: {name: a, uid: u, resourceVersion: '1', managedFields: [], annotations: {" + applied +
				": x}}, spec: {a: 1}}",
			updated: "{kind: W, metadata: {name: a}, spec: {a: 2}}",
		},
		"status": {
			old:     "{kind: W, status: {phase: Ready, replicas: 0, conditions: [], ready: false, count: 2}}",
			updated: "{kind: W}",
			want:    preview.Loss{Status: []string{"count", "phase"}},
		},
		"metadata": {
			old:     "{metadata: {finalizers: [a/b], ownerReferences: [{kind: A, name: x, uid: 1}, {kind: A, name: y, uid: 2}], labels: {l: m}}}",
			updated: "{metadata: {ownerReferences: [{kind: A, name: y, uid: 2}]}}",
			want: preview.Loss{
				Finalizers: []string{"a/b"}, Owners: []string{"A/x"}, Fields: []string{"metadata.labels"},
			},
		},
		"fields": {
			old:     "{metadata: {annotations: {" + applied + ": x, b: c}}, spec: {finalizers: [kept], a: {b: 1, c: 2}, d: [1]}}",
			updated: "{metadata: {annotations: {}}, spec: {a: {b: 3}, d: []}}",
			want:    preview.Loss{Fields: []string{"metadata.annotations.b", "spec.a.c", "spec.finalizers"}},
		},
		"children and theirs": {
			old: "{kind: W, metadata: {name: a, uid: u}}", updated: "{kind: W, metadata: {name: a}}",
			others: []string{
				child("grandchild", "g", "{kind: Pod, name: child, uid: c}"), child("child", "c", "{kind: W, name: a, uid: u}"),
				child("shared", "s", "{kind: W, name: a, uid: u}, {kind: X, name: b, uid: v}"),
				child("both", "b", "{kind: W, name: a, uid: u}, {kind: Pod, name: child, uid: c}"),
				child("of-a-namesake", "n", "{kind: W, name: a, uid: other}"), "{kind: Pod, metadata: {name: free}}",
			},
			want: preview.Loss{Children: []preview.Child{
				{Kind: "Pod", Name: "child"}, {Kind: "Pod", Name: "both"}, {Kind: "Pod", Name: "grandchild"},
			}},
		},
		"children of an object without a UID": {
			old: "{kind: W, metadata: {name: a}}", updated: "{kind: W, metadata: {name: a}}",
			others: []string{child("child", "c", "{kind: W, name: a, uid: u}"), child("other", "o", "{kind: W, name: b, uid: v}")},
			want:   preview.Loss{Children: []preview.Child{{Kind: "Pod", Name: "child"}}},
		},
		"children in namespaces": {
			old: "{kind: W, metadata: {name: a, uid: u}}", updated: "{kind: W, metadata: {name: a}}",
			others: []string{"{kind: Pod, metadata: {name: p, namespace: space, ownerReferences: [{kind: W, name: a, uid: u}]}}"},
			want:   preview.Loss{Children: []preview.Child{{Kind: "Pod", Name: "p", Namespace: "space"}}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var others []map[string]any
			for _, other := range test.others {
				others = append(others, yamltest.Map(t, other))
			}
			got := preview.Judgement{Old: yamltest.Map(t, test.old), New: yamltest.Map(t, test.updated)}.Loss(others)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("loss (-want +got):\n%s", diff)
			}
		})
	}
}
