package instance_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"holdfast.dev/holdfast/api"
)

// recorder records the warnings of the server.
type recorder struct{ texts []string }

// HandleWarningHeader implements rest.WarningHandler.
func (r *recorder) HandleWarningHeader(_ int, _, text string) { r.texts = append(r.texts, text) }

// TestRestoredAnnotations checks that the answer names the annotations that a client removed or
// changed, and that the server has restored. Other writes get no warning.
func TestRestoredAnnotations(t *testing.T) {
	t.Parallel()
	server, _ := started(t)
	config, warned := server.Config(t), &recorder{}
	config.WarningHandler = warned
	instances := dynamic.NewForConfigOrDie(config).Resource(api.GroupVersion.WithResource("instances")).Namespace("default")
	before, err := instances.Get(t.Context(), "tok", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const text = "only the server sets these annotations, and it has restored them: "
	for _, test := range []struct{ name, patch, want string }{
		{"nothing of the server", `{"metadata":{"annotations":{"mine":"1"}}}`, ""},
		{"removed", `{"metadata":{"annotations":{"holdfast.dev/judged-with":null}}}`, text + "holdfast.dev/judged-with"},
		{
			"changed, with a run that changes them too",
			`{"metadata":{"annotations":{"holdfast.dev/requested-by":"x","holdfast.dev/sealed-record":null}},"spec":{"parameters":{"CPUS":"2"}}}`,
			text + "holdfast.dev/requested-by, holdfast.dev/sealed-record",
		},
		{"a run", `{"spec":{"parameters":{"CPUS":"3"}}}`, ""},
	} {
		warned.texts = nil
		stored, err := instances.Patch(t.Context(), "tok", types.MergePatchType, []byte(test.patch), metav1.PatchOptions{})
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		if got := strings.Join(warned.texts, "; "); got != test.want {
			t.Errorf("%s: the warnings are %q", test.name, got)
		}
		if stored.GetAnnotations()[api.BindingAnnotation] != before.GetAnnotations()[api.BindingAnnotation] {
			t.Errorf("%s: the annotation is not restored", test.name)
		}
		awaitPlan(t, instances)
	}
}
