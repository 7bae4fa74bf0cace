package policies_test

import (
	"fmt"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/waittest"
)

// TestSelectors checks that each operator of both selectors selects objects, and that a user without the verb unlock cannot take an
// object out of the policy, in a namespace and without one.
func TestSelectors(t *testing.T) {
	t.Parallel()
	f := start(t, apiserver.Config{ImmutabilityStatus: http.StatusUnprocessableEntity})
	f.create(definitions, widgetsDefinition)
	f.grant("ann", []string{"configmaps", "namespaces", "widgets", "persistentvolumes"}, []string{"patch", "get"})
	ann := f.as("ann")
	// selected are labels that the selector matches, and left is a patch of them after which it does not.
	for i, test := range []struct{ selector, selected, left string }{
		{`{matchLabels: {tier: prod}}`, `tier: prod`, `tier: null`},
		{`{matchExpressions: [{key: tier, operator: In, values: [prod, stage]}]}`, `tier: stage`, `tier: test`},
		{`{matchExpressions: [{key: tier, operator: NotIn, values: [test]}]}`, `tier: prod`, `tier: test`},
		{`{matchExpressions: [{key: tier, operator: NotIn, values: [test]}]}`, ``, `tier: test`},
		{`{matchExpressions: [{key: tier, operator: Exists}]}`, `tier: ""`, `tier: null`},
		{`{matchExpressions: [{key: free, operator: DoesNotExist}]}`, `tier: prod`, `free: ""`},
		{`{matchLabels: {tier: prod}, matchExpressions: [{key: free, operator: DoesNotExist}]}`, `tier: prod`, `free: ""`},
	} {
		name := fmt.Sprint("s", i)
		f.create("namespaces", `{apiVersion: v1, kind: Namespace, metadata: {name: `+name+`, labels: {`+test.selected+`}}}`)
		f.create(name+"/configmaps", `{apiVersion: v1, kind: ConfigMap, metadata: {name: c, labels: {`+test.selected+`}}, data: {a: x}}`)
		f.create(name+"/widgets.v1.example.com",
			`{apiVersion: example.com/v1, kind: Widget, metadata: {name: c, labels: {`+test.selected+`}}, spec: {size: L}}`)
		f.create("persistentvolumes", `{apiVersion: v1, kind: PersistentVolume, metadata: {name: `+name+`, labels: {`+test.selected+`}},
  spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /a}, persistentVolumeReclaimPolicy: Retain}}`)
		const rules = `resources: [configmaps, widgets.example.com, persistentvolumes], rules: [immutable data, immutable spec]`
		refused := "metadata.labels: field is immutable: policy " + name + " would no longer select it (a user that may unlock it can change it)"
		labels := `{metadata: {labels: {` + test.left + `}}}`

		f.policy(name, `{`+rules+`, objectSelector: `+test.selector+`}`)
		f.want(name+": data", ann.patch(name+"/configmaps", "c", `{data: {a: z}}`), "which policy "+name+" forbids")
		f.want(name+": a custom resource", ann.patch(name+"/widgets.v1.example.com", "c", `{spec: {size: M}}`), `Invalid: Widget.example.com "c" cannot be changed this way: `)
		f.want(name+": a volume", ann.patch("persistentvolumes", name, `{spec: {persistentVolumeReclaimPolicy: Delete}}`), "which policy "+name+" forbids")
		f.want(name+": labels", ann.patch(name+"/configmaps", "c", labels), "BadRequest: ConfigMap \"c\" cannot be changed this way: "+refused)
		f.want(name+": labels of a custom resource", ann.patch(name+"/widgets.v1.example.com", "c", labels), refused)
		f.want(name+": labels of a volume", ann.patch("persistentvolumes", name, labels), refused)
		f.want(name+": with the verb", f.patch(name+"/configmaps", "c", labels), "ok")
		f.want(name+": other objects", ann.patch(name+"/configmaps", "c", `{data: {a: z}}`), "ok")

		f.want(name+": another policy", f.patch(policies, name, `{spec: {objectSelector: null, namespaceSelector: `+test.selector+`}}`), "ok")
		f.want(name+": data in the namespace", ann.patch(name+"/configmaps", "c", `{data: {a: w}}`), "which policy "+name+" forbids")
		f.want(name+": labels of the namespace", ann.patch("namespaces", name, labels), refused)
		f.want(name+": the namespace with the verb", f.patch("namespaces", name, labels), "ok")
		waittest.Until(t, name+": data in another namespace", func() error { return ann.tryPatch(name+"/configmaps", "c", `{data: {a: w}}`) })
		if err := f.of(policies).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}
