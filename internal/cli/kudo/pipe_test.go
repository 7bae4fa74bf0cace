package kudo_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

// testPipe runs Pipe tasks on a cluster with a kubelet that serves exec.
func testPipe(t *testing.T, s *stock) {
	older, newer := publicPackage(t, "pipe", "0.1.0"), publicPackage(t, "pipe", "0.2.0")
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(s.kubelet.root, "tmp", "out", name)
		if err := os.RemoveAll(file); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("ca.crt", "certificate\x00")
	write("settings.env", "# written by the init container\nHOST=db\nPORT=5432\n")

	s.fails(t, "it cannot run, because the cluster has no nodes", "install", older, "--instance", "nowhere", "--wait")
	s.must(t, "uninstall", "nowhere", "--wait", "--namespace", s.Namespace)
	if _, err := s.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "pipes"}},
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.keepReady(t, "pipes")

	s.cluster.must(t, "install", older, "--wait")
	certificate, err := s.CoreV1().Secrets(s.Namespace).
		Get(t.Context(), "pipeinstance.deploy.main.collect.collect.cert", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(certificate.Data["ca.crt"]); got != "certificate\x00" {
		t.Errorf("certificate %q", got)
	}
	settings := s.configMap(t, "pipeinstance.deploy.main.collect.collect.settings")
	if diff := cmp.Diff(map[string]string{"HOST": "db", "PORT": "5432"}, settings.Data); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	if got := s.configMap(t, "pipe-instance-app").Data["certificate"]; got != certificate.Name {
		t.Errorf("{{ .Pipes.cert }} is %q", got)
	}
	waittest.Until(t, "the pod is gone", func() bool {
		pods, err := s.CoreV1().Pods(s.Namespace).List(t.Context(), metav1.ListOptions{})
		return err == nil && len(pods.Items) == 0
	})

	// Without WebSockets, the files are read over SPDY.
	s.kubelet.webSockets.Store(false)
	write("ca.crt", "renewed")
	s.cluster.must(t, "update", "pipe-instance", "-p", "SIZE=2", "--wait")
	if got := string(s.configMap(t, "pipeinstance.deploy.main.collect.collect.plain").BinaryData["ca.crt"]); got != "renewed" {
		t.Errorf("after an update %q", got)
	}
	want := []string{"holdfast-admin WebSocket", "holdfast-admin SPDY"}
	s.kubelet.mu.Lock()
	got := slices.Compact(slices.Clone(s.kubelet.users))
	s.kubelet.mu.Unlock()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
	s.kubelet.webSockets.Store(true)
	s.cluster.must(t, "upgrade", newer, "--instance", "pipe-instance", "--wait")
	s.cluster.must(t, "rollback", "--instance", "pipe-instance", "--wait")
	s.cluster.must(t, "uninstall", "--instance", "pipe-instance", "--wait")
	waittest.Until(t, "the artifacts are gone", func() bool {
		_, err := s.CoreV1().Secrets(s.Namespace).Get(t.Context(), certificate.Name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

// testPipeRefused checks that a Pipe task reads only regular files of a limited size, and only
// for a user that may use exec.
func testPipeRefused(t *testing.T, s *stock) {
	location := publicPackage(t, "pipe", "0.1.0")
	out := filepath.Join(s.kubelet.root, "tmp", "out")
	if err := os.MkdirAll(out, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(out, "settings.env"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.keepReady(t, "pipes")
	file := filepath.Join(out, "ca.crt")
	for name, test := range map[string]struct {
		write func() error
		want  string
	}{
		"missing": {func() error { return nil }, "file /tmp/out/ca.crt: tar ended with code 2: "},
		"link":    {func() error { return os.Symlink("/etc/passwd", file) }, "file /tmp/out/ca.crt: not a regular file"},
		"folder":  {func() error { return os.Mkdir(file, 0o755) }, "file /tmp/out/ca.crt: not a regular file"},
		"large": {
			func() error { return os.WriteFile(file, make([]byte, 3<<20), 0o600) }, "file /tmp/out/ca.crt: larger than 1 MiB",
		},
	} {
		if err := os.RemoveAll(file); err != nil {
			t.Fatal(err)
		}
		if err := test.write(); err != nil {
			t.Fatal(err)
		}
		s.cluster.fails(t, test.want, "install", location, "--instance", name, "--wait")
	}

	servertest.Grant(t, s.Interface, rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "trudy"},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"kudo.dev"}, Resources: []string{"*"}, Verbs: []string{"*"}},
			{APIGroups: []string{""}, Resources: []string{"pods", "configmaps", "secrets"}, Verbs: []string{"*"}},
		},
	})
	config := s.server.As(t, "trudy")
	waittest.Until(t, "the server knows the role of trudy", func() error {
		_, err := kubernetes.NewForConfigOrDie(config).CoreV1().Pods(s.Namespace).List(t.Context(), metav1.ListOptions{})
		return err
	})
	s.behind(t, config, nil).fails(t, `user "trudy" cannot create resource "pods/exec" in namespace "pipe-refused"`,
		"install", location, "--instance", "trudys", "--wait")
	pods, err := s.CoreV1().Pods(s.Namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "kudo.dev/instance=trudys"})
	if err != nil || len(pods.Items) > 0 {
		t.Errorf("pods of trudy: %d, %v", len(pods.Items), err)
	}
}
