package series_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/cli"
)

// interrupted interrupts a command that prints its progress.
type interrupted struct {
	strings.Builder
	interrupt func()
}

// Write implements io.Writer.
func (i *interrupted) Write(text []byte) (int, error) {
	if strings.Contains(string(text), "Waiting for deployment") {
		i.interrupt()
	}
	return i.Builder.Write(text)
}

// TestInterruptedWait interrupts a roll that waits. The error says that the rollout goes on.
func TestInterruptedWait(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{})
	create(t, server.Client(t))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &interrupted{interrupt: cancel}
	err := cli.Run(ctx, cli.Streams{In: strings.NewReader(""), Out: out, Err: out}, []string{
		"series", "roll", "secret/settings", "--from-literal", "a=b", "--all", "--wait", "--kubeconfig", server.Kubeconfig(),
	})
	want := `deployment.apps/web points to settings-5546dd5ht8, but the command was interrupted before the rollout was complete. ` +
		`It goes on: "kubectl rollout status deployment.apps/web -n default" shows it`
	if err == nil || err.Error() != want {
		t.Errorf("%v, got:\n%s", err, out.String())
	}
}

// TestWaitWithoutServer lets the server fail to answer for a while. The command waits.
func TestWaitWithoutServer(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{})
	client := server.Client(t)
	create(t, client)
	var patched, failed atomic.Bool
	kubeconfig := proxiedWith(t, server.Config(t), func(w http.ResponseWriter, req *http.Request) bool {
		switch {
		case !strings.HasSuffix(req.URL.Path, "/deployments/web"):
			return false
		case req.Method == http.MethodPatch:
			patched.Store(true)
			return false
		case !patched.Load() || failed.Load():
			return false
		}
		failed.Store(true)
		status := `{"status":{"observedGeneration":99,"replicas":1,"updatedReplicas":1,"readyReplicas":1,"availableReplicas":1}}`
		if _, err := client.AppsV1().Deployments("default").Patch(t.Context(), "web", types.MergePatchType, []byte(status), metav1.PatchOptions{}, "status"); err != nil {
			t.Error(err)
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	})
	out, err := run(t, kubeconfig, "roll", "secret/settings", "--from-literal", "a=b", "--all", "--wait")
	if err != nil || !failed.Load() || !strings.Contains(out, `deployment "web" successfully rolled out`) {
		t.Errorf("%v, got:\n%s", err, out)
	}
}
