package helm_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/loader"
	releasev1 "helm.sh/helm/v4/pkg/release/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/internal/othercluster/guard"
	"holdfast.dev/holdfast/internal/yamltest"
)

// renderGuard returns the objects of the chart of the guard with values, as YAML. It asks no server.
func renderGuard(t *testing.T, values string) map[string]any {
	t.Helper()
	loaded, err := loader.Load("../../dist/helm/holdfast-guard")
	if err != nil {
		t.Fatal(err)
	}
	install := action.NewInstall(newShop(t, filepath.Join(t.TempDir(), "none"), guard.Namespace, true).config)
	install.ReleaseName, install.Namespace, install.DryRunStrategy = "guard", guard.Namespace, action.DryRunClient
	install.KubeVersion = &common.KubeVersion{Version: "v1.36.0", Major: "1", Minor: "36"}
	released, err := install.Run(loaded, yamltest.Map(t, values))
	if err != nil {
		t.Fatal(err)
	}
	release, ok := released.(*releasev1.Release)
	if !ok {
		t.Fatalf("unexpected release %T", released)
	}
	objects := documents(t, release.Manifest)
	for _, hook := range release.Hooks {
		objects["hook "+hook.Kind] = yamltest.Map(t, hook.Manifest)
	}
	return objects
}

// TestGuardValues renders the chart of the guard with values that are not the default.
func TestGuardValues(t *testing.T) {
	t.Parallel()
	objects := renderGuard(t, `
image: holdfast:1
verbosity: 3
ownership: "off"
exclude: {namespaces: [build, test], resources: [deployments.apps]}
extraArgs: ["--webhook-url=https://guard.example.com"]
resources: {limits: {memory: 128Mi}}
tolerations: [{operator: Exists}]
affinity: {nodeAffinity: {}}
podAnnotations: {a: b}
podLabels: {team: platform}
serviceMonitor: {enabled: true, labels: {release: prometheus}, interval: 1m}
networkPolicy: {enabled: true, webhookFrom: [{ipBlock: {cidr: 10.0.0.0/24}}]}
`)
	field := func(object string, path ...string) any {
		t.Helper()
		root, _ := objects[object].(map[string]any)
		found, _, _ := unstructured.NestedFieldNoCopy(root, path...)
		return found
	}
	containers, _ := field("Deployment/holdfast-guard", "spec", "template", "spec", "containers").([]any)
	if len(containers) != 1 {
		t.Fatalf("%d containers", len(containers))
	}
	container, _ := containers[0].(map[string]any)
	for name, test := range map[string]struct {
		got  any
		want string
	}{
		"arguments": {container["args"], `[guard, serve, "--webhook-address=:9443", "--health-address=:8081", --v=3, --ownership=off, ` +
			`"--exclude-namespaces=build,test", --exclude-resources=deployments.apps, "--webhook-url=https://guard.example.com"]`},
		"resources":             {container["resources"], `{limits: {memory: 128Mi}, requests: {cpu: 50m, memory: 64Mi}}`},
		"annotations":           {field("Deployment/holdfast-guard", "spec", "template", "metadata", "annotations"), `{a: b}`},
		"labels":                {field("Deployment/holdfast-guard", "spec", "template", "metadata", "labels"), `{team: platform, app.kubernetes.io/name: holdfast-guard}`},
		"affinity":              {field("Deployment/holdfast-guard", "spec", "template", "spec", "affinity"), `{nodeAffinity: {}}`},
		"tolerations":           {field("Deployment/holdfast-guard", "spec", "template", "spec", "tolerations"), `[{operator: Exists}]`},
		"tolerations of a hook": {field("hook Job", "spec", "template", "spec", "tolerations"), `[{operator: Exists}]`},
		"metrics": {
			field("Service/holdfast-guard-metrics", "spec", "ports"),
			`[{name: metrics, protocol: TCP, port: 8081, targetPort: health}]`,
		},
		"labels of the monitor": {field("ServiceMonitor/holdfast-guard", "metadata", "labels"), `{release: prometheus}`},
		"monitor": {
			field("ServiceMonitor/holdfast-guard", "spec"),
			`{selector: {matchLabels: {app.kubernetes.io/name: holdfast-guard-metrics}}, endpoints: [{port: metrics, interval: 1m}]}`,
		},
		"network": {
			field("NetworkPolicy/holdfast-guard", "spec", "ingress"),
			`[{ports: [{port: webhook, protocol: TCP}], from: [{ipBlock: {cidr: 10.0.0.0/24}}]}, {ports: [{port: health, protocol: TCP}]}]`,
		},
	} {
		want := yamltest.Map(t, "value: "+test.want)["value"]
		if diff := cmp.Diff(normal(t, want), normal(t, test.got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for name := range renderGuard(t, "image: holdfast:1") {
		if strings.HasPrefix(name, "ServiceMonitor") || strings.HasPrefix(name, "NetworkPolicy") || strings.HasPrefix(name, "Service/holdfast-guard-") {
			t.Errorf("%s without its value", name)
		}
	}
}
