package managers_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/managers"
	"holdfast.dev/holdfast/ownership"
)

// entries reads managed fields: one line for each entry, with its operation, its manager, its
// subresource after a slash, and its fields.
func entries(t *testing.T, text string) []metav1.ManagedFieldsEntry {
	t.Helper()
	var out []metav1.ManagedFieldsEntry
	for line := range strings.Lines(strings.TrimSpace(text)) {
		words := strings.SplitN(strings.TrimSpace(line), " ", 3)
		manager, subresource, _ := strings.Cut(words[1], "/")
		out = append(out, metav1.ManagedFieldsEntry{
			Operation: metav1.ManagedFieldsOperationType(words[0]), Manager: manager, Subresource: subresource,
			APIVersion: "apps/v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(words[2]),
		})
	}
	return out
}

// linesOf is the reverse of entries.
func linesOf(entries []metav1.ManagedFieldsEntry) string {
	var lines []string
	for _, entry := range entries {
		manager := entry.Manager
		if entry.Subresource != "" {
			manager += "/" + entry.Subresource
		}
		lines = append(lines, fmt.Sprintf("%s %s %s", entry.Operation, manager, entry.FieldsV1.GetRawString()))
	}
	return strings.Join(lines, "\n")
}

// TestField moves one field between the entries of managed fields.
func TestField(t *testing.T) {
	const ports = `{"f:spec":{"f:ports":{"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:name":{}}}}}`
	tests := map[string]struct {
		// to is "" to release the field, or the manager that gets it.
		entries, field, to string
		want               string
	}{
		"release": {
			`Apply ci {"f:spec":{"f:paused":{},"f:replicas":{}}}`, ".spec.replicas", "",
			`Apply ci {"f:spec":{"f:paused":{}}}` + "\n" + `Update holdfast-transfer {"f:spec":{"f:replicas":{}}}`,
		},
		"release the last field": {
			`Apply ci {"f:spec":{"f:replicas":{}}}`, ".spec.replicas", "", `Update holdfast-transfer {"f:spec":{"f:replicas":{}}}`,
		},
		"release a field of two managers": {
			`Apply ci {"f:spec":{"f:replicas":{}}}` + "\n" + `Apply ops {"f:spec":{"f:paused":{},"f:replicas":{}}}`, ".spec.replicas", "",
			`Apply ops {"f:spec":{"f:paused":{}}}` + "\n" + `Update holdfast-transfer {"f:spec":{"f:replicas":{}}}`,
		},
		"give the last field back": {
			`Update holdfast-transfer {"f:spec":{"f:replicas":{}}}`, ".spec.replicas", "ci", `Apply ci {"f:spec":{"f:replicas":{}}}`,
		},
		"release a second field": {
			`Update holdfast-transfer {"f:spec":{"f:replicas":{}}}` + "\n" + `Apply ci {"f:spec":{"f:paused":{}}}`, ".spec.paused", "",
			`Update holdfast-transfer {"f:spec":{"f:paused":{},"f:replicas":{}}}`,
		},
		"release an item, by one of its keys": {
			"Apply ci " + ports, ".spec.ports[containerPort=80]", "", "Update holdfast-transfer " + ports,
		},
		"release a field of an item": {
			"Apply ci " + ports, ".spec.ports[containerPort=80].name", "",
			`Apply ci {"f:spec":{"f:ports":{"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{}}}}` + "\n" +
				`Update holdfast-transfer {"f:spec":{"f:ports":{"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{"f:name":{}}}}}`,
		},
		"release a map": {
			`Apply ci {"f:metadata":{"f:labels":{".":{},"f:a":{},"f:b":{}}}}`, ".metadata.labels", "",
			`Update holdfast-transfer {"f:metadata":{"f:labels":{".":{},"f:a":{},"f:b":{}}}}`,
		},
		"release a key": {
			`Apply ci {"f:metadata":{"f:labels":{".":{},"f:a":{},"f:b":{}}}}`, ".metadata.labels.a", "",
			`Apply ci {"f:metadata":{"f:labels":{".":{},"f:b":{}}}}` + "\n" +
				`Update holdfast-transfer {"f:metadata":{"f:labels":{"f:a":{}}}}`,
		},
		"release a member": {
			`Apply ci {"f:metadata":{"f:finalizers":{".":{},"v:\"a\"":{},"v:\"b\"":{}}}}`, `.metadata.finalizers[="a"]`, "",
			`Apply ci {"f:metadata":{"f:finalizers":{".":{},"v:\"b\"":{}}}}` + "\n" +
				`Update holdfast-transfer {"f:metadata":{"f:finalizers":{"v:\"a\"":{}}}}`,
		},
		"release a part of one value": {
			`Apply ci {"f:spec":{"f:selector":{}}}`, ".spec.selector.matchLabels", "",
			"nothing to release",
		},
		"the status is left alone": {
			`Apply ci/status {"f:spec":{"f:replicas":{}}}` + "\n" + `Apply ci {"f:spec":{"f:replicas":{}}}`, ".spec.replicas", "",
			`Apply ci/status {"f:spec":{"f:replicas":{}}}` + "\n" + `Update holdfast-transfer {"f:spec":{"f:replicas":{}}}`,
		},
		"give": {
			`Apply ci {"f:spec":{"f:paused":{}}}` + "\n" + `Update kubectl/scale {"f:spec":{"f:replicas":{}}}`, ".spec.replicas", "ci",
			`Apply ci {"f:spec":{"f:paused":{},"f:replicas":{}}}`,
		},
		"give, other fields stay": {
			`Update kubectl-edit {"f:spec":{"f:paused":{},"f:replicas":{}}}` + "\n" + `Apply ci {"f:data":{}}`, ".spec.paused", "ci",
			`Update kubectl-edit {"f:spec":{"f:replicas":{}}}` + "\n" + `Apply ci {"f:data":{},"f:spec":{"f:paused":{}}}`,
		},
		"give a field without a manager": {
			`Apply ci {"f:data":{}}`, ".spec.paused", "ci", `Apply ci {"f:data":{},"f:spec":{"f:paused":{}}}`,
		},
		"give a field of an item without a manager": {
			`Apply ci {"f:data":{}}`, ".spec.ports[containerPort=80].name", "ci",
			`field .spec.ports[containerPort=80].name: no manager is recorded for it: apply a file that has it`,
		},
		"malformed": {`Apply ci {`, ".spec.paused", "", "managed fields of ci: "},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path, err := ownership.ParsePath(test.field)
			if err != nil {
				t.Fatal(err)
			}
			given := entries(t, test.entries)
			fields := managers.New(given, time.Unix(0, 0))
			if test.to == "" {
				var released bool
				if released, err = fields.Release(path, "holdfast-transfer"); err == nil && !released {
					err = errors.New("nothing to release")
				}
			} else {
				err = fields.Give(path, metav1.ManagedFieldsEntry{Manager: test.to})
			}
			got := linesOf(fields.Entries())
			if err != nil {
				got = err.Error()
			}
			if err != nil && !strings.HasPrefix(got, test.want) || err == nil && got != test.want {
				t.Errorf("(-want +got):\n%s", cmp.Diff(test.want, got))
			}
			if diff := cmp.Diff(strings.TrimSpace(test.entries), linesOf(given)); diff != "" {
				t.Errorf("the entries of the object changed (-want +got):\n%s", diff)
			}
		})
	}
}
