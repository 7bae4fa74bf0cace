package cli_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/cli"
	"holdfast.dev/holdfast/internal/waittest"
)

// nodeKubeconfig requests the kubeconfig of a node from a server and returns the path of its
// file.
func nodeKubeconfig(t *testing.T, server *servertest.Server, node string) string {
	t.Helper()
	text, err := run(t.Context(), "kubeconfig", "--node", node, "--kubeconfig", server.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "node.kubeconfig")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestNode gets a credential, runs the agent with it, and prints its status after agent and
// server have stopped.
func TestNode(t *testing.T) {
	server := servertest.Start(t, apiserver.Config{})
	client := server.Client(t)
	kubeconfig, root := nodeKubeconfig(t, server, "host-1"), filepath.Join(t.TempDir(), "root")
	immutable := true
	_, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "app"}, Immutable: &immutable, Data: map[string]string{"app.conf": "one"},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	no := false
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.PodSpec{
		NodeName: "host-1", AutomountServiceAccountToken: &no, Containers: []corev1.Container{{Name: "c", Image: "i"}},
		Volumes: []corev1.Volume{{Name: "conf", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: "app"},
		}}}},
	}}
	waittest.Until(t, "the pod is created", func() error {
		_, err := client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})
		return err
	})

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	var out string
	go func() {
		var err error
		out, err = run(ctx, "node", "--name", "host-1", "--kubeconfig", kubeconfig, "--root", root,
			"--metrics-address", "", "--feature-gates", "ImmutableEphemeralVolumes=true")
		ended <- err
	}()
	waittest.Until(t, "the files of the volume", func() bool {
		files, err := filepath.Glob(filepath.Join(root, "pods/*/volumes/conf/app.conf"))
		if err != nil || len(files) != 1 {
			return false
		}
		data, err := os.ReadFile(files[0])
		return err == nil && string(data) == "one"
	})
	examine := func(want string) {
		t.Helper()
		if out, _ := run(t.Context(), "doctor", "--root", root); !strings.Contains(out, want) {
			t.Errorf("the doctor does not say %q:\n%s", want, out)
		}
	}
	examine("the files of 1 volumes are what the agent wrote")
	examine("the agent runs")
	stop()
	if err := <-ended; err != nil {
		t.Errorf("the agent ended with %v", err)
	}
	examine("no agent runs")
	if want := "holdfast: node host-1 keeps volumes in " + root + "\n"; out != want {
		t.Errorf("it printed %q, want %q", out, want)
	}
	if err := server.Stop(); err != nil {
		t.Error(err)
	}

	status, err := run(t.Context(), "node", "status", "--root", root)
	if err != nil {
		t.Fatal(err)
	}
	want := regexp.MustCompile(`^POD +VOLUME +SOURCE +UID +VERSION +MODE +DIGEST +AGE +FILES\n` +
		`default/web +conf +configmap/app +[0-9a-f-]{36} +\d+ +immutable +[0-9a-f]{12} +\d+\S* +ok\n$`)
	if !want.MatchString(status) {
		t.Errorf("status:\n%s", status)
	}
}

// TestNodeWrongCredential checks that the agent ends with an error, and writes nothing, if
// its credential is that of another node or of a user.
func TestNodeWrongCredential(t *testing.T) {
	server := servertest.Start(t, apiserver.Config{})
	kubeconfig, root := nodeKubeconfig(t, server, "host-1"), filepath.Join(t.TempDir(), "root")
	for file, want := range map[string]string{
		kubeconfig: `node: the credential is that of node host-1, and this is the agent of node host-2: ` +
			`give --name host-1, or get another with "holdfast kubeconfig --node host-2"`,
		server.Kubeconfig(): `node: the credential is that of user holdfast-admin, and the agent of node host-2 needs that of its node: ` +
			`get it with "holdfast kubeconfig --node host-2"`,
	} {
		out, err := run(t.Context(), "node", "--name", "host-2", "--kubeconfig", file, "--root", root)
		if err == nil || err.Error() != want || out != "" {
			t.Errorf("it printed %q and ended with %v\nwant %s", out, err, want)
		}
	}
	if _, err := os.Stat(root); !os.IsNotExist(err) {
		t.Errorf("the root was created: %v", err)
	}
}

// TestNodeRootInUse checks that an agent ends if another agent uses its root, and that the
// certificate of the other agent is not replaced.
func TestNodeRootInUse(t *testing.T) {
	server := servertest.Start(t, apiserver.Config{})
	root := filepath.Join(t.TempDir(), "root")
	args := func(name string) []string {
		t.Helper()
		file := nodeKubeconfig(t, server, name)
		return []string{"node", "--name", name, "--kubeconfig", file, "--root", root, "--metrics-address", ""}
	}
	first, second := args("host-1"), args("host-2")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() {
		_, err := run(ctx, first...)
		ended <- err
	}()
	waittest.Until(t, "the first agent runs", func() error {
		_, err := server.Client(t).CoreV1().Nodes().Get(t.Context(), "host-1", metav1.GetOptions{})
		return err
	})
	certificate := filepath.Join(root, "credential/client.pem")
	before, err := os.ReadFile(certificate)
	if err != nil {
		t.Fatal(err)
	}
	out, err := run(t.Context(), second...)
	if want := "node: " + root + " is in use by another agent"; err == nil || err.Error() != want || out != "" {
		t.Errorf("it printed %q and ended with %v\nwant %s", out, err, want)
	}
	if after, err := os.ReadFile(certificate); err != nil {
		t.Error(err)
	} else if string(after) != string(before) {
		t.Error("the certificate of the first agent was replaced")
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	// The root is free again, and belongs to the first node.
	if _, err := run(ctx, second...); err == nil || !strings.Contains(err.Error(), "has the volumes of node host-1") {
		t.Errorf("the second node got the root of the first: %v", err)
	}
	// The context has ended, so the second agent ends directly.
	if out, err := run(ctx, append(second, "--take-over")...); err != nil || out != "holdfast: node host-2 keeps volumes in "+root+"\n" {
		t.Errorf("it printed %q and ended with %v", out, err)
	}
}

// TestNodeServerAway checks that the agent prints one line when the server is unreachable and
// one when it is back.
func TestNodeServerAway(t *testing.T) {
	config := apiserver.Config{DataDir: t.TempDir(), Port: servertest.FreePort(t)}
	server := servertest.Start(t, config)
	kubeconfig, root := nodeKubeconfig(t, server, "host-1"), filepath.Join(t.TempDir(), "root")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	printed, ended := make(lines, 100), make(chan error, 1)
	go func() {
		ended <- cli.Run(ctx, cli.Streams{Out: printed, Err: printed}, []string{
			"node", "--name", "host-1", "--kubeconfig", kubeconfig, "--root", root, "--metrics-address", "",
		})
	}()
	read := func(want string) {
		t.Helper()
		select {
		case line := <-printed:
			if !strings.HasPrefix(line, want) {
				t.Errorf("it printed %q, want %q", line, want)
			}
		case err := <-ended:
			t.Fatalf("it ended with %v", err)
		case <-time.After(waittest.Patience):
			t.Fatalf("it did not print %q within %s", want, waittest.Patience)
		}
	}
	read("holdfast: node host-1 keeps volumes in " + root + "\n")
	waittest.Until(t, "the node is registered", func() error {
		_, err := server.Client(t).CoreV1().Nodes().Get(t.Context(), "host-1", metav1.GetOptions{})
		return err
	})
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	read("holdfast: node host-1: the server is away, and volumes stay as they are: ")
	servertest.Start(t, config)
	read("holdfast: node host-1: the server is back after ")
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if len(printed) > 0 {
		t.Errorf("it also printed %q", <-printed)
	}
}

func TestNodeRefuses(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	tests := map[string]struct {
		args []string
		want string
	}{
		"no such root": {
			[]string{"status", "--root", none},
			"node status: " + none + ": no agent has been here: there is no directory state",
		},
		"no kubeconfig":     {[]string{"--kubeconfig", none, "--root", none}, "node: your kubeconfig: stat " + none + ": no such file or directory"},
		"unknown gate":      {[]string{"--feature-gates", "Nothing=true"}, "unrecognized feature gate: Nothing"},
		"an extra argument": {[]string{"now"}, `unknown command "now" for "holdfast node"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := run(t.Context(), append([]string{"node"}, test.args...)...)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
	help, err := run(t.Context(), "node", "--help")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(help, "The agent runs no containers") || !strings.Contains(help, `"127.0.0.1:9464"`) {
		t.Errorf("the help does not say that it runs nothing, or where it listens:\n%s", help)
	}
	for _, flag := range []string{
		"--kubeconfig", "--name", "--root", "--metrics-address",
		"--hooks-dir", "--hooks-user", "--hook-timeout", "--hook-concurrency", "--files-group", "--namespace-limit", "--take-over", "--finished-ttl",
		"--secrets-on-disk", "--feature-gates",
	} {
		if !strings.Contains(help, flag) {
			t.Errorf("%s is not in the help", flag)
		}
	}
}
