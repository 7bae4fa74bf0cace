package ownership_test

import (
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/yamltest"
	"holdfast.dev/holdfast/ownership"
)

// The warnings about a reference that the manager of a series set name the command, and what to write into the manifest.
func TestSeries(t *testing.T) {
	set := ownership.Source{Name: "holdfast-series-settings", Time: time.Unix(1, 0)}
	apply := ownership.ParseWriter(ownership.Request{Command: "kubectl apply"})
	entry := func(fields string) []metav1.ManagedFieldsEntry {
		return []metav1.ManagedFieldsEntry{{Manager: set.Name, Operation: "Apply", FieldsV1: metav1.NewFieldsV1(fields)}}
	}
	const before = "`kubectl apply` is changing the resource example.dev/Widget/w field .spec.a value from "
	tests := map[string]struct {
		writer                 ownership.Writer
		applied, live, updated string
		managers               []metav1.ManagedFieldsEntry
		want                   []string
	}{
		"a name": {apply, `{"spec":{"a":"one"}}`, `{spec: {a: two}}`, `{spec: {a: one}}`, nil, []string{
			before + `"two" to "one".  This field's value does not match the last value set by ` + "`apply` (\"one\"), and another source may have " +
				"updated this field.  `holdfast series roll settings` (or rollback) set it at 1970-01-01T00:00:01Z, and the manifest sets it back.  " +
				`To keep it, write "two" into the manifest.`,
		}},
		"a list": {apply, `{"spec":{"a":["one"]}}`, `{spec: {a: [two]}}`, `{spec: {a: [one]}}`, nil, []string{
			before + `["two"] to ["one"].  This field's value does not match the last value set by ` + "`apply` ([\"one\"]), and another source may " +
				"have updated this field.  `holdfast series roll settings` (or rollback) set it at 1970-01-01T00:00:01Z, and the manifest sets it " +
				"back.  To keep it, write this field as the object has it now into the manifest.",
		}},
		"many": {
			apply, `{"spec":{"a":"1","b":"1","c":"1","d":"1"}}`, `{spec: {a: "2", b: "2", c: "2", d: "2"}}`, `{spec: {a: "1", b: "1", c: "1", d: "1"}}`,
			nil,
			[]string{
				"`kubectl apply` is changing 4 fields of the resource example.dev/Widget/w.  Their values do not match the last values set by `apply`, " +
					"and another source may have updated these fields.  `holdfast series roll settings` (or rollback) set references among them, and " +
					"the manifest sets them back.  To keep them, write the names that the object has now into the manifest.",
				`example.dev/Widget/w .spec.a: "2" → "1" (apply: "1"; last set by holdfast-series-settings at 1970-01-01T00:00:01Z)`,
				`example.dev/Widget/w .spec.b: "2" → "1" (apply: "1"; last set by holdfast-series-settings at 1970-01-01T00:00:01Z)`,
				`example.dev/Widget/w .spec.c: "2" → "1" (apply: "1"; last set by holdfast-series-settings at 1970-01-01T00:00:01Z)`,
				`example.dev/Widget/w .spec.d: "2" → "1" (apply: "1"; last set by holdfast-series-settings at 1970-01-01T00:00:01Z)`,
			},
		},
		"a patch": {person, "", `{spec: {a: two}}`, `{spec: {a: one}}`, entry(`{"f:spec":{"f:a":{}}}`), []string{
			"`kubectl patch` changed the resource / field .spec.a value from \"two\" to \"one\".  This field is managed by server-side apply " +
				"(holdfast-series-settings) (last set the field to \"two\").  `holdfast series roll settings` (or rollback) set it, and is the way to change it.",
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			write := ownership.Write{Type: loose, Writer: test.writer, LiveManagers: test.managers}
			if test.applied == "" {
				write.Live, write.New = yamltest.Map(t, test.live), yamltest.Map(t, test.updated)
			} else {
				write.Live, write.New = object(t, test.applied, test.live), object(t, test.applied, test.updated)
			}
			verdict := ownership.Judge(write, nil)
			for i := range verdict.Findings {
				verdict.Findings[i].LastSet = set
			}
			if diff := cmp.Diff(test.want, verdict.Warnings()); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			for _, line := range verdict.Warnings() {
				if !ownership.IsWarning(line) {
					t.Errorf("not recognized: %s", line)
				}
			}
		})
	}
}

func TestConflictWarnings(t *testing.T) {
	conflict := func(manager, field string) metav1.StatusCause {
		return metav1.StatusCause{
			Type: metav1.CauseTypeFieldManagerConflict, Message: `conflict with "` + manager + `" using apps/v1`, Field: field,
		}
	}
	got := ownership.ConflictWarnings("deployments.apps/web -n default", []metav1.StatusCause{
		conflict("ci", ".spec.replicas"), conflict("holdfast-series-settings", ".spec.a"),
		{Message: `conflict with "holdfast-series-settings"`},
		conflict("holdfast-series-", ".spec.b"),
	})
	want := []string{
		"`holdfast series roll settings` (or rollback) set deployments.apps/web -n default .spec.a, and the manifest would set it back.  Write the name that the object has now " +
			"into the manifest, or set it back with --force-conflicts.",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// The last line of too many conflicts names the object too: kubectl prints equal lines of several objects once.
func TestManyConflictWarnings(t *testing.T) {
	var causes []metav1.StatusCause
	for range 40 {
		causes = append(causes, metav1.StatusCause{
			Type: metav1.CauseTypeFieldManagerConflict, Message: `conflict with "holdfast-series-settings" using apps/v1`, Field: ".spec.a",
		})
	}
	got := ownership.ConflictWarnings("deployments.apps/web -n default", causes)
	last := got[len(got)-1]
	if !regexp.MustCompile(`^and [0-9]+ more fields of deployments.apps/web -n default$`).MatchString(last) || !ownership.IsWarning(last) {
		t.Errorf("the last of %d lines is %q", len(got), last)
	}
}
