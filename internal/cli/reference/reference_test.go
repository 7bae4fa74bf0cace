package reference_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"holdfast.dev/holdfast/internal/cli/reference"
)

// TestNames checks where the names of the reference come from, and that none is without a
// description.
func TestNames(t *testing.T) {
	tests := map[string]struct{ source, want string }{
		"an annotation": {
			"// Wait is the annotation\n// that waits.\nconst Wait = \"holdfast.dev/wait\"", "| `holdfast.dev/wait` | The annotation that waits. |",
		},
		"a sum": {
			"const (\n\tprefix = \"holdfast.dev/\"\n\t// check names a hook.\n\tcheck = prefix + \"check\"\n)",
			"| `holdfast.dev/check` | Names a hook. |",
		},
		"a condition": {
			"// Ready is true later.\nconst Ready v1.PodConditionType = \"holdfast.dev/Ready\"", "| `holdfast.dev/Ready` | True later. |",
		},
		"a metric in options": {
			`var _ = Opts{Name: "holdfast_writes_total", Help: "Writes."}`, "| `holdfast_writes_total` | Writes. |",
		},
		"a metric by a call": {
			`var _ = prometheus.NewDesc("holdfast_writes_total", "Writes.", nil)`, "| `holdfast_writes_total` | Writes. |",
		},
		"a reason": {
			`var _ = Condition{Reason: "AgentReady"}`, "| `AgentReady` | The condition `Ready` of a Node: an agent writes volumes there. |",
		},
		"a media type": {
			"// MediaType is the media type\n// of a report.\nconst MediaType = \"application/json;as=Report\"",
			"| `application/json;as=Report` | The media type of a report. |",
		},
		"an error": {`var _ = apierrors.NewNotFound(x)`, "| `404` | `NotFound` |"},
		"an exit code": {
			"// ExitUnable is the code of a failure.\nconst ExitUnable = 2", "| `2` | The code of a failure. |",
		},
	}
	for name, test := range tests {
		got, err := reference.Names(fstest.MapFS{"internal/cli/command/one.go": {Data: []byte("package one\n\n" + test.source + "\n")}})
		if err != nil || !strings.Contains(got, test.want) {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
	for name, source := range map[string]string{
		"an annotation without a comment":  `const Wait = "holdfast.dev/wait"`,
		"a metric without help":            `var _ = Opts{Name: "holdfast_writes_total"}`,
		"a reason that is not in the list": `var _ = Condition{Reason: "Teatime"}`,
		"an error that is not in the list": `var _ = apierrors.NewTeapot(x)`,
	} {
		if got, err := reference.Names(fstest.MapFS{"internal/cli/command/one.go": {Data: []byte("package one\n\n" + source + "\n")}}); err == nil {
			t.Errorf("%s: no error:\n%s", name, got)
		}
	}
}
