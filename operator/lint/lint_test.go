package lint_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/operator/lint"
	"holdfast.dev/holdfast/operator/pack"
)

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

func TestFrozen(t *testing.T) {
	const end = ", which cannot change, but is not immutable"
	want := []string{
		`params.yaml: parameters[0]: parameter "POD_POLICY" flows into spec.podManagementPolicy of StatefulSet instance (templates/statefulset.yaml)` + end,
		`params.yaml: parameters[1]: parameter "DISK_SIZE" flows into spec.volumeClaimTemplates of StatefulSet instance (templates/statefulset.yaml)` + end,
		`params.yaml: parameters[2]: parameter "STORAGE_CLASS" flows into spec.volumeClaimTemplates of StatefulSet instance (templates/statefulset.yaml)` + end,
		`params.yaml: parameters[3]: parameter "PERSISTENT" flows into spec.volumeClaimTemplates of StatefulSet instance (templates/statefulset.yaml)` + end,
		`params.yaml: parameters[4]: parameter "SERVICE_NAME" flows into spec.serviceName of StatefulSet instance (templates/statefulset.yaml)` + end,
		`params.yaml: parameters[5]: parameter "TIER" flows into spec.selector of StatefulSet instance (templates/statefulset.yaml)` + end,
		`params.yaml: parameters[6]: parameter "CACHE_CLASS" flows into spec.storageClassName of PersistentVolumeClaim instance-cache (templates/cache.yaml)` + end,
	}
	if diff := cmp.Diff(want, findings(t, "testdata/frozen")); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

func TestFrozenMended(t *testing.T) {
	if got := findings(t, "testdata/mended"); got != nil {
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
	if _, err := lint.Frozen(t.Context(), p); err == nil || !strings.HasPrefix(err.Error(), "templates/a.yaml:1:") || !strings.Contains(err.Error(), "no such mode") {
		t.Errorf("got %v", err)
	}
}
