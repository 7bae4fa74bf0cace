package cli_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/apiserver"
	"holdfast.dev/holdfast/apiserver/servertest"
)

// TestNode walks through what a user does: a credential, the agent, its status,
// also when agent and server are gone.
func TestNode(t *testing.T) {
	server := servertest.Start(t, apiserver.Config{})
	client := server.Client(t)
	dir := t.TempDir()
	kubeconfig, root := filepath.Join(dir, "node.kubeconfig"), filepath.Join(dir, "root")
	credential, err := run(t.Context(), "kubeconfig", "--node", "host-1", "--kubeconfig", server.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(kubeconfig, []byte(credential), 0o600); err != nil {
		t.Fatal(err)
	}
	immutable := true
	_, err = client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{
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
	servertest.Eventually(t, "the pod is created", func() bool {
		_, err := client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})
		return err == nil
	})

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	var out string
	go func() {
		var err error
		out, err = run(ctx, "node", "--name", "host-1", "--kubeconfig", kubeconfig, "--root", root, "--metrics-address", "", "--feature-gates", "ImmutableEphemeralVolumes=true")
		ended <- err
	}()
	servertest.Eventually(t, "the volume is there", func() bool {
		files, err := filepath.Glob(filepath.Join(root, "pods/*/volumes/conf/app.conf"))
		if err != nil || len(files) != 1 {
			return false
		}
		data, err := os.ReadFile(files[0])
		return err == nil && string(data) == "one"
	})
	stop()
	if err := <-ended; err != nil {
		t.Errorf("the agent ended with %v", err)
	}
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

func TestNodeRefuses(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	tests := map[string]struct {
		args []string
		want string
	}{
		"nothing there":     {[]string{"status", "--root", none}, "node status: " + none + ": no agent has been here: there is no directory state"},
		"no kubeconfig":     {[]string{"--kubeconfig", none, "--root", none}, "node: kubeconfig: stat " + none + ": no such file or directory"},
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
	for _, flag := range []string{"--kubeconfig", "--name", "--root", "--metrics-address", "--hooks-dir", "--hooks-user", "--secrets-on-disk", "--feature-gates"} {
		if !strings.Contains(help, flag) {
			t.Errorf("%s is not in the help", flag)
		}
	}
}
