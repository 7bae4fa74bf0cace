package lint_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/operator/lint"
	"holdfast.dev/holdfast/internal/operator/pack"
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

// TestFrozenWithoutDefaults lints templates with arrays and maps that have no default. They
// are rendered with null and with example values.
func TestFrozenWithoutDefaults(t *testing.T) {
	p, err := pack.Files{
		"operator.yaml": []byte("name: a\noperatorVersion: 0.1.0\ntasks: [{name: a, kind: Apply, spec: {resources: [a.yaml, b.yaml]}}]"),
		"params.yaml":   []byte("parameters: [{name: MODES, type: array}, {name: CLASS, default: slow}]"),
		"templates/a.yaml": []byte(`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a}, spec: {
			{{ if .Params.MODES }} storageClassName: {{ .Params.CLASS }}, {{ end }} accessModes: {{ toJson .Params.MODES }}}}`),
		"templates/b.yaml": []byte(`{apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: {a: {{ index .Params.MODES 0 }}}}`),
	}.Parse()
	if err != nil {
		t.Fatal(err)
	}
	found, err := lint.Frozen(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, finding := range found {
		got = append(got, finding.String())
	}
	const end = " of PersistentVolumeClaim a (templates/a.yaml), which cannot change, but is not immutable"
	want := []string{
		`templates/b.yaml: cannot be rendered while an array or map without a default has no value: templates/b.yaml:1:68: ` +
			`executing "b.yaml" at <index .Params.MODES 0>: error calling index: reflect: slice index out of range`,
		`params.yaml: parameters[0]: parameter "MODES" flows into spec.accessModes[0]` + end,
		`params.yaml: parameters[0]: parameter "MODES" flows into spec.accessModes[1]` + end,
		`params.yaml: parameters[1]: parameter "CLASS" flows into spec.storageClassName` + end,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
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
