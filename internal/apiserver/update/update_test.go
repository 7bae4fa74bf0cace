package update_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"holdfast.dev/holdfast/internal/apiserver/update"
)

// Every rule runs, whatever an earlier one found, and the errors keep their order.
func TestJudge(t *testing.T) {
	refuse := func(names ...string) update.Rule {
		return func(context.Context, runtime.Object, runtime.Object) field.ErrorList {
			var errs field.ErrorList
			for _, name := range names {
				errs = append(errs, field.Required(field.NewPath(name), ""))
			}
			return errs
		}
	}
	var got []string
	for _, err := range update.Judge(t.Context(), &corev1.Pod{}, &corev1.Pod{}, refuse("b", "a"), refuse(), refuse("c")) {
		got = append(got, err.Field)
	}
	if diff := cmp.Diff([]string{"b", "a", "c"}, got); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}
