package views_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/native"
	"holdfast.dev/holdfast/native/views"
	"holdfast.dev/holdfast/ownership"
)

// TestDiffering holds that what changes is the same with and without what is
// equal, and that neither object is touched.
func TestDiffering(t *testing.T) {
	types := views.New()
	scheme := native.NewScheme()
	read := func(file string) *appsv1.Deployment {
		obj := &appsv1.Deployment{}
		if err := yaml.Unmarshal([]byte(file), obj); err != nil {
			t.Fatal(err)
		}
		scheme.Default(obj)
		return obj
	}
	typ := types.Of(deployment.GroupKind())
	for name, files := range map[string][2]string{
		"nothing":   {benchmarkFile(1), benchmarkFile(1)},
		"much":      {benchmarkFile(1), benchmarkFile(2)},
		"one field": {web("  replicas: 1", ""), web("  replicas: 2", "")},
		"an item":   {web("", ""), web("", "        env: [{name: A}]\n      - {name: b, image: b}")},
		"a pointer": {web("", "        livenessProbe: {periodSeconds: 5, httpGet: {port: 1}}"), web("", "        livenessProbe: {periodSeconds: 6, tcpSocket: {port: http}}")},
		"a strategy": {
			web("  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}", ""), web("  strategy: {type: Recreate}", ""),
		},
		"quantities": {web("", "        resources: {limits: {cpu: 1}}"), web("", "        resources: {limits: {cpu: 1000m}, requests: {cpu: 1}}")},
	} {
		t.Run(name, func(t *testing.T) {
			live, updated := read(files[0]), read(files[1])
			liveBefore, updatedBefore := live.DeepCopy(), updated.DeepCopy()
			wholeLive, err := views.Content(live)
			if err != nil {
				t.Fatal(err)
			}
			wholeUpdated, err := views.Content(updated)
			if err != nil {
				t.Fatal(err)
			}
			thinLive, thinUpdated, err := views.Differing(live, updated)
			if err != nil {
				t.Fatal(err)
			}
			want := show(typ.Changed(wholeLive, wholeUpdated, 100))
			if diff := cmp.Diff(want, show(typ.Changed(thinLive, thinUpdated, 100))); diff != "" {
				t.Errorf("changes (-whole +differing):\n%s", diff)
			}
			if diff := cmp.Diff(liveBefore, live) + cmp.Diff(updatedBefore, updated); diff != "" {
				t.Errorf("an object was changed:\n%s", diff)
			}
		})
	}
}

func show(paths []ownership.Path) []string {
	var out []string
	for _, p := range paths {
		out = append(out, p.String())
	}
	return out
}
