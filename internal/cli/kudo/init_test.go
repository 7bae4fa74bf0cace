package kudo_test

import (
	"bytes"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
)

// testInitAgain checks that init changes nothing if nothing differs, and that it moves the
// manager into the cluster and out again.
func testInitAgain(t *testing.T, s *stock) {
	out := s.initialize(t, "--webhook-url", s.address)
	for line := range strings.Lines(out) {
		if !strings.HasSuffix(line, " unchanged\n") {
			t.Errorf("changed: %s", line)
		}
	}
	if lines := strings.Count(out, "\n"); lines != 15 {
		t.Errorf("%d objects:\n%s", lines, out)
	}
	// The manager moves into the cluster, where it needs another certificate. The certificate
	// authority stays the same.
	secrets := s.CoreV1().Secrets("kudo-system")
	before, err := secrets.Get(t.Context(), "kudo-webhook", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out = s.initialize(t, "--image", "holdfast:test")
	for _, want := range []string{
		"secret/kudo-webhook configured\n", "deployment/kudo-manager created\n", "service/kudo-webhook created\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in:\n%s", want, out)
		}
	}
	after, err := secrets.Get(t.Context(), "kudo-webhook", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before.Data["ca.crt"], after.Data["ca.crt"]) || bytes.Equal(before.Data["tls.crt"], after.Data["tls.crt"]) {
		t.Error("the authority changed, or the certificate did not")
	}
	configurations := s.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	hooks, err := configurations.Get(t.Context(), "kudo-webhook", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, hook := range hooks.Webhooks {
		service, path := hook.ClientConfig.Service, "/validate"
		if hook.Name == "deletions.kudo.dev" {
			path = "/delete"
		}
		if hook.ClientConfig.URL != nil || service == nil || service.Name != "kudo-webhook" || *service.Path != path ||
			!bytes.Equal(hook.ClientConfig.CABundle, after.Data["ca.crt"]) {
			t.Errorf("%s is reached by %v", hook.Name, hook.ClientConfig)
		}
	}
	out = s.initialize(t, "--webhook-url", s.address, "--wait")
	for _, want := range []string{"deployment/kudo-manager deleted\n", "service/kudo-webhook deleted\n", "the webhook answers\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in:\n%s", want, out)
		}
	}
	s.awaitWebhooks(t)
}

// TestInitBuiltIn checks that init installs nothing on a Holdfast server, and that a manager
// refuses to start there, because the server and the manager would both run each plan.
func TestInitBuiltIn(t *testing.T) {
	c := start(t)
	out, err := run(t.Context(), "init", "--kubeconfig", c.kubeconfig)
	if err != nil || out != "this server admits and runs operator packages itself: nothing is installed\n" {
		t.Errorf("init: %v, %q", err, out)
	}
	c.wantNotInitialized(t)
	_, err = run(t.Context(), "manager", "--kubeconfig", c.kubeconfig, "--webhook-address", "127.0.0.1:0", "--health-address", "")
	if err == nil || err.Error() != "this server admits and runs operator packages itself" {
		t.Errorf("manager: %v", err)
	}
}

// wantNotInitialized fails the test if init has created its namespace.
func (c cluster) wantNotInitialized(t *testing.T) {
	t.Helper()
	_, err := c.CoreV1().Namespaces().Get(t.Context(), "kudo-system", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("namespace: %v", err)
	}
}

// TestInitRefused checks the errors of init and manager, and that they write nothing.
func TestInitRefused(t *testing.T) {
	server := servertest.Start(t, apiserver.Config{WithoutOperators: true})
	kubeconfig := server.Kubeconfig()
	for _, test := range []struct {
		want string
		args []string
	}{
		{`--webhook-url "http://a": must be https://HOST[:PORT][/PATH]`, []string{"init", "--webhook-url", "http://a"}},
		{`--service-account "Not A Name": a lowercase RFC 1123 subdomain`, []string{"init", "--service-account", "Not A Name"}},
		{`-o goes with --dry-run`, []string{"init", "-o", "yaml"}},
		{`output "xml": must be yaml or json`, []string{"init", "--dry-run=client", "-o", "xml"}},
		{`run "holdfast kudo init" first`, []string{"manager", "--webhook-address", "127.0.0.1:0", "--health-address", ""}},
		{`--webhook-address: listen tcp: address nowhere`, []string{"manager", "--webhook-address", "nowhere"}},
		{`--tls-cert-file and --tls-private-key-file belong together`, []string{"manager", "--tls-cert-file", "a"}},
		{`certificate of the webhook, none with key none: open none`, []string{
			"manager", "--tls-cert-file", "none", "--tls-private-key-file", "none",
			"--webhook-address", "127.0.0.1:0", "--health-address", "",
		}},
	} {
		out, err := run(t.Context(), append(test.args, "--kubeconfig", kubeconfig)...)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("kudo %s: %v\n%s", strings.Join(test.args, " "), err, out)
		}
	}

	c := clusterOf(t, server)
	c.wantNotInitialized(t)
	c.testInitFlags(t)

	// KUDO on the same cluster would run each plan too.
	labels := map[string]string{"app": "kudo"}
	if _, err := c.AppsV1().StatefulSets("kudo-system").Create(t.Context(), &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "kudo-controller-manager"},
		Spec: appsv1.StatefulSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "manager", Image: "kudo"}}},
			},
		},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err := run(t.Context(), "init", "--kubeconfig", kubeconfig)
	if err == nil || !strings.HasPrefix(err.Error(), "KUDO runs on this cluster") {
		t.Errorf("init: %v", err)
	}
}

// testInitFlags checks the flags of KUDO's init on a server that it was not run for.
func (c cluster) testInitFlags(t *testing.T) {
	t.Helper()
	initialize := func(want string, args ...string) string {
		t.Helper()
		out, err := run(t.Context(), append([]string{"init", "--kubeconfig", c.kubeconfig}, args...)...)
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("init %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return out
	}
	out := initialize("objects that are missing or differ: 17; run init to install them", "--verify")
	if strings.Count(out, " missing\n") != 17 {
		t.Errorf("init --verify:\n%s", out)
	}
	c.wantNotInitialized(t)
	const kinds = "customresourcedefinition/operators.kudo.dev created\n" +
		"customresourcedefinition/operatorversions.kudo.dev created\ncustomresourcedefinition/instances.kudo.dev created\n"
	if out := initialize("", "--crd-only"); out != kinds {
		t.Errorf("init --crd-only:\n%s", out)
	}
	c.wantNotInitialized(t)
	initialize("", "--upgrade", "--kudo-image", "holdfast:test")
	deployed, err := c.AppsV1().Deployments("kudo-system").Get(t.Context(), "kudo-manager", metav1.GetOptions{})
	if err != nil || deployed.Spec.Template.Spec.Containers[0].Image != "holdfast:test" {
		t.Errorf("image %v, %v", deployed.Spec.Template.Spec.Containers, err)
	}
	initialize("", "--verify", "-i", "holdfast:test")
	out = initialize("objects that are missing or differ: 1; run init to install them", "--verify", "-i", "holdfast:other")
	if !strings.Contains(out, "deployment/kudo-manager differs\n") {
		t.Errorf("init --verify:\n%s", out)
	}
}
