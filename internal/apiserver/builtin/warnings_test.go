package builtin_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
)

// TestWarnings reads the warnings that clients get.
func TestWarnings(t *testing.T) {
	t.Parallel()
	heard := &listener{}
	server := servertest.Start(t, apiserver.Config{DataDir: t.TempDir()})
	config := rest.CopyConfig(server.Config(t))
	config.WarningHandlerWithContext = heard
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	container := corev1.Container{
		Name: "a", Image: "a", Env: []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "A", Value: "2"}},
	}
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "warned"}}
	job.Spec.Template.Spec = corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{container}}
	jobs := client.BatchV1().Jobs("default")
	if _, err := jobs.Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	orphan := metav1.DeletePropagationOrphan
	for _, options := range []metav1.DeleteOptions{{DryRun: []string{metav1.DryRunAll}}, {PropagationPolicy: &orphan}} {
		if err := jobs.Delete(t.Context(), "warned", options); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		`spec.template.spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply`,
		"child pods are preserved by default when jobs are deleted; " +
			"set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning",
	}
	if diff := cmp.Diff(want, slices.Clone(heard.texts)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// listener keeps the texts of warnings. The requests of the test run one after the other.
type listener struct{ texts []string }

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (l *listener) HandleWarningHeaderWithContext(_ context.Context, code int, _, text string) {
	if code == 299 { // the code of all warnings
		l.texts = append(l.texts, text)
	}
}
