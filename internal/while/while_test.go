package while_test

import (
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

	"holdfast.dev/holdfast/internal/while"
	"holdfast.dev/holdfast/internal/yamltest"
	"holdfast.dev/holdfast/schema"
)

// boat is a custom resource with a phase.
func boat(t *testing.T) *structuralschema.Structural {
	t.Helper()
	text := apiextensions.JSONSchemaProps{Type: "string"}
	s, err := structuralschema.NewStructural(&apiextensions.JSONSchemaProps{Type: "object", Properties: map[string]apiextensions.JSONSchemaProps{
		"status": {Type: "object", Properties: map[string]apiextensions.JSONSchemaProps{"phase": text}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestHolds(t *testing.T) {
	t.Parallel()
	published, _, err := schema.Decode(yamltest.Value(t, `{type: object, properties: {
		metadata: {type: object, properties: {labels: {type: object, additionalProperties: {type: string}}}},
		status: {type: object, properties: {phase: {type: string}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, compile := range map[string]func(string) (*while.Condition, error){
		"custom":   func(expression string) (*while.Condition, error) { return while.ForCustom(boat(t), expression) },
		"built-in": func(expression string) (*while.Condition, error) { return while.ForBuiltIn(published, expression) },
	} {
		t.Run(name, func(t *testing.T) {
			for expression, test := range map[string]struct {
				object string
				holds  bool
				err    string
			}{
				`oldSelf.status.phase == "Ready"`:                          {`{status: {phase: Ready}}`, true, ""},
				`oldSelf.status.phase == "Lost"`:                           {`{status: {phase: Ready}}`, false, ""},
				`oldSelf.status.phase != "Ready"`:                          {`{metadata: {name: x}}`, true, "no such key: status"},
				`has(oldSelf.status) && oldSelf.status.phase == "Ready"`:   {`{}`, false, ""},
				`"team" in oldSelf.metadata.labels`:                        {`{metadata: {labels: {team: a}}}`, true, ""},
				`oldSelf.metadata.labels.exists(l, l.startsWith("x.io/"))`: {`{metadata: {labels: {x.io/a: b}}}`, true, ""},
				// The error has no value of the object.
				`{"a": true}[oldSelf.status.phase]`:                          {`{status: {phase: hidden}}`, true, "it fails for the values of this object"},
				`"x".matches(oldSelf.status.phase + "(")`:                    {`{status: {phase: hidden}}`, true, "it fails for the values of this object"},
				`1 / (size(oldSelf.status.phase) - 6) == 1`:                  {`{status: {phase: hidden}}`, true, "division by zero"},
				`oldSelf.metadata.?labels["team"].orValue("none") == "none"`: {`{metadata: {}}`, true, ""},
			} {
				condition, err := compile(expression)
				if err != nil {
					t.Errorf("%s: %v", expression, err)
					continue
				}
				holds, err := condition.Holds(t.Context(), yamltest.Map(t, test.object))
				if holds != test.holds || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
					t.Errorf("%s for %s: %v, %v", expression, test.object, holds, err)
				}
			}
			for _, wrong := range []string{"", "self.status.phase == 'x'", "oldSelf.status.phase", "oldSelf.status.fase == 'x'", "oldSelf.status.phase == 1", "("} {
				if _, err := compile(wrong); err == nil || strings.Contains(err.Error(), "\n") {
					t.Errorf("%q: %v", wrong, err)
				}
			}
		})
	}
}
