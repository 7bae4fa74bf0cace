package fieldset

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAudit corrupts sets in each way that a write to shared memory can.
func TestAudit(t *testing.T) {
	t.Parallel()
	for name, corrupt := range map[string]func(*Sets, map[string]any){
		"right":                     func(*Sets, map[string]any) {},
		"right, and left the cache": func(s *Sets, kept map[string]any) { delete(s.bySet, pointerTo(kept)) },
		"a field more":              func(_ *Sets, kept map[string]any) { kept["f:wrong"] = map[string]any{} },
		"a field less":              func(_ *Sets, kept map[string]any) { delete(kept, "f:a") },
		"its text":                  func(s *Sets, kept map[string]any) { s.bySet[pointerTo(kept)][3] = 'x' },
		"the text that is written": func(s *Sets, kept map[string]any) {
			s.bySet[pointerTo(kept)] = []byte(`{"f:wrong":{}}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sets, _ := newSets()
			for _, text := range []string{`{"f:b":{}}`, `{"f:a":{"k:{\"name\":\"x\"}":{".":{}}}}`} {
				if _, err := sets.Decode([]byte(text)); err != nil {
					t.Fatal(err)
				}
			}
			kept := sets.Find([]byte(`{"f:a":{"k:{\"name\":\"x\"}":{".":{}}}}`))
			corrupt(sets, kept)
			audit, ok := sets.Audited()[0].(audited)
			if !ok {
				t.Fatal("no audit")
			}
			wrong := 0
			for _, one := range audit.sets.byText.Entries() {
				if !audit.isRight(one) {
					wrong++
				}
			}
			want := 1
			if strings.HasPrefix(name, "right") {
				want = 0
			}
			if wrong != want {
				t.Errorf("%d wrong sets, want %d", wrong, want)
			}
			audit.Drop()
			if len(sets.bySet) != 0 || sets.Find([]byte(`{"f:b":{}}`)) != nil {
				t.Error("a set is left")
			}
			again, err := sets.Decode([]byte(`{"f:b":{}}`))
			if diff := cmp.Diff(map[string]any{"f:b": map[string]any{}}, again); diff != "" || err != nil {
				t.Errorf("%v, -want +got:\n%s", err, diff)
			}
		})
	}
}
