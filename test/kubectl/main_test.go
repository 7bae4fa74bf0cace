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

	"holdfast.dev/holdfast/internal/cli"
)

func TestMain(m *testing.M) {
	holdfast := func() { os.Exit(cli.Main()) }
	// With the next two names it is a kubectl plugin, and with the others what envtest starts.
	commands := map[string]func(){
		"holdfast": holdfast, "kubectl-holdfast": holdfast, "kubectl-kudo": holdfast, "etcd": holdfast, "kube-apiserver": holdfast,
		"kubectl_complete-kudo": holdfast,
	}
	// Without a kubectl on PATH, testscript puts this binary there under that name.
	if _, err := exec.LookPath("kubectl"); err != nil || filepath.Base(os.Args[0]) == "kubectl" {
		commands["kubectl"] = kubectlMain
	}
	testscript.Main(m, commands)
}

// kubectlMain is the main function of a kubectl release.
func kubectlMain() {
	// `kubectl version` cannot parse the version of a plain build. A release has another one.
	if err := version.SetDynamicVersion("v0.0.0-master"); err != nil {
		kubectlutil.CheckErr(err)
	}
	if err := componentcli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err)
	}
}
