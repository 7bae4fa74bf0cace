package lint_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/operator/lint"
	"holdfast.dev/holdfast/operator/pack"
)

// findings verifies and lints a package.
func findings(t *testing.T, location string) []string {
	t.Helper()
	p, err := pack.Load(location)
	if err != nil {
		t.Fatal(err)
	}
	for _, finding := range p.Verify() {
		t.Errorf("%s: %s: %s", location, finding.Severity, finding)
	}
	found, err := lint.Frozen(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, finding := range found {
		lines = append(lines, finding.String())
	}
	return lines
}

// TestFrozen lints a package with one mistake in most of its parameters.
func TestFrozen(t *testing.T) {
	const end = ", which cannot change, but is not immutable"
	const set = ` of StatefulSet instance (templates/statefulset.yaml)` + end
	want := []string{
		`params.yaml: parameters[0]: parameter "POD_POLICY" flows into spec.podManagementPolicy` + set,
		`params.yaml: parameters[1]: parameter "DISK_SIZE" flows into spec.volumeClaimTemplates` + set,
		`params.yaml: parameters[2]: parameter "STORAGE_CLASS" flows into spec.volumeClaimTemplates` + set,
		`params.yaml: parameters[3]: parameter "PERSISTENT" flows into spec.volumeClaimTemplates` + set,
		`params.yaml: parameters[4]: parameter "SERVICE_NAME" flows into spec.serviceName` + set,
		`params.yaml: parameters[5]: parameter "TIER" flows into spec.selector` + set,
		`params.yaml: parameters[6]: parameter "CACHE_CLASS" flows into spec.storageClassName` +
			` of PersistentVolumeClaim instance-cache (templates/cache.yaml)` + end,
	}
	if diff := cmp.Diff(want, findings(t, "testdata/frozen")); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

// TestFrozenCorrected lints the same package with these parameters marked immutable.
func TestFrozenCorrected(t *testing.T) {
	if got := findings(t, "testdata/corrected"); got != nil {
		t.Errorf("found %s", strings.Join(got, "\n"))
	}
}

func TestFrozenUnrenderable(t *testing.T) {
	p, err := pack.Files{
		"operator.yaml":    []byte("name: a\noperatorVersion: 0.1.0\ntasks: [{name: a, kind: Apply, spec: {resources: [a.yaml]}}]"),
		"templates/a.yaml": []byte("{{ fail \"no such mode\" }}"),
	}.Parse()
	if err != nil {
		t.Fatal(err)
	}
	_, err = lint.Frozen(t.Context(), p)
	if err == nil || !strings.HasPrefix(err.Error(), "templates/a.yaml:1:") || !strings.Contains(err.Error(), "no such mode") {
		t.Errorf("got %v", err)
	}
}
