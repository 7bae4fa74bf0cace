package helm_test

import (
	"context"
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/loader"
	"helm.sh/helm/v4/pkg/kube"
	releasev1 "helm.sh/helm/v4/pkg/release/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/othercluster/guard"
	"holdfast.dev/holdfast/internal/othercluster/guard/setup"
	"holdfast.dev/holdfast/internal/othercluster/installation"
	"holdfast.dev/holdfast/internal/policy"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// guardImage is the image of the guard in these tests. No node runs it.
const guardImage = "registry.example.com/holdfast@sha256:1111"

// installGuard installs the chart of the guard.
func installGuard(t *testing.T, kubeconfig string, namespace string, values map[string]any) (*releasev1.Release, error) {
	t.Helper()
	loaded, err := loader.Load("../../dist/helm/holdfast-guard")
	if err != nil {
		t.Fatal(err)
	}
	install := action.NewInstall(newShop(t, kubeconfig, namespace, true).config)
	install.ReleaseName, install.Namespace, install.CreateNamespace = "guard", namespace, true
	install.WaitStrategy, install.Timeout = kube.HookOnlyStrategy, timeout
	released, err := install.Run(loaded, values)
	if err != nil {
		return nil, err
	}
	release, ok := released.(*releasev1.Release)
	if !ok {
		t.Fatalf("unexpected release %T", released)
	}
	return release, nil
}

// documents decodes the objects of a manifest.
func documents(t *testing.T, text string) map[string]any {
	t.Helper()
	objects := map[string]any{}
	for document := range strings.SplitSeq(text, "\n---\n") {
		object := yamltest.Map(t, document)
		if object != nil {
			u := unstructured.Unstructured{Object: object}
			objects[u.GetKind()+"/"+u.GetName()] = object
		}
	}
	return objects
}

// TestGuardChart installs the chart of the guard. Its objects are those of "holdfast guard init", and with their
// rights a guard makes its keys and writes the webhook configuration.
func TestGuardChart(t *testing.T) {
	server := servertest.Start(t, apiserver.Config{})
	for name, values := range map[string]map[string]any{
		"without an image": {},
		"one replica":      {"image": guardImage, "replicas": 1},
		"an unknown value": {"image": guardImage, "replica": 2},
	} {
		if _, err := installGuard(t, server.Kubeconfig(), guard.Namespace, values); err == nil {
			t.Errorf("%s: installed", name)
		}
	}
	if _, err := installGuard(t, server.Kubeconfig(), "other", map[string]any{"image": guardImage}); err == nil ||
		!strings.Contains(err.Error(), "--namespace holdfast-guard") {
		t.Errorf("in another namespace: %v", err)
	}
	release, err := installGuard(t, server.Kubeconfig(), guard.Namespace, map[string]any{"image": guardImage})
	if err != nil {
		t.Fatal(err)
	}
	expectObjects(t, release)
	guarded := runGuard(t, server)
	client := server.Client(t)
	configurations := client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	waittest.Until(t, "the guard writes the webhook configuration", func() error {
		_, err := configurations.Get(t.Context(), guard.Name, metav1.GetOptions{})
		return err
	})
	if _, err := client.CoreV1().Secrets(guard.Namespace).Get(t.Context(), guard.SecretName, metav1.GetOptions{}); err != nil {
		t.Errorf("the guard made no keys: %v", err)
	}
	expectUninstall(t, server, release)
	guarded()
	if _, err := configurations.Get(t.Context(), guard.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the webhook configuration is left: %v", err)
	}
}

// expectObjects compares the chart with the objects of "holdfast guard init", but for its keys, and for the namespace, which
// Helm makes.
func expectObjects(t *testing.T, release *releasev1.Release) {
	t.Helper()
	got := documents(t, release.Manifest)
	for _, crd := range release.Chart.CRDObjects() {
		for name, object := range documents(t, string(crd.File.Data)) {
			got[name] = object
		}
	}
	objects, err := setup.Objects(setup.Config{Image: guardImage})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{}
	for _, object := range objects {
		if kind := object.GetKind(); kind != "Namespace" && kind != "Secret" {
			object.SetLabels(nil) // Helm has labels of its own
			want[kind+"/"+object.GetName()] = object.Object
		}
	}
	if diff := cmp.Diff(normal(t, want), normal(t, got)); diff != "" {
		t.Errorf("dist/helm/holdfast-guard is not guard/setup/objects: run make generate, or change workload.yaml (-want +got):\n%s", diff)
	}
}

// normal returns a value as its YAML, so that numbers of all types are equal.
func normal(t *testing.T, value any) string {
	t.Helper()
	text, err := yaml.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// runGuard runs a guard with the rights of its service account, and returns a function that stops it.
func runGuard(t *testing.T, server *servertest.Server) func() {
	t.Helper()
	// The guard ends if it may not read what it needs at its start.
	for _, right := range []authorizationv1.ResourceAttributes{
		{Verb: "create", Group: "admissionregistration.k8s.io", Resource: "validatingwebhookconfigurations"},
		{Verb: "list", Group: policy.Policies().Group, Resource: policy.Policies().Resource},
		{Verb: "get", Namespace: guard.Namespace, Resource: "secrets", Name: guard.SecretName},
	} {
		servertest.AwaitRight(t, server.Client(t), guardAccount, right)
	}
	waittest.Until(t, "policies are served", func() error {
		_, err := dynamic.NewForConfigOrDie(server.Config(t)).Resource(policy.Policies()).List(t.Context(), metav1.ListOptions{})
		return err
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := url.URL{Scheme: "https", Host: listener.Addr().String()}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	config := guard.Config{Client: server.As(t, guardAccount,
		"system:serviceaccounts", "system:serviceaccounts:holdfast-guard", "system:authenticated"), Webhook: listener, URL: address.String()}
	ended := make(chan error, 1)
	go func() { ended <- guard.Run(ctx, config) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("guard ended with %v", err)
		}
	}
}

// guardAccount is the service account of the guard.
const guardAccount = "system:serviceaccount:holdfast-guard:holdfast-guard"

// expectUninstall creates the objects of the hook, and does the work of its Job with the rights of its account. The server
// has no controller for Jobs, so Helm would wait forever.
func expectUninstall(t *testing.T, server *servertest.Server, release *releasev1.Release) {
	t.Helper()
	admin, err := dynamic.NewForConfig(server.Config(t))
	if err != nil {
		t.Fatal(err)
	}
	var arguments []string
	for _, hook := range release.Hooks {
		object := yamltest.Object(t, hook.Manifest)
		if hook.Kind == "Job" {
			containers, _, _ := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
			container, _ := containers[0].(map[string]any)
			arguments, _, _ = unstructured.NestedStringSlice(container, "args")
		}
		resource := object.GroupVersionKind().GroupVersion().WithResource(strings.ToLower(hook.Kind) + "s")
		at := dynamic.ResourceInterface(admin.Resource(resource))
		if object.GetNamespace() != "" {
			at = admin.Resource(resource).Namespace(object.GetNamespace())
		}
		if _, err := at.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
			t.Fatalf("%s %s: %v", hook.Kind, hook.Name, err)
		}
	}
	if got, want := strings.Join(arguments, " "), "guard uninstall --webhooks-only"; got != want {
		t.Fatalf("the hook runs %s, want %s", got, want)
	}
	account := server.As(t, "system:serviceaccount:holdfast-guard:holdfast-guard-uninstall", "system:authenticated")
	waittest.Until(t, "the hook removes the webhooks", func() error {
		err := setup.Uninstall(t.Context(), account, setup.UninstallOptions{WebhooksOnly: true, Report: func(installation.Outcome) {}})
		if err != nil && !apierrors.IsForbidden(err) {
			t.Fatal(err)
		}
		return err
	})
}
