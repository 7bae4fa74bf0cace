package skeleton_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/skeleton"
)

// filled returns a value with every JSON field of a Go type.
func filled(typ reflect.Type) any {
	switch typ {
	case reflect.TypeFor[metav1.Time]():
		return "2026-01-01T00:00:00Z"
	case reflect.TypeFor[metav1.FieldsV1]():
		return map[string]any{"f:spec": map[string]any{}}
	}
	switch typ.Kind() {
	case reflect.Pointer:
		return filled(typ.Elem())
	case reflect.Slice:
		return []any{filled(typ.Elem())}
	case reflect.Map:
		return map[string]any{"k": filled(typ.Elem())}
	case reflect.Struct:
		out := map[string]any{}
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			out[name] = filled(typ.Field(i).Type)
		}
		return out
	case reflect.Int64:
		return int64(1)
	case reflect.Bool:
		return true
	}
	return "s"
}

// Metadata with every field of upstream's type passes the check, and pruning drops
// nothing of it.
func TestObjectMetaIsUpstreams(t *testing.T) {
	sk := skeleton.Build(nil)
	obj := map[string]any{"metadata": filled(reflect.TypeFor[metav1.ObjectMeta]())}
	want := clone(t, obj)
	if wrong := sk.Check(obj); len(wrong) > 0 {
		t.Errorf("refused: %v", wrong)
	}
	if dropped := sk.PrunePaths(obj); len(dropped) > 0 {
		t.Errorf("dropped: %v", dropped)
	}
	if diff := cmp.Diff(want, obj); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
}
