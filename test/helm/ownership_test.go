package helm_test

import (
	"fmt"
	"net/http"
	"regexp"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
)

// warnings collects the warnings that a client gets.
type warnings struct {
	mu    sync.Mutex
	lines []string
}

var instant = regexp.MustCompile(`at \d{4}-[0-9T:-]+Z`)

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, instant.ReplaceAllString(text, "at TIME"))
}

// take returns the warnings since the last call, without times.
func (w *warnings) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	lines := w.lines
	w.lines = nil
	return lines
}

// kubectl is a client that writes as a command of kubectl.
type kubectl struct {
	kubernetes.Interface
	*warnings
	namespace string
}

func newKubectl(t *testing.T, kubeconfig, namespace, command string) kubectl {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	said := &warnings{}
	config.WarningHandler, config.UserAgent = said, "kubectl/v1.32.0"
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return named{next, command} })
	return kubectl{kubernetes.NewForConfigOrDie(config), said, namespace}
}

// named adds the header of a command to requests.
type named struct {
	http.RoundTripper
	command string
}

// RoundTrip implements http.RoundTripper.
func (n named) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Kubectl-Command", n.command)
	return n.RoundTripper.RoundTrip(req)
}

// applyColor is kubectl apply of the ConfigMap of the release.
func (k kubectl) applyColor(t *testing.T, color string) []string {
	t.Helper()
	patch := fmt.Sprintf(`{"data":{"color":%q},"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":%q}}}`,
		color, fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"shop"},"data":{"color":%q}}`, color))
	options := metav1.PatchOptions{FieldManager: "kubectl-client-side-apply"}
	_, err := k.CoreV1().ConfigMaps(k.namespace).Patch(t.Context(), "shop", types.StrategicMergePatchType, []byte(patch), options)
	if err != nil {
		t.Fatal(err)
	}
	return k.take()
}

// scale is kubectl scale of the Deployment of the release.
func (k kubectl) scale(t *testing.T, replicas int) []string {
	t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	_, err := k.AppsV1().Deployments(k.namespace).Patch(t.Context(), "shop", types.MergePatchType, patch, metav1.PatchOptions{}, "scale")
	if err != nil {
		t.Fatal(err)
	}
	return k.take()
}

// forced upgrades a release with server-side apply, which takes the fields of others.
func (s shop) forced(t *testing.T, values map[string]any) error {
	t.Helper()
	upgrade := action.NewUpgrade(s.config)
	upgrade.Namespace, upgrade.WaitStrategy, upgrade.Timeout = s.namespace, kube.HookOnlyStrategy, timeout
	upgrade.ServerSideApply, upgrade.ForceConflicts = "true", true
	_, err := upgrade.Run("shop", load(t), values)
	return err
}

const (
	foreign = "This field's value does not appear in the last configuration applied, was previously set by another source.  " +
		"This field may have been set by a controller outside of apply."
	mismatch = "This field's value does not match the last value set by `apply` (%s), and another source may have updated this field."
	wayOut   = "and may be overwritten or cleared the next time `kubectl apply` is run.  To undo: `kubectl apply` the file again, or " +
		"set the field back to %s.  To keep it: `holdfast transfer configmap/shop -n %s --field '.data.color' --to imperative`."
)

// Helm and kubectl apply change the same fields. Both are told, by their names.
func TestFieldsOfOthers(t *testing.T) {
	kubeconfig := servertest.Start(t, apiserver.Config{}).Kubeconfig()
	expect := func(t *testing.T, who string, got []string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s is told (-want +got):\n%s", who, diff)
		}
	}
	t.Run("client-side", func(t *testing.T) {
		t.Parallel()
		s := newShop(t, kubeconfig, "fields-csa", false)
		apply := newKubectl(t, kubeconfig, s.namespace, "kubectl apply")
		if err := s.install(t, nil); err != nil {
			t.Fatal(err)
		}
		expect(t, "an apply of the same value", apply.applyColor(t, "blue"))
		if err := s.upgrade(t, map[string]any{"replicas": 3}); err != nil {
			t.Fatal(err)
		}
		expect(t, "an upgrade of other fields", s.said.take())
		if err := s.upgrade(t, map[string]any{"color": "red"}); err != nil {
			t.Fatal(err)
		}
		expect(t, "an upgrade", s.said.take(), "`helm.test` changed the resource ConfigMap/shop -n fields-csa field .data.color value from \"blue\" to "+
			"\"red\".  This field is managed by `kubectl apply` (last set the field to \"blue\"), "+fmt.Sprintf(wayOut, `"blue"`, s.namespace))
		expect(t, "an apply", apply.applyColor(t, "green"), "`kubectl apply` is changing the resource ConfigMap/shop -n fields-csa field .data.color value "+
			"from \"red\" to \"green\".  "+fmt.Sprintf(mismatch, `"blue"`)+"  Last set by helm.test at TIME.")
	})
	t.Run("server-side", func(t *testing.T) {
		t.Parallel()
		s := newShop(t, kubeconfig, "fields-ssa", true)
		apply, scale := newKubectl(t, kubeconfig, s.namespace, "kubectl apply"), newKubectl(t, kubeconfig, s.namespace, "kubectl scale")
		if err := s.install(t, nil); err != nil {
			t.Fatal(err)
		}
		expect(t, "an apply", apply.applyColor(t, "green"), "WARNING: `kubectl apply` is changing the resource ConfigMap/shop -n fields-ssa field .data.color "+
			"value from \"blue\" to \"green\".  "+foreign+"  Last set by helm.test at TIME.")
		expect(t, "a scale", scale.scale(t, 7), "`kubectl scale` changed the resource apps/Deployment/shop -n fields-ssa field .spec.replicas value from 2 to "+
			"7.  This field is managed by server-side apply (helm.test) (last set the field to 2).  "+
			"The next apply of helm.test is refused with a conflict unless it forces.")
		if err := s.forced(t, map[string]any{"color": "red"}); err != nil {
			t.Fatal(err)
		}
		expect(t, "an upgrade", s.said.take(),
			"WARNING: server-side apply (helm.test) is changing the resource ConfigMap/shop -n fields-ssa field .data.color value from \"green\" to \"red\".  "+
				"Client-side `kubectl apply` last set this field to \"green\", and may set it again the next time it is run.  Last set by kubectl-client-side-apply at TIME.",
			"WARNING: server-side apply (helm.test) is changing the resource apps/Deployment/shop -n fields-ssa field .spec.replicas value from 7 to 2.  "+
				foreign+"  Last set by kubectl scale at TIME.")
	})
	t.Run("from client-side to server-side", func(t *testing.T) {
		t.Parallel()
		s := newShop(t, kubeconfig, "fields-both", false)
		if err := s.install(t, nil); err != nil {
			t.Fatal(err)
		}
		if err := s.forced(t, map[string]any{"color": "red", "replicas": 3, "port": 8080}); err != nil {
			t.Fatal(err)
		}
		expect(t, "an upgrade", s.said.take())
	})
}

var _ rest.WarningHandler = &warnings{}
