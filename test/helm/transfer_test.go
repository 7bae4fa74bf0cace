package helm_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/cli"
)

// TestTransferToHelm checks that Helm removes a field that is not in its chart after a transfer, and not before: a field that an
// earlier Helm set with patches, and one of kubectl apply. An object of another tool keeps its managers.
func TestTransferToHelm(t *testing.T) {
	// The manager of Helm is the name of its program.
	kube.ManagedFieldsManager = "helm"
	t.Cleanup(func() { kube.ManagedFieldsManager = "" })
	kubeconfig := servertest.Start(t, apiserver.Config{}).Kubeconfig()
	s := newShop(t, kubeconfig, "transferred", true)
	if err := s.install(t, nil); err != nil {
		t.Fatal(err)
	}
	maps := newKubectl(t, kubeconfig, s.namespace, "kubectl apply").CoreV1().ConfigMaps(s.namespace)
	for _, set := range []struct{ manager, patch string }{
		{"helm", `{"data":{"old-chart":"x"}}`},
		{"kubectl-client-side-apply", `{"data":{"by-hand":"x"}}`},
	} {
		options := metav1.PatchOptions{FieldManager: set.manager}
		if _, err := maps.Patch(t.Context(), "shop", types.MergePatchType, []byte(set.patch), options); err != nil {
			t.Fatal(err)
		}
	}
	keys := func() string {
		t.Helper()
		if err := s.upgrade(t, nil); err != nil {
			t.Fatal(err)
		}
		obj, err := maps.Get(t.Context(), "shop", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, key := range []string{"color", "old-chart", "by-hand"} {
			if _, ok := obj.Data[key]; ok {
				found = append(found, key)
			}
		}
		return strings.Join(found, " ")
	}
	if got := keys(); got != "color old-chart by-hand" {
		t.Errorf("before the transfer, an upgrade leaves %s", got)
	}
	var out, notes bytes.Buffer
	err := cli.Run(t.Context(), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &notes}, []string{
		"transfer", "--kubeconfig", kubeconfig, "-n", s.namespace, "--preset", "helm", "--record", filepath.Join(t.TempDir(), "moved.jsonl"),
	})
	if err != nil {
		t.Fatalf("%v: %s", err, notes.String())
	}
	if !strings.Contains(out.String(), "configmaps/shop -n transferred: ") {
		t.Errorf("the command prints %s", out.String())
	}
	if got := keys(); got != "color" {
		t.Errorf("after the transfer, an upgrade leaves %s", got)
	}
}
