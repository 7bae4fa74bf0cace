package collection_test

import (
	"strings"
	"testing"

	"holdfast.dev/holdfast/internal/yamltest"
)

// TestHistoryCheck plants wrong deletions in a history, which the check of the model test must find.
func TestHistoryCheck(t *testing.T) {
	t.Parallel()
	configMap := func(revision string) string { return `{metadata: {name: a, resourceVersion: "` + revision + `"}}` }
	pod := func(revision, name string) string {
		return `{metadata: {name: p, resourceVersion: "` + revision + `"}, spec: {volumes: [{configMap: {name: ` + name + `}}]}}`
	}
	type change struct {
		resource, object string
		deleted          bool
	}
	for name, test := range map[string]struct {
		changes []change
		wrong   string
	}{
		"in use": {
			[]change{{"configmaps", configMap("1"), false}, {"pods", pod("2", "a"), false}, {"configmaps", configMap("3"), true}},
			"configmaps/a was deleted at revision 3, and pods/p of revision 2 referred to it",
		},
		"in use until later": {
			[]change{{"configmaps", configMap("1"), false}, {"pods", pod("2", "a"), false}, {"configmaps", configMap("3"), true}, {"pods", pod("4", "b"), false}},
			"configmaps/a was deleted at revision 3, and pods/p of revision 2 referred to it",
		},
		"deleted twice": {
			[]change{{"configmaps", configMap("1"), true}, {"pods", pod("2", "a"), false}, {"configmaps", configMap("3"), false}, {"configmaps", configMap("4"), true}},
			"configmaps/a was deleted at revision 4, and pods/p of revision 2 referred to it",
		},
		"no longer in use": {
			[]change{{"pods", pod("1", "a"), false}, {"pods", pod("2", "b"), false}, {"configmaps", configMap("3"), true}}, "",
		},
		"the pod is gone": {[]change{{"pods", pod("1", "a"), false}, {"pods", pod("2", "a"), true}, {"configmaps", configMap("3"), true}}, ""},
		"in use later":    {[]change{{"configmaps", configMap("1"), true}, {"pods", pod("2", "a"), false}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &history{versions: map[string][]version{}}
			for _, c := range test.changes {
				h.add(c.resource, yamltest.Object(t, c.object), c.deleted)
			}
			deleted, wrong := h.check()
			if deleted == 0 || strings.Join(wrong, "\n") != test.wrong {
				t.Errorf("%d deleted, wrong is %q, want %q", deleted, wrong, test.wrong)
			}
		})
	}
}
