package custom

import (
	"testing"
	"testing/synctest"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/apiserver/definitions"
	"holdfast.dev/holdfast/internal/definition"
)

// A kind that is closed opens by itself, 30 seconds after this server has seen that it is closed. The time in the condition, which
// another server wrote, does not matter.
func TestClosings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed := func(by string) *definition.CustomResourceDefinition {
			crd := &definition.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "boats.example.com"}}
			definition.SetCondition(crd, apiextensionsv1.CustomResourceDefinitionCondition{
				Type: definitions.Closed, Status: apiextensionsv1.ConditionTrue, Message: by,
			}, metav1.NewTime(time.Now().Add(-time.Hour)))
			return crd
		}
		var c closings
		check := func(name string, crd *definition.CustomResourceDefinition, want time.Duration) {
			t.Helper()
			if got := c.remaining(crd); got != want {
				t.Errorf("%s: closed for %v, want %v", name, got, want)
			}
		}
		first, second := closed("first"), closed("second")
		check("not observed yet", first, 30*time.Second)
		c.observe(first)
		time.Sleep(20 * time.Second)
		c.observe(first) // another part of the definition has changed
		check("observed", first, 10*time.Second)
		time.Sleep(10 * time.Second)
		check("after 30 seconds", first, 0)
		check("closed again", second, 30*time.Second)
		c.observe(second)
		check("closed again, observed", second, 30*time.Second)
		open := &definition.CustomResourceDefinition{ObjectMeta: first.ObjectMeta}
		c.observe(open)
		check("withdrawn", open, 0)
		if len(c.seen) > 0 {
			t.Errorf("remembered: %v", c.seen)
		}
	})
}
