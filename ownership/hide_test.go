package ownership_test

import (
	"strings"
	"testing"

	"holdfast.dev/holdfast/ownership"
)

// A hidden verdict names fields and owners, and no values.
func TestHide(t *testing.T) {
	tests := map[string]struct {
		applied, live, updated string
		writer                 ownership.Writer
		want                   string
	}{
		"changed": {`{"spec":{"a":"stored-z"}}`, `{spec: {a: stored-x}}`, `{spec: {a: y}}`, person, "field .spec.a value"},
		"removed": {`{"spec":{"a":"stored-z"}}`, `{spec: {a: stored-x}}`, `{spec: {}}`, person, "field .spec.a value"},
		"edited": {
			`{"spec":{"a":"stored-z"}}`, `{spec: {a: stored-x}}`, `{spec: {a: y}}`,
			ownership.Writer{Act: ownership.Edit, Command: "kubectl edit", Exact: true},
			"managed by `kubectl apply`",
		},
		"malformed": {`{"stored": `, `{spec: {a: stored-x}}`, `{spec: {a: y}}`, person, "ownership not checked: "},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			verdict := ownership.Judge(ownership.Write{
				Type: loose, Writer: test.writer, Live: object(t, test.applied, test.live), New: object(t, test.applied, test.updated),
			}, nil)
			if !verdict.ShowsValues() {
				t.Fatal("it shows no values")
			}
			verdict.Hide()
			texts := verdict.Warnings()
			for _, refusal := range verdict.Refusals() {
				texts = append(texts, refusal.Message)
			}
			told := strings.Join(texts, "\n")
			if strings.Contains(told, "stored") || strings.Contains(told, "<none>") || !strings.Contains(told, test.want) {
				t.Errorf("it says %s", told)
			}
		})
	}
	const applied = `{"spec":{"a":1}}`
	free := ownership.Judge(ownership.Write{
		Type: loose, Writer: person, Live: object(t, applied, `{spec: {a: 1}}`), New: object(t, applied, `{spec: {a: 1, b: 2}}`),
	}, nil)
	if free.ShowsValues() {
		t.Error("a verdict without findings shows values")
	}
}
