package installation_test

import (
	"testing"
	"testing/synctest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"holdfast.dev/holdfast/internal/othercluster/installation"
	"holdfast.dev/holdfast/internal/yamltest"
)

// TestBusyServer applies an object to a server that does not answer now. The apply is sent again, unless the error is of another kind or
// the server stays busy.
func TestBusyServer(t *testing.T) {
	configMaps := schema.GroupResource{Resource: "configmaps"}
	for name, test := range map[string]struct {
		err      error
		failures int
		want     int
		fails    bool
	}{
		"etcd did not confirm": {apierrors.NewTimeoutError("etcd did not confirm", 0), 2, 3, false},
		"overloaded":           {apierrors.NewTooManyRequests("later", 1), 1, 2, false},
		"starting":             {apierrors.NewServiceUnavailable("starting"), 1, 2, false},
		"always busy":          {apierrors.NewServerTimeout(configMaps, "patch", 1), 100, 6, true},
		"forbidden":            {apierrors.NewForbidden(configMaps, "a", nil), 1, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				object := yamltest.Object(t, `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: n, name: a}}`)
				client := fake.NewSimpleDynamicClient(runtime.NewScheme())
				sent := 0
				client.PrependReactor("patch", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
					if sent++; sent <= test.failures {
						return true, nil, test.err
					}
					return true, object, nil
				})
				var outcomes []string
				err := installation.Applier{Client: client, FieldManager: "test"}.ApplyAll(t.Context(), []*unstructured.Unstructured{object},
					func(outcome installation.Outcome) { outcomes = append(outcomes, outcome.What) })
				if (err != nil) != test.fails || sent != test.want {
					t.Errorf("sent %d times, error %v; want %d times, an error: %t", sent, err, test.want, test.fails)
				}
				if !test.fails && (len(outcomes) != 1 || outcomes[0] != "created") {
					t.Errorf("outcomes %v", outcomes)
				}
			})
		})
	}
}
