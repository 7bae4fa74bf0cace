package fieldownership_test

import (
	"slices"
	"strings"
	"testing"
)

// checkAppliedTwice applies generated manifests of all kinds twice, and then a changed
// manifest. No other client writes the objects, so every warning would be false.
func checkAppliedTwice(t *testing.T, l *lab) {
	const kubectl, other = "kubectl-client-side-apply", "deployer"
	first := map[string]func(r *round, m *manifest) reply{
		"apply":       func(r *round, m *manifest) reply { return r.applyAs(r, m, kubectl) },
		"as another":  func(r *round, m *manifest) reply { return r.applyAs(r, m, other) },
		"server-side": func(r *round, m *manifest) reply { return r.applyServerSide(r, m, kubectl) },
		"save-config": func(r *round, m *manifest) reply {
			return r.create(r, m, call{command: "kubectl create", query: managedBy("kubectl-create"), body: withLastApplied(r, m.object)})
		},
	}
	applied, times := map[string]int{}, 0
	found := []source{
		{manifest: "Service load balancer", seed: 1794818996877221599, stream: 45}, // healthCheckNodePort: 0
	}
	l.rounds(t, schedule{found, 1}, func(r *round, m *manifest) {
		how := pick(r.mutator, []string{"apply", "apply", "as another", "save-config", "server-side"})
		again := r.applyAs
		if how == "server-side" {
			again = r.applyServerSide
		}
		m = r.varied(m, 6)
		r.note(how, m.object)
		if got := first[how](r, m); !got.stored() {
			r.Logf("%s, %s: %s", r.name, how, got.message())
			return
		}
		applied[m.name]++
		for _, file := range []*manifest{m, r.varied(m, 4)} {
			r.note("apply", file.object)
			got := again(r, file, kubectl)
			times++
			warnings := slices.DeleteFunc(ownershipWarnings(got.warnings), func(text string) bool {
				// The server sets this field to the time of the write if the file clears it with null, so the warning is true.
				return strings.Contains(text, " field .spec.taint.timeAdded value ")
			})
			if got.stored() && len(warnings) > 0 {
				r.fail("false warnings %q", warnings)
			}
		}
	})
	t.Logf("%d files were applied again", times)
	for _, m := range l.manifests {
		if applied[m.name] == 0 {
			t.Errorf("%s was never applied", m.name)
		}
	}
}
