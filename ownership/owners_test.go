package ownership_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/ownership"
)

func TestOwners(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 11, 15, 10, 0, 0, 0, time.UTC))
	managers := []metav1.ManagedFieldsEntry{
		{
			Manager: "kubectl-client-side-apply", Operation: "Update", Time: &at,
			FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:a":{},"f:list":{}}}`),
		},
		{Manager: "kubectl-patch", Operation: "Update", Time: &at, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:b":{}}}`)},
		{Manager: "ci", Operation: "Apply", Time: &at, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:c":{}}}`)},
	}
	commands := ownership.Commands{Entries: []ownership.Command{
		{Command: "kubectl patch", Manager: "kubectl-patch", Time: at.Time, Fields: []string{".spec.b"}},
	}}
	obj := object(t, `{"spec":{"a":1,"list":[1]}}`, `{spec: {a: 1, b: {x: 2}, c: 3, d: 4, list: [1]}, status: {x: 1}}`)
	fields, note := ownership.Owners(loose, obj, managers, commands)
	var got []string
	for _, f := range fields {
		got = append(got, fmt.Sprintf("%s %v applied=%v managers=%v set=%s owned=%v",
			f.Path, f.Value, f.Applied, f.Managers, f.Set.Name, f.Owned()))
	}
	want := []string{
		".spec.a 1 applied=true managers=[] set=kubectl-client-side-apply owned=true",
		".spec.b.x 2 applied=false managers=[] set=kubectl patch owned=false",
		".spec.c 3 applied=false managers=[ci] set=ci owned=true",
		".spec.d 4 applied=false managers=[] set= owned=false",
		".spec.list [1] applied=true managers=[] set=kubectl-client-side-apply owned=true",
	}
	if diff := cmp.Diff(want, got); diff != "" || note != "" {
		t.Errorf("owners (-want +got):\n%s%s", diff, note)
	}
	if _, note := ownership.Owners(loose, object(t, "[", `{spec: {a: 1}}`), nil, commands); note == "" {
		t.Error("no note about a malformed annotation")
	}
}
