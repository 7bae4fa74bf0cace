package collection_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/internal/lifecycle/collection"
	"holdfast.dev/holdfast/internal/references"
	"holdfast.dev/holdfast/internal/yamltest"
)

// known is an index in which all objects are unused since a time, except some.
type known struct {
	since      time.Time
	used       map[string]bool
	incomplete string
}

func (k known) Unused(_ references.Kind, _, name string) (time.Time, bool) {
	return k.since, !k.used[name]
}
func (k known) Incomplete(string) string { return k.incomplete }

// The outlook says why an object stays, or when it goes.
func TestOutlooks(t *testing.T) {
	t.Parallel()
	since := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	const inSeries = "labels: {holdfast.dev/series: settings}, namespace: shop, creationTimestamp: 2026-01-01T00:00:0"
	namespace := yamltest.Decode[corev1.Namespace](t, `
metadata: {name: shop, labels: {holdfast.dev/collect: unused}, annotations: {holdfast.dev/keep-last: "1", holdfast.dev/collect-after: 2h}}`)
	plain := yamltest.Decode[corev1.Namespace](t, `metadata: {name: shop}`)
	goes := since.Add(2*time.Hour + time.Minute)
	for name, test := range map[string]struct {
		object    string
		namespace *corev1.Namespace
		index     known
		stays     string
		goes      time.Time
	}{
		"unused":           {object: `metadata: {name: old, ` + inSeries + `1Z}`, goes: goes},
		"used":             {object: `metadata: {name: old, ` + inSeries + `1Z}`, index: known{used: map[string]bool{"old": true}}, stays: "an object refers to it"},
		"newest":           {object: `metadata: {name: new, ` + inSeries + `3Z}`, stays: "it is the newest of its series"},
		"not selected":     {object: `metadata: {name: old, ` + inSeries + `1Z}`, namespace: plain, stays: "neither it nor its namespace selects it by the label holdfast.dev/collect: unused"},
		"wrong annotation": {object: `metadata: {name: old, annotations: {holdfast.dev/collect-after: soon}, ` + inSeries + `1Z}`, stays: `annotation holdfast.dev/collect-after: "soon" is not a duration such as 30m or 24h`},
		"its own time":     {object: `metadata: {name: old, annotations: {holdfast.dev/collect-after: 10m}, ` + inSeries + `1Z}`, goes: since.Add(11 * time.Minute)},
		"incomplete":       {object: `metadata: {name: old, ` + inSeries + `1Z}`, index: known{incomplete: "boats are not served"}, stays: "not all references to it are known: boats are not served"},
		"kept":             {object: `metadata: {name: old, annotations: {holdfast.dev/keep: always}, ` + inSeries + `1Z}`, stays: "the annotation holdfast.dev/keep keeps it"},
		"deleted":          {object: `metadata: {name: old, deletionTimestamp: 2026-01-02T00:00:00Z, ` + inSeries + `1Z}`, stays: "it is being deleted, and finalizers keep it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.index.since = since
			if test.namespace == nil {
				test.namespace = namespace
			}
			object := yamltest.Decode[corev1.ConfigMap](t, test.object+"\nimmutable: true")
			middle := yamltest.Decode[corev1.ConfigMap](t, `metadata: {name: middle, `+inSeries+"2Z}\nimmutable: true")
			got := collection.Outlooks([]runtime.Object{middle, object}, test.namespace, test.index)
			if len(got) != 2 || got[1].Stays != test.stays || !got[1].Goes.Equal(test.goes) {
				t.Errorf("outlook %+v, want %q, %v", got, test.stays, test.goes)
			}
		})
	}
	mutable := yamltest.Decode[corev1.Secret](t, `metadata: {name: old, `+inSeries+`1Z}`)
	if got := collection.Outlooks([]runtime.Object{mutable}, namespace, known{since: since}); got[0].Stays != "it is not immutable" {
		t.Errorf("a mutable object: %+v", got)
	}
}
