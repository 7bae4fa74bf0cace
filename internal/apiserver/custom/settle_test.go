package custom

import (
	"testing"
	"testing/synctest"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/definition"
)

// TestSettle checks how long a write of a definition waits.
func TestSettle(t *testing.T) {
	t.Parallel()
	now := metav1.Now()
	for name, test := range map[string]struct {
		deleted *metav1.Time
		// servedAfter is the time until the server serves the definition, 0 for never.
		servedAfter, want time.Duration
	}{
		"a busy server":   {servedAfter: 8 * time.Second, want: 8 * time.Second},
		"never served":    {want: settleTimeout},
		"deleted already": {deleted: &now},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := &controller{
					observed: map[string]*definition.CustomResourceDefinition{},
					groups:   map[string]map[string]*definition.CustomResourceDefinition{},
				}
				crd := &definition.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{
					Name: "boats.example.com", ResourceVersion: "7", DeletionTimestamp: test.deleted,
				}}
				crd.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.NamesAccepted}}
				if test.servedAfter > 0 {
					time.AfterFunc(test.servedAfter, func() { c.setObserved(crd.Name, crd) })
				}
				began := time.Now()
				c.settle(t.Context(), crd)
				if waited := time.Since(began); waited != test.want {
					t.Errorf("waited for %s, want %s", waited, test.want)
				}
			})
		})
	}
}
