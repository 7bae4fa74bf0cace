package doctor_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"holdfast.dev/holdfast/internal/access"
	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/node"
	"holdfast.dev/holdfast/internal/waittest"
)

// TestDoctorAgent examines the root of an agent that runs, that is stopped, and whose files were changed, and its client certificate.
func TestDoctorAgent(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	server := servertest.Start(t, apiserver.Config{DataDir: dir})
	client := server.Client(t)
	root := filepath.Join(t.TempDir(), "root")
	agent, err := node.New(node.Config{Client: client, Name: "host-1", Root: root})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = agent.Run(ctx) })
	stop := sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
	defer stop()

	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "app"}, Data: map[string]string{"file": "1"}}
	if _, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	source := corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "app"}}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.PodSpec{
		NodeName: "host-1", AutomountServiceAccountToken: new(bool),
		Containers: []corev1.Container{{Name: "a", Image: "a"}}, Volumes: []corev1.Volume{{Name: "conf", VolumeSource: source}},
	}}
	waittest.Until(t, "the pod is created", func() error {
		_, err := client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})
		return err
	})
	file := filepath.Join(root, "by-name", "default", "web", "conf", "file")
	waittest.Until(t, "the file is written", func() error {
		_, err := os.Stat(file)
		return err
	})
	check := func(code int, texts ...string) {
		t.Helper()
		out, got := run(t, "--root", root)
		want(t, out, texts...)
		if got != code {
			t.Errorf("exit code %d, want %d:\n%s", got, code, out)
		}
	}
	check(0, "the files of 1 volumes are what the agent wrote", "the agent runs")
	stop()
	check(1, "no agent runs", "agent: start the agent: systemctl start holdfast-node")
	if err := os.WriteFile(file, []byte("2"), 0o600); err != nil {
		t.Fatal(err)
	}
	check(1, "volume conf of pod default/web", "volumes: start the agent again")

	saveCertificate(t, dir, root, time.Now())
	check(1, "credential   ok", "the client certificate ends in 9 hours")
	saveCertificate(t, dir, root, time.Now().Add(-9*time.Hour))
	check(1, "credential   warning", "ends in 59 minutes", "credential: start the agent while the server can be reached")
	saveCertificate(t, dir, root, time.Now().Add(-13*time.Hour))
	check(1, "credential   error", "has ended 3 hours ago", "holdfast kubeconfig --node NAME")
	saveCertificate(t, dir, root, time.Now().Add(3*time.Hour))
	check(1, "credential   error", "begins at", "set the clock of this machine")
}

// TestDoctorExpired examines a server with a kubeconfig whose client certificate has expired.
func TestDoctorExpired(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	server := servertest.Start(t, apiserver.Config{DataDir: dir})
	config, err := clientcmd.LoadFromFile(server.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	cert, key := signCertificate(t, dir, time.Now().Add(-13*time.Hour))
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range config.AuthInfos {
		user.ClientCertificateData, user.ClientKeyData = cert, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	}
	file := filepath.Join(t.TempDir(), "expired.kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	out, code := run(t, "--kubeconfig", file)
	want(t, out, "kubeconfig   error", "the client certificate has ended 3 hours ago", "kubeconfig: get another kubeconfig")
	if code != 2 { // the server rejects the certificate, so that nothing could be examined
		t.Errorf("exit code %d", code)
	}
}

// saveCertificate writes a client certificate of ten hours as that of the agent.
func saveCertificate(t *testing.T, dir, root string, begin time.Time) {
	t.Helper()
	cert, _ := signCertificate(t, dir, begin)
	file := filepath.Join(root, "credential", "client.pem")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, cert, 0o600); err != nil {
		t.Fatal(err)
	}
}

// signCertificate returns a client certificate of ten hours, and its key.
func signCertificate(t *testing.T, dir string, begin time.Time) ([]byte, *ecdsa.PrivateKey) {
	t.Helper()
	pki, err := access.OpenPKI(filepath.Join(dir, "pki"), nil)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	request := access.ClientRequest{Public: key.Public(), Subject: access.NodeSubject("host-1"), Life: 10 * time.Hour}
	cert, err := pki.Authority().SignClient(request, begin)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}
