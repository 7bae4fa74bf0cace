package kubectl_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	componentcli "k8s.io/component-base/cli"
	"k8s.io/component-base/version"
	"k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"

	"holdfast.dev/holdfast/cli"
)

func TestMain(m *testing.M) {
	holdfast := func() { os.Exit(cli.Main()) }
	// By its other names it is a plugin of kubectl.
	commands := map[string]func(){"holdfast": holdfast, "kubectl-holdfast": holdfast, "kubectl-kudo": holdfast}
	// Called as kubectl this is the program that the tests put on PATH.
	if _, err := exec.LookPath("kubectl"); err != nil || filepath.Base(os.Args[0]) == "kubectl" {
		commands["kubectl"] = kubectlMain
	}
	testscript.Main(m, commands)
}

// kubectlMain is the main function of kubectl, as its release has it.
func kubectlMain() {
	// The version that a release is linked with; the one of a plain build cannot be parsed by `kubectl version`.
	if err := version.SetDynamicVersion("v0.0.0-master"); err != nil {
		kubectlutil.CheckErr(err)
	}
	if err := componentcli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err)
	}
}
