package change_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"holdfast.dev/holdfast/internal/definition/change"
	"holdfast.dev/holdfast/internal/yamltest"
)

// versions returns a definition with several versions, each with the text of its spec. The first one is stored. An exclamation mark after a
// name means that the version is not served.
func versions(named ...string) string {
	var text strings.Builder
	text.WriteString(head)
	for i, version := range named {
		name, spec, _ := strings.Cut(version, " ")
		name, notServed := strings.CutSuffix(name, "!")
		text.WriteString("  - {name: " + name)
		if notServed {
			text.WriteString(", served: false")
		} else {
			text.WriteString(", served: true")
		}
		if i == 0 {
			text.WriteString(", storage: true")
		} else {
			text.WriteString(", storage: false")
		}
		text.WriteString(", schema: {openAPIV3Schema: {type: object, properties: {spec: " + spec + "}}}}\n")
	}
	return text.String()
}

// annotated returns a definition with a line of the annotation with rules.
func annotated(line, crd string) string {
	return strings.Replace(crd, "{name: widgets.example.com}", fmt.Sprintf("{name: widgets.example.com, annotations: {holdfast.dev/immutability: %q}}", line), 1)
}

// webhook returns a definition whose objects a webhook converts.
func webhook(crd string) string {
	return crd + "  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: https://example.com}}}\n"
}

// scaled returns a definition with the scale subresource for a field of spec.
func scaled(field, crd string) string {
	return strings.Replace(crd, ", schema:", ", subresources: {scale: {specReplicasPath: .spec."+field+", statusReplicasPath: .status.replicas}}, schema:", 1)
}

var words = map[change.Effect]string{change.Break: "break", change.Loss: "loss"}

// lists is the schema of an object with a list.
func lists(items string) string {
	return "{type: object, properties: {l: {type: array, items: " + items + "}}}"
}

// withRule is the schema of an object with a CEL rule.
func withRule(properties, rule string) string {
	return "{type: object, properties: {" + properties + "}, x-kubernetes-validations: [{rule: " + strconv.Quote(rule) + "}]}"
}

// An effect depends on the change and on the stored objects.
func TestEffects(t *testing.T) {
	const (
		a    = "{type: object, properties: {a: {type: string}}}"
		ab   = "{type: object, properties: {a: {type: string}, b: {type: string}}}"
		list = "{type: object, properties: {l: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [KEYS], " +
			"items: {type: object, required: [x, z], properties: {x: {type: string}, z: {type: string}}}}}}"
		frozen = "{type: object, properties: {a: {type: string, x-kubernetes-immutable: true}}}"
		open   = "{type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: string}}}"
		// template is a field that can be an embedded resource.
		template = "{type: object, properties: {t: {type: object, EMBEDDED properties: {x: {type: string}}}}}"
		embedded = "x-kubernetes-embedded-resource: true,"
		counted  = "{type: object, properties: {number: {type: integer}, other: {type: integer}}}"
	)
	byX, byXY := strings.Replace(list, "KEYS", "x", 1), strings.Replace(list, "KEYS", "x, z", 1)
	for name, test := range map[string]struct {
		old, updated string
		stored       []string // the spec of each object, after its version
		// want has the rule of each change that is not neutral, and its effect with these objects. never is the same without objects.
		want, never []string
	}{
		"an optional field is new":           {old: versions("v1 " + a), updated: versions("v1 " + ab), stored: []string{"v1 {a: x}"}},
		"a field is gone that an object has": {versions("v1 " + ab), versions("v1 " + a), []string{"v1 {b: x}"}, []string{"field-removed loss"}, nil},
		"a field is gone that no object has": {old: versions("v1 " + ab), updated: versions("v1 " + a), stored: []string{"v1 {a: x}"}},
		"a field is gone from a version that is not stored": {
			versions("v1 "+ab, "v2 "+ab), versions("v1 "+ab, "v2 "+a), []string{"v1 {b: x}"}, []string{"field-removed break"}, []string{"field-removed break"},
		},
		"unknown fields are dropped": {versions("v1 " + open), versions("v1 " + a), []string{"v1 {other: x}"}, []string{"pruning loss"}, nil},
		"a version is gone that is stored": {
			versions("v1 "+a, "v2 "+a), versions("v2 " + a), []string{"v1 {a: x}"}, []string{"version loss"}, []string{"version loss"},
		},
		"a version is gone that is not stored": {
			versions("v1 "+a, "v2 "+a), versions("v1 " + a), []string{"v1 {a: x}"}, []string{"version break"}, []string{"version break"},
		},
		"a version is no longer served": {
			versions("v1 "+a, "v2 "+a), versions("v1 "+a, "v2! "+a), nil, []string{"version break"}, []string{"version break"},
		},
		"the storage version lacks a field of an object": {
			versions("v1 "+ab, "v2 "+a), versions("v2 "+a, "v1 "+ab), []string{"v1 {b: x}"}, []string{"storage-version loss"}, nil,
		},
		"the storage version lacks a field that no object has": {
			old: versions("v1 "+ab, "v2 "+a), updated: versions("v2 "+a, "v1 "+ab), stored: []string{"v1 {a: x}"},
		},
		"the storage version has another type for a list of maps": {
			versions("v1 "+lists("{type: object, additionalProperties: {type: boolean}}"), "v2 "+lists("{type: string}")),
			versions("v2 "+lists("{type: string}"), "v1 "+lists("{type: object, additionalProperties: {type: boolean}}")),
			[]string{"v1 {l: [{d: true}]}"},
			[]string{"storage-version loss"},
			nil,
		},
		"the storage version has another type for a list that is empty": {
			old:     versions("v1 "+lists("{type: object, additionalProperties: {type: boolean}}"), "v2 "+lists("{type: string}")),
			updated: versions("v2 "+lists("{type: string}"), "v1 "+lists("{type: object, additionalProperties: {type: boolean}}")),
			stored:  []string{"v1 {l: []}"},
		},
		"the storage version has another type for a number": {
			old:     versions("v1 "+lists("{type: integer}"), "v2 "+lists("{type: string}")),
			updated: versions("v2 "+lists("{type: string}"), "v1 "+lists("{type: integer}")),
			stored:  []string{"v1 {l: [1]}"},
		},
		"the storage version has all fields": {old: versions("v1 "+a, "v2 "+ab), updated: versions("v2 "+ab, "v1 "+a), stored: []string{"v1 {a: x}"}},
		"list items collide": {
			versions("v1 " + byXY), versions("v1 " + byX), []string{"v1 {l: [{x: a, z: a}, {x: a, z: b}]}"}, []string{"list-type loss"}, []string{"list-type break"},
		},
		"a rule is gone":   {versions("v1 " + frozen), versions("v1 " + a), nil, []string{"marker-loosened loss"}, []string{"marker-loosened loss"}},
		"a rule is new":    {old: versions("v1 " + a), updated: versions("v1 " + frozen), stored: []string{"v1 {a: x}"}},
		"a required field": {versions("v1 " + a), versions("v1 " + strings.Replace(a, "{type: object", "{type: object, required: [a]", 1)), nil, []string{"required break"}, []string{"required break"}},
		"a required field loses its default": {
			versions("v1 " + strings.NewReplacer("{type: object", "{type: object, required: [a]", "type: string", "type: string, default: x").Replace(a)),
			versions("v1 " + strings.Replace(a, "{type: object", "{type: object, required: [a]", 1)),
			[]string{"v1 {}"},
			[]string{"required break", "default break"},
			[]string{"required break"},
		},
		"a rule is about a field that is new, with a default": {
			versions("v1 " + a), versions("v1 " + withRule("a: {type: string}, c: {type: string, default: x}", "!has(self.c) || has(self.a)")),
			[]string{"v1 {}"},
			[]string{"cel-rule break"},
			[]string{"cel-rule break"},
		},
		"null is no longer a value": {
			versions("v1 {type: object, required: [a], properties: {a: {type: string, nullable: true}}}"),
			versions("v1 {type: object, required: [a], properties: {a: {type: string}}}"),
			[]string{"v1 {a: null}"},
			[]string{"type break"},
			[]string{"type break"},
		},
		"a narrower value": {versions("v1 " + a), versions("v1 " + strings.Replace(a, "type: string", "type: string, maxLength: 3", 1)), nil, []string{"validation break"}, []string{"validation break"}},
		"a wider value":    {old: versions("v1 " + strings.Replace(a, "type: string", "type: string, maxLength: 3", 1)), updated: versions("v1 " + a)},
		"another type":     {versions("v1 " + a), versions("v1 " + strings.Replace(a, "type: string", "type: integer", 1)), nil, []string{"type break"}, []string{"type break"}},
		"a version with a rule is removed": {
			versions("v1 "+a, "v2 "+frozen), versions("v1 " + a),
			[]string{"v1 {a: x}"},
			[]string{"version break", "marker-loosened loss"},
			[]string{"version break", "marker-loosened loss"},
		},
		"a version with a rule is no longer served": {
			versions("v1 "+a, "v2 "+frozen), versions("v1 "+a, "v2! "+frozen), nil,
			[]string{"version break", "marker-loosened loss"},
			[]string{"version break", "marker-loosened loss"},
		},
		"a version with a rule is removed, and another one has the rule": {
			versions("v1 "+frozen, "v2 "+frozen), versions("v1 " + frozen), nil, []string{"version break"}, []string{"version break"},
		},
		"a version with a rule is removed that was not served": {old: versions("v1 "+a, "v2! "+frozen), updated: versions("v1 " + a)},
		"a version is removed that a line of the annotation names": {
			annotated("v2: immutable spec.a", versions("v1 "+a, "v2 "+a)), annotated("v2: immutable spec.a", versions("v1 "+a)), nil,
			[]string{"version break", "marker-loosened loss"},
			[]string{"version break", "marker-loosened loss"},
		},
		"a version is removed together with the line of the annotation about deletions": {
			annotated("v2: no-delete", versions("v1 "+a, "v2 "+a)), versions("v1 " + a),
			[]string{"v1 {}"},
			[]string{"version break", "marker-loosened loss"},
			[]string{"version break", "marker-loosened loss"},
		},
		"a version is removed, and the line of the annotation is about both": {
			annotated("immutable spec.a", versions("v1 "+a, "v2 "+a)), annotated("immutable spec.a", versions("v1 "+a)), nil,
			[]string{"version break"},
			[]string{"version break"},
		},
		"a field becomes an embedded resource": {
			versions("v1 " + strings.Replace(template, "EMBEDDED", "", 1)), versions("v1 " + strings.Replace(template, "EMBEDDED", embedded, 1)),
			[]string{"v1 {t: {x: y}}"},
			[]string{"validation break"},
			[]string{"validation break"},
		},
		"a field is an embedded resource no longer": {
			versions("v1 " + strings.Replace(template, "EMBEDDED", embedded, 1)), versions("v1 " + strings.Replace(template, "EMBEDDED", "", 1)),
			[]string{"v1 {t: {apiVersion: v1, kind: Pod, x: y}}"},
			[]string{"field-removed loss", "field-removed loss"},
			nil,
		},
		"a webhook goes that kept a field of an earlier version": {
			webhook(versions("v2 "+a, "v1 "+ab)), versions("v2 "+a, "v1 "+ab),
			[]string{"v1 {b: x}"},
			[]string{"conversion break", "storage-version loss"},
			[]string{"conversion break"},
		},
		"a version lacks a field of an earlier one as before": {
			old: versions("v2 "+a, "v1 "+ab), updated: versions("v2 "+a, "v1 "+ab), stored: []string{"v1 {b: x}"},
		},
		"a scale subresource is new, and an object has a negative number": {
			versions("v1 " + counted), scaled("number", versions("v1 "+counted)), []string{"v1 {number: -1}"}, []string{"subresource break"}, nil,
		},
		"a scale subresource is new, and an object has a number": {
			old: versions("v1 " + counted), updated: scaled("number", versions("v1 "+counted)), stored: []string{"v1 {number: 1}"},
		},
		"a scale subresource has another path": {
			scaled("other", versions("v1 "+counted)), scaled("number", versions("v1 "+counted)), []string{"v1 {number: -1}"}, []string{"subresource break"}, nil,
		},
		"logic that objects break": {
			versions("v1 " + a), versions("v1 " + strings.Replace(a, "type: string", "type: string, not: {enum: [x]}", 1)),
			[]string{"v1 {a: x}"},
			[]string{"not-comparable break"},
			nil,
		},
	} {
		oldCRD, newCRD := read(t, test.old), read(t, test.updated)
		for _, object := range test.stored {
			if version, _, _ := strings.Cut(object, " "); !slices.Contains(oldCRD.Status.StoredVersions, version) {
				oldCRD.Status.StoredVersions = append(oldCRD.Status.StoredVersions, version)
			}
		}
		changes := change.Compare(t.Context(), oldCRD, newCRD)
		var objects []map[string]any
		for _, object := range test.stored {
			version, spec, _ := strings.Cut(object, " ")
			objects = append(objects, yamltest.Map(t, "{apiVersion: example.com/"+version+", kind: Widget, metadata: {name: a}, spec: "+spec+"}"))
		}
		hits := compiled(t, oldCRD, newCRD).Hits(t.Context(), changes, objects)
		var got, never []string
		for i, c := range changes {
			if effect := c.Effect(hits[i]); effect != change.Neutral {
				got = append(got, c.Rule+" "+words[effect])
			}
			if effect := c.Effect(0); effect != change.Neutral {
				never = append(never, c.Rule+" "+words[effect])
			}
			if c.Effect(0) != c.Effect(1) && !c.NeedsObjects() {
				t.Errorf("%s: objects are not read for %s", name, c.Rule)
			}
		}
		if !slices.Equal(got, test.want) || !slices.Equal(never, test.never) {
			t.Errorf("%s: %v and without objects %v, want %v and %v; all: %+v", name, got, never, test.want, test.never, changes)
		}
	}
}

// MayRefuse finds the changes after which a stored object may be refused, without the object.
func TestMayRefuse(t *testing.T) {
	const a = "{type: object, properties: {a: {type: string}}}"
	spec := func(keywords string) string { return "v1 {type: object, " + keywords + "}" }
	for name, test := range map[string]struct {
		old, updated []string
		want         bool
	}{
		"nothing": {[]string{"v1 " + a}, []string{"v1 " + a}, false},
		"an optional field, that an object may have since an earlier definition": {[]string{"v1 " + a}, []string{spec("properties: {a: {type: string}, b: {type: string, maxLength: 3}}")}, true},
		"a description":           {[]string{"v1 " + a}, []string{spec("properties: {a: {type: string, description: x}}")}, false},
		"a wider limit":           {[]string{spec("properties: {a: {type: string, maxLength: 3}}")}, []string{spec("properties: {a: {type: string, maxLength: 4}}")}, false},
		"a narrower limit":        {[]string{spec("properties: {a: {type: string, maxLength: 3}}")}, []string{spec("properties: {a: {type: string, maxLength: 2}}")}, true},
		"a required field":        {[]string{"v1 " + a}, []string{spec("required: [a], properties: {a: {type: string}}")}, true},
		"a required new field":    {[]string{"v1 " + a}, []string{spec("required: [b], properties: {a: {type: string}, b: {type: string}}")}, true},
		"another type":            {[]string{"v1 " + a}, []string{spec("properties: {a: {type: integer}}")}, true},
		"a rule":                  {[]string{"v1 " + a}, []string{spec("x-kubernetes-validations: [{rule: self.a != 'x'}], properties: {a: {type: string}}")}, true},
		"a field is gone":         {[]string{"v1 " + a}, []string{spec("properties: {}")}, true},
		"the default of a field":  {[]string{spec("required: [a], properties: {a: {type: string, default: x}}")}, []string{spec("required: [a], properties: {a: {type: string}}")}, true},
		"a default":               {[]string{"v1 " + a}, []string{spec("properties: {a: {type: string, default: x}}")}, true},
		"a set":                   {[]string{spec("properties: {a: {type: array, items: {type: string}}}")}, []string{spec("properties: {a: {type: array, x-kubernetes-list-type: set, items: {type: string}}}")}, true},
		"a version":               {[]string{"v1 " + a}, []string{"v1 " + a, "v2 " + a}, false},
		"another storage version": {[]string{"v1 " + a, "v2 " + a}, []string{"v2 " + a, "v1 " + a}, true},
		"a version is gone":       {[]string{"v1 " + a, "v2 " + a}, []string{"v1 " + a}, true},
		"null is no longer a value": {
			[]string{spec("required: [a], properties: {a: {type: string, nullable: true}}")}, []string{spec("required: [a], properties: {a: {type: string}}")}, true,
		},
		"a new field with a default": {[]string{"v1 " + a}, []string{spec("properties: {a: {type: string}, b: {type: string, default: x}}")}, true},
		"a marker":                   {[]string{"v1 " + a}, []string{spec("properties: {a: {type: string, x-kubernetes-immutable: true}}")}, false},
		"unknown fields are named":   {[]string{spec("x-kubernetes-preserve-unknown-fields: true")}, []string{spec("x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: string}}")}, true},
	} {
		if got := change.MayRefuse(read(t, versions(test.old...)), read(t, versions(test.updated...))); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if !change.MayRefuse(read(t, versions("v1 "+a)), read(t, webhook(versions("v1 "+a)))) {
		t.Error("a webhook decides by which version an object is judged")
	}
}

// A default can make an object break a rule about another field. The objects are then read, and the object is refused.
func TestDefaultsAndOtherRules(t *testing.T) {
	const rule = "self.a != 'w' || has(self.b)"
	for name, test := range map[string]struct{ old, updated string }{
		"a default goes that a rule reads": {
			withRule("a: {type: string, default: x}, b: {type: string}", rule), withRule("a: {type: string}, b: {type: string}", rule),
		},
		"a default is new": {
			withRule("a: {type: string}, b: {type: string}", "!has(self.a)"), withRule("a: {type: string, default: x}, b: {type: string}", "!has(self.a)"),
		},
		"a field is new, with a default that a limit counts": {
			"{type: object, maxProperties: 0, properties: {a: {type: string}}}",
			"{type: object, maxProperties: 0, properties: {a: {type: string}, b: {type: string, default: x}}}",
		},
	} {
		oldCRD, newCRD := read(t, versions("v1 "+test.old)), read(t, versions("v1 "+test.updated))
		if !slices.ContainsFunc(change.Accepted(oldCRD, newCRD), change.Change.NeedsObjects) {
			t.Errorf("%s: no object is read", name)
		}
		object := yamltest.Map(t, "{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}, spec: {}}")
		if got := compiled(t, oldCRD, newCRD).Examine(t.Context(), object).Refused; !slices.Equal(got, []string{"spec"}) {
			t.Errorf("%s: refused at %q", name, got)
		}
	}
}
