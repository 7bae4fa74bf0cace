package subresource_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"holdfast.dev/holdfast/internal/apiserver/subresource"
	"holdfast.dev/holdfast/internal/yamltest"
)

func entries(t *testing.T, text string) []metav1.ManagedFieldsEntry {
	t.Helper()
	out := *yamltest.Decode[[]metav1.ManagedFieldsEntry](t, text)
	for i := range out {
		out[i].FieldsType = "FieldsV1"
	}
	return out
}

func TestOfObject(t *testing.T) {
	tests := map[string]struct{ object, scale, want string }{
		"a manager that is new": {
			object: `[{manager: apply, operation: Update, apiVersion: apps/v1,
  time: "2026-11-15T09:00:00Z", fieldsV1: {f:spec: {f:paused: {}, f:replicas: {}}}}]`,
			scale: `[{manager: kubectl, operation: Update, apiVersion: autoscaling/v1, subresource: scale,
  time: "2026-11-15T10:00:00Z", fieldsV1: {f:spec: {f:replicas: {}}}}]`,
			want: `
- {manager: apply, operation: Update, apiVersion: apps/v1, time: "2026-11-15T09:00:00Z", fieldsV1: {f:spec: {f:paused: {}}}}
- {manager: kubectl, operation: Update, apiVersion: apps/v1, subresource: scale,
  time: "2026-11-15T10:00:00Z", fieldsV1: {f:spec: {f:replicas: {}}}}`,
		},
		"a manager that scales again": {
			object: `[{manager: kubectl, operation: Update, apiVersion: apps/v1, subresource: scale,
  time: "2026-11-15T10:00:00Z", fieldsV1: {f:spec: {f:replicas: {}}}}]`,
			scale: `[{manager: kubectl, operation: Update, apiVersion: autoscaling/v1, subresource: scale,
  time: "2026-11-15T11:00:00Z", fieldsV1: {f:spec: {f:replicas: {}}}}]`,
			want: `[{manager: kubectl, operation: Update, apiVersion: apps/v1, subresource: scale,
  time: "2026-11-15T11:00:00Z", fieldsV1: {f:spec: {f:replicas: {}}}}]`,
		},
		"an apply that scales again": {
			object: `[{manager: ci, operation: Apply, apiVersion: apps/v1, subresource: scale,
  time: "2026-11-15T10:00:00Z", fieldsV1: {f:spec: {f:replicas: {}}}}]`,
			scale: `[{manager: ci, operation: Apply, apiVersion: autoscaling/v1, subresource: scale,
  time: "2026-11-15T11:00:00Z", fieldsV1: {f:spec: {f:replicas: {}}}}]`,
			want: `[{manager: ci, operation: Apply, apiVersion: apps/v1, subresource: scale,
  time: "2026-11-15T11:00:00Z", fieldsV1: {f:spec: {f:replicas: {}}}}]`,
		},
		"a count that is written again": {
			object: `[{manager: apply, operation: Update, apiVersion: apps/v1,
  time: "2026-11-15T09:00:00Z", fieldsV1: {f:spec: {f:paused: {}, f:replicas: {}}}}]`,
			scale: `[{manager: apply, operation: Update, apiVersion: autoscaling/v1,
  time: "2026-11-15T09:00:00Z", fieldsV1: {f:spec: {f:replicas: {}}}}]`,
			want: `[{manager: apply, operation: Update, apiVersion: apps/v1,
  time: "2026-11-15T09:00:00Z", fieldsV1: {f:spec: {f:paused: {}, f:replicas: {}}}}]`,
		},
		"no managers": {object: `[]`, scale: `[]`, want: `[]`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			given, scale := entries(t, test.object), entries(t, test.scale)
			got, err := managers(given).OfObject(scale)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(readable(entries(t, test.want)), readable(got)); diff != "" {
				t.Errorf("managed fields (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(entries(t, test.object), given) + cmp.Diff(entries(t, test.scale), scale); diff != "" {
				t.Errorf("what was given is changed (-before +after):\n%s", diff)
			}
		})
	}
}

func managers(object []metav1.ManagedFieldsEntry) subresource.ScaleManagers {
	version := schema.GroupVersion{Group: "apps", Version: "v1"}
	return subresource.ScaleManagers{
		Entries: object, Version: version,
		Paths: managedfields.ResourcePathMappings{version.String(): fieldpath.MakePathOrDie("spec", "replicas")},
	}
}

// readable returns entries in a form that is easy to compare.
func readable(entries []metav1.ManagedFieldsEntry) []string {
	out := []string{}
	for _, e := range entries {
		at := "never"
		if e.Time != nil {
			at = e.Time.UTC().Format(time.RFC3339)
		}
		out = append(out, e.Manager+" "+string(e.Operation)+" "+e.APIVersion+" "+e.Subresource+" "+at+" "+e.FieldsV1.GetRawString())
	}
	return out
}

func TestOfScale(t *testing.T) {
	object := entries(t, `[{manager: apply, operation: Update, apiVersion: apps/v1,
  time: "2026-11-15T09:00:00Z", fieldsV1: {f:spec: {f:paused: {}, f:replicas: {}}}}]`)
	got, err := managers(object).OfScale()
	if err != nil {
		t.Fatal(err)
	}
	want := entries(t, `[{manager: apply, operation: Update, apiVersion: autoscaling/v1,
  time: "2026-11-15T09:00:00Z", fieldsV1: {f:spec: {f:replicas: {}}}}]`)
	if diff := cmp.Diff(readable(want), readable(got)); diff != "" {
		t.Errorf("managed fields (-want +got):\n%s", diff)
	}
}

func TestMalformed(t *testing.T) {
	object := entries(t, `[{manager: apply, operation: Update, apiVersion: apps/v1, fieldsV1: {f:spec: 1}}]`)
	if _, err := managers(object).OfObject(nil); err == nil {
		t.Error("managed fields that cannot be read are translated")
	}
}
