package guard_test

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// asks waits until the API server asks the guard about a resource: a dry run of a merge patch that a rule forbids is refused, or has
// a warning. The API server learns of the webhook configuration a moment after the guard has written it.
func (f *fixture) asks(resource, name, patch string, subresources ...string) {
	f.Helper()
	data := yamltest.JSON(f, patch)
	dryRun := metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}
	waittest.Until(f.T, "the guard is asked about "+resource, func() bool {
		f.warnings.texts = nil
		_, err := f.of(resource).Patch(f.Context(), name, types.MergePatchType, data, dryRun, subresources...)
		return err != nil || len(f.warnings.texts) > 0
	})
}

// await returns an object, when it exists.
func (f *fixture) await(resource, name string) *unstructured.Unstructured {
	f.Helper()
	var found *unstructured.Unstructured
	waittest.Until(f.T, resource+" "+name, func() (err error) {
		found, err = f.of(resource).Get(f.Context(), name, metav1.GetOptions{})
		return err
	})
	return found
}
