package envtest_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"holdfast.dev/holdfast/internal/cli"
)

// TestMain sets KUBEBUILDER_ASSETS to the folder that "holdfast envtest" prints. The links in it point to this test binary, which
// is the program of package cli under the names that envtest starts, as bin/holdfast is.
func TestMain(m *testing.M) {
	if slices.Contains([]string{"kube-apiserver", "etcd", "kubectl"}, filepath.Base(os.Args[0])) {
		os.Exit(cli.Main())
	}
	os.Exit(func() int {
		ctrl.SetLogger(logr.Discard())
		dir, err := os.MkdirTemp("", "envtest-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() { _ = os.RemoveAll(dir) }()
		var out, errs bytes.Buffer
		streams := cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}
		if err := cli.Run(context.Background(), streams, []string{"envtest", "--dir", filepath.Join(dir, "assets")}); err != nil {
			fmt.Fprintln(os.Stderr, err, errs.String())
			return 1
		}
		if err := os.Setenv(assets, strings.TrimSpace(out.String())); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

// assets is the variable by which envtest finds the programs.
const assets = "KUBEBUILDER_ASSETS"
