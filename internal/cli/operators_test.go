package cli_test

import (
	"context"
	"io"
	"path/filepath"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/cli"
)

// TestServeWithoutOperators checks that serve --operators=false does not serve kudo.dev.
func TestServeWithoutOperators(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	printed, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		args := []string{"serve", "--data-dir", dir, "--secure-port", "0", "--operators=false"}
		done <- cli.Run(ctx, cli.Streams{Out: out, Err: out}, args)
		_ = out.Close()
	}()
	// Wait for the line that the server is ready.
	if _, err := printed.Read(make([]byte, 1024)); err != nil {
		t.Fatal(err)
	}
	client := kubernetes.NewForConfigOrDie(servertest.Config(t, filepath.Join(dir, "admin.kubeconfig")))
	groups, err := client.Discovery().ServerGroups()
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(groups.Groups, func(group metav1.APIGroup) bool { return group.Name == "kudo.dev" }) {
		t.Error("kudo.dev is served")
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("server ended with %v", err)
	}
}
