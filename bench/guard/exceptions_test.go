package guard

import (
	"io"
	"strings"
	"testing"
)

// TestExplain checks which differences from our server are errors.
func TestExplain(t *testing.T) {
	refused := func(causes ...cause) outcome {
		return outcome{code: 400, text: "cannot be changed this way", causes: causes}
	}
	kept := func(code int) outcome { return outcome{code: code, text: `the rule "no-delete" keeps it`} }
	accepted := outcome{accepted: true, code: 200, text: "{}"}
	same := outcome{accepted: true, unchanged: true, code: 200, text: "{}"}
	note := cause{"spec.note", "field is immutable: added null"}
	time := cause{"spec.launched", "field is immutable: changed " + fromTo(`"`+utc+`"`, `"`+abroad+`"`)[0]}
	for name, test := range map[string]struct {
		difference
		explained bool
	}{
		"equal":                          {difference{webhook, "kubectl patch", refused(note), refused(note)}, true},
		"accepted by the guard":          {difference{webhook, "kubectl patch", refused(note), accepted}, false},
		"refused by the guard":           {difference{webhook, "kubectl patch", accepted, refused(note)}, false},
		"the schema first":               {difference{webhook, "kubectl patch", refused(note), outcome{code: 422, text: "Ship is invalid: spec.size"}}, true},
		"another text of the guard":      {difference{webhook, "kubectl patch", refused(note), outcome{code: 400, text: "no"}}, false},
		"another text of a policy":       {difference{policy, "kubectl patch", refused(note), outcome{code: 422, text: "no"}}, true},
		"accepted by a policy":           {difference{policy, "kubectl patch", refused(note), accepted}, false},
		"null for CEL":                   {difference{cel, "kubectl patch", refused(note), accepted}, true},
		"null and a time for CEL":        {difference{cel, "kubectl patch", refused(note, time), accepted}, true},
		"null and another field for CEL": {difference{cel, "kubectl patch", refused(note, cause{"spec.size", "field is immutable: removed"}), accepted}, false},
		"another value for CEL":          {difference{cel, "kubectl patch", refused(cause{"spec.note", `field is immutable: removed "a"`}), accepted}, false},
		"stored on one server":           {difference{cel, "write 1: PATCH ships/scale merge", same, accepted}, true},
		"stored on our server":           {difference{cel, "PATCH ships/scale merge", accepted, same}, false},
		"stored, not the scale":          {difference{cel, "PATCH ships/ merge", same, accepted}, false},
		"recreated":                      {difference{cel, "kubectl apply -f a --force", refused(note), accepted}, true},
		"rules that CEL cannot say":      {difference{cel, "schema compile --to cel: no-delete", same, outcome{code: 1, text: "does not see deletions"}}, true},
		"a rule that does not compile":   {difference{cel, "schema compile --to cel: immutable a", same, outcome{code: 1, text: "a: no such field"}}, false},
		"a kept object":                  {difference{policy, "no-delete: Pod: DELETE", kept(409), kept(422)}, true},
		"a kept object that is deleted":  {difference{policy, "no-delete: Pod: DELETE", kept(409), accepted}, false},
		"refused by CEL":                 {difference{cel, "kubectl patch", accepted, refused(note)}, false},
	} {
		trial := newTrial(t.TempDir(), Settings{Out: io.Discard})
		if err := trial.explain(test.difference); (err == nil) != test.explained {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestUnusedExceptions checks that an exception that explains nothing is an error.
func TestUnusedExceptions(t *testing.T) {
	trial := newTrial(t.TempDir(), Settings{Out: io.Discard})
	for _, e := range trial.known[1:] {
		for _, name := range e.clusters {
			e.used[name] = 1
		}
	}
	if err := trial.unusedExceptions(); err == nil || !strings.Contains(err.Error(), trial.known[0].name) {
		t.Errorf("got %v", err)
	}
	trial.known[0].used[webhook] = 1
	if err := trial.unusedExceptions(); err != nil {
		t.Error(err)
	}
}

// TestSeed checks that a seed gives the same writes again.
func TestSeed(t *testing.T) {
	writes := func(seed uint64) string {
		trial := newTrial(t.TempDir(), Settings{Seed: seed})
		text := ""
		for spec := trial.newShip(); len(text) < 10_000; spec = trial.newShip() {
			text += trial.nextWrite(spec).String() + "\n"
		}
		return text
	}
	if first, again := writes(1), writes(1); first != again || first == writes(2) {
		t.Error("the writes do not depend on the seed alone")
	}
}
