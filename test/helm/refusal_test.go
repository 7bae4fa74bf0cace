package helm_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
)

// boats is a chart with a definition and an object, of which one field is immutable.
func boats() *chartv2.Chart {
	return &chartv2.Chart{
		Metadata: &chartv2.Metadata{APIVersion: "v2", Name: "boats", Version: "0.1.0"},
		Values:   map[string]any{"hull": "oak"},
		Files: []*common.File{{Name: "crds/boats.yaml", Data: []byte(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.example.com}
spec:
  group: example.com
  names: {plural: boats, kind: Boat}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          hull: {type: string, x-kubernetes-immutable: true}
`)}},
		Templates: []*common.File{{Name: "templates/boat.yaml", Data: []byte(`
apiVersion: example.com/v1
kind: Boat
metadata: {name: anchor}
hull: {{ .Values.hull }}
`)}},
	}
}

// Helm reports a refused change as it is, and the release as failed. It never deletes the object, with --force-replace either.
func TestRefusedChange(t *testing.T) {
	t.Parallel()
	for name, status := range map[string]int{"400": 400, "422": 422} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kubeconfig := servertest.Start(t, apiserver.Config{ImmutabilityStatus: status}).Kubeconfig()
			s := newShop(t, kubeconfig, "default", true)
			install := action.NewInstall(s.config)
			install.ReleaseName, install.Namespace = "shop", s.namespace
			install.WaitStrategy, install.Timeout = kube.HookOnlyStrategy, timeout
			if _, err := install.Run(boats(), nil); err != nil {
				t.Fatal(err)
			}
			clients := dynamic.NewForConfigOrDie(servertest.Config(t, kubeconfig))
			boat := clients.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "boats"}).Namespace(s.namespace)
			before, err := boat.Get(t.Context(), "anchor", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}

			for _, replace := range []bool{false, true} {
				upgrade := action.NewUpgrade(s.config)
				upgrade.Namespace, upgrade.WaitStrategy, upgrade.Timeout = s.namespace, kube.HookOnlyStrategy, timeout
				if upgrade.ForceReplace = replace; replace {
					upgrade.ServerSideApply = "false"
				}
				_, err := upgrade.Run("shop", boats(), map[string]any{"hull": "steel"})
				if err == nil || !strings.Contains(err.Error(), `hull: field is immutable: changed from "oak" to "steel"`) {
					t.Errorf("upgrade with replace %t: %v", replace, err)
				}
			}

			after, err := boat.Get(t.Context(), "anchor", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("the object changed (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"1 deployed ssa", "2 failed ssa", "3 failed csa"}, s.history(t)); diff != "" {
				t.Errorf("history (-want +got):\n%s", diff)
			}
		})
	}
}
