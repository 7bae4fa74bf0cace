package apiserver_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
)

func TestStartFindsWhatClientsExpect(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server := servertest.Start(t, apiserver.Config{DataDir: dir})
	client := server.Client(t)

	list, err := client.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	if diff := cmp.Diff([]string{"default", "kube-node-lease", "kube-public", "kube-system"}, names); diff != "" {
		t.Errorf("namespaces (-want +got):\n%s", diff)
	}
	service, err := client.CoreV1().Services("default").Get(t.Context(), "kubernetes", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if service.Spec.ClusterIP != "10.96.0.1" || service.Spec.Ports[0].Port != 443 {
		t.Errorf("service kubernetes: %+v", service.Spec)
	}
	version, err := client.Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if version.Major != "1" || version.Minor != "37" || !strings.HasPrefix(version.GitVersion, apiserver.KubernetesVersion) {
		t.Errorf("version: %+v", version)
	}
	info, err := os.Stat(server.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("kubeconfig has mode %o", info.Mode().Perm())
	}
}

func TestStartKeepsData(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server := servertest.Start(t, apiserver.Config{DataDir: dir})
	created, err := server.Client(t).CoreV1().ConfigMaps("default").Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept"}, Data: map[string]string{"a": "b"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(dir, "pki", "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}

	again := servertest.Start(t, apiserver.Config{DataDir: dir})
	found, err := again.Client(t).CoreV1().ConfigMaps("default").Get(t.Context(), "kept", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(created, found); diff != "" {
		t.Errorf("(-created +found):\n%s", diff)
	}
	after, err := os.ReadFile(filepath.Join(dir, "pki", "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	if string(before) != string(after) {
		t.Error("the authority was replaced")
	}
}

func TestStartRefuses(t *testing.T) {
	t.Parallel()
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	used := t.TempDir()
	servertest.Start(t, apiserver.Config{DataDir: used})

	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "not a directory")

	corruptCA := t.TempDir()
	write(t, filepath.Join(corruptCA, "pki", "ca.crt"), "garbage")
	write(t, filepath.Join(corruptCA, "pki", "ca.key"), "garbage")

	cases := map[string]struct {
		config apiserver.Config
		want   string
	}{
		"no data directory":   {apiserver.Config{}, "data directory: required"},
		"directory in use":    {apiserver.Config{DataDir: used}, "in use by another holdfast server"},
		"directory is a file": {apiserver.Config{DataDir: file}, "not a directory"},
		"port in use":         {apiserver.Config{DataDir: t.TempDir(), Port: busy.Addr().(*net.TCPAddr).Port}, "address already in use"},
		"port out of range":   {apiserver.Config{DataDir: t.TempDir(), Port: 65536}, "must be between 0 and 65535"},
		"not an address":      {apiserver.Config{DataDir: t.TempDir(), BindAddress: "here"}, `bind address "here": not an IP address`},
		"corrupt authority":   {apiserver.Config{DataDir: corruptCA}, "ca.crt: certificate: no PEM data"},
		"unreachable etcd": {
			apiserver.Config{DataDir: t.TempDir(), Etcd: etcd.Cluster{Servers: []string{"http://127.0.0.1:1"}}},
			"etcd at http://127.0.0.1:1: no answer within",
		},
		"half an etcd key pair": {
			apiserver.Config{DataDir: t.TempDir(), Etcd: etcd.Cluster{Servers: []string{"http://127.0.0.1:1"}, CertFile: "c"}},
			"certificate and key belong together",
		},
		"certificates, no etcd": {apiserver.Config{DataDir: t.TempDir(), Etcd: etcd.Cluster{CAFile: "c"}}, "no etcd servers"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := apiserver.New(t.Context(), c.config)
			if err == nil {
				t.Fatal("started")
			}
			if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %q, want one line with %q", err, c.want)
			}
		})
	}
}

// If etcd cannot read its data, the error names the directory, and the damaged file is
// kept.
func TestStartRefusesCorruptData(t *testing.T) {
	t.Parallel()
	for _, damaged := range []string{"etcd/member/snap/db", "etcd/member/wal/0000000000000000-0000000000000000.wal"} {
		t.Run(filepath.Base(damaged), func(t *testing.T) {
			dir := t.TempDir()
			if err := servertest.Start(t, apiserver.Config{DataDir: dir}).Stop(); err != nil {
				t.Fatal(err)
			}
			garbage := strings.Repeat("garbage ", 4096)
			// A new file, because etcd may still close the old one.
			if err := os.Remove(filepath.Join(dir, damaged)); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, damaged), garbage)

			_, err := apiserver.New(t.Context(), apiserver.Config{DataDir: dir})
			if err == nil {
				t.Fatal("started")
			}
			if !strings.Contains(err.Error(), "open etcd data in "+filepath.Join(dir, "etcd")) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %q", err)
			}
			// etcd truncates the damaged end of its log, as after a crash, and keeps a copy.
			kept := slices.ContainsFunc([]string{damaged, damaged + ".broken"}, func(name string) bool {
				data, err := os.ReadFile(filepath.Join(dir, name))
				return err == nil && string(data) == garbage
			})
			if !kept {
				t.Error("the damaged file is gone")
			}
		})
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A server that is stopped while it starts returns no error, at whatever point of the
// start it is.
func TestEndWhileStarting(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, milliseconds := range []int{0, 100, 200, 400, 800} {
		server, err := apiserver.New(t.Context(), apiserver.Config{DataDir: dir, Kubeconfig: filepath.Join(dir, "kubeconfig")})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Duration(milliseconds)*time.Millisecond, cancel)
		if err := server.Run(ctx, func() {}); err != nil {
			t.Errorf("told to end after %d ms: %v", milliseconds, err)
		}
	}
}

// A start hook that fails ends the server, and the error names the hook.
func TestFailedHookEndsTheStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server, err := apiserver.New(t.Context(), apiserver.Config{DataDir: dir, Kubeconfig: filepath.Join(dir, "kubeconfig")})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.OnStart("hopeless", func() error { return errors.New("there is no hope") }); err != nil {
		t.Fatal(err)
	}
	if err := server.Run(t.Context(), func() { t.Error("it is ready") }); err == nil || err.Error() != "hopeless: there is no hope" {
		t.Errorf("ended with %v", err)
	}
}
