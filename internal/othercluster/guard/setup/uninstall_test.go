package setup

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"holdfast.dev/holdfast/internal/othercluster/installation"
)

// TestRemoveWebhooks checks that the webhook configuration stays away if a guard writes it again while an API server does
// not know yet that the guard has lost its right.
func TestRemoveWebhooks(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		// writes is how often the guard writes the configuration: once before, and then a second after each deletion.
		writes, reported int
		waited           time.Duration
		want             error
	}{
		"not installed":                   {},
		"the right is lost at once":       {writes: 1, reported: 1, waited: quiet},
		"a server learns of it later":     {writes: 3, reported: 1, waited: quiet + 2*time.Second},
		"the guard is an administrator's": {writes: 1000, reported: 1, waited: patience, want: errWrittenAgain},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client := fake.NewSimpleDynamicClient(runtime.NewScheme())
				writes, written, reported := test.writes, time.Now(), 0
				client.PrependReactor("delete", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
					resource := action.GetResource()
					if resource.Resource != "validatingwebhookconfigurations" || writes == 0 || time.Now().Before(written) {
						return true, nil, apierrors.NewNotFound(resource.GroupResource(), "")
					}
					writes, written = writes-1, time.Now().Add(time.Second)
					return true, nil, nil
				})
				right := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding"}}
				began := time.Now()
				err := removeWebhooks(t.Context(), installation.Applier{Client: client}, right, func(installation.Outcome) { reported++ })
				if !errors.Is(err, test.want) {
					t.Errorf("error %v, want %v", err, test.want)
				}
				if reported != test.reported {
					t.Errorf("reported %d objects, want %d", reported, test.reported)
				}
				if waited := time.Since(began); waited < test.waited || waited > test.waited+time.Second {
					t.Errorf("waited for %s, want about %s", waited, test.waited)
				}
				if writes > 0 && test.want == nil {
					t.Error("the configuration is left")
				}
			})
		})
	}
}
