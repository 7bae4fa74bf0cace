package kubectl_test

import (
	"os/exec"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
)

func TestMain(m *testing.M) {
	commands := map[string]func(){}
	if _, err := exec.LookPath("kubectl"); err != nil {
		commands["kubectl"] = kubectlMain
	}
	testscript.Main(m, commands)
}

// kubectlMain is the main function of kubectl, as its release has it.
func kubectlMain() {
	if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err)
	}
}
