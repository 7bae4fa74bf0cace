package views_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"holdfast.dev/holdfast/internal/native"
	"holdfast.dev/holdfast/internal/native/views"
	"holdfast.dev/holdfast/internal/yamltest"
	"holdfast.dev/holdfast/ownership"
)

// TestDiffering checks that Differing and Content lead to the same changed fields, and that
// neither changes the objects.
func TestDiffering(t *testing.T) {
	types := views.New()
	scheme := native.NewScheme()
	read := func(file string) *appsv1.Deployment {
		obj := yamltest.Decode[appsv1.Deployment](t, file)
		scheme.Default(obj)
		return obj
	}
	typ := types.Of(deployment.GroupKind())
	for name, files := range map[string][2]string{
		"no change": {benchmarkFile(1), benchmarkFile(1)},
		"many":      {benchmarkFile(1), benchmarkFile(2)},
		"one field": {web("  replicas: 1", ""), web("  replicas: 2", "")},
		"an item":   {web("", ""), web("", "        env: [{name: A}]\n      - {name: b, image: b}")},
		"a pointer": {
			web("", "        livenessProbe: {periodSeconds: 5, httpGet: {port: 1}}"),
			web("", "        livenessProbe: {periodSeconds: 6, tcpSocket: {port: http}}"),
		},
		"a strategy": {
			web("  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}", ""), web("  strategy: {type: Recreate}", ""),
		},
		"quantities": {
			web("", "        resources: {limits: {cpu: 1}}"),
			web("", "        resources: {limits: {cpu: 1000m}, requests: {cpu: 1}}"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			compareContents(t, read(files[0]), read(files[1]), func(live, updated map[string]any) []string {
				return show(typ.Changed(live, updated, 100))
			})
		})
	}
}

// show returns the text of each path.
func show(paths []ownership.Path) []string {
	var out []string
	for _, p := range paths {
		out = append(out, p.String())
	}
	return out
}
