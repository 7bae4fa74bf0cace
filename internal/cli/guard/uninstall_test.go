package guard_test

import (
	"testing"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
)

// TestUninstall checks that uninstall can remove the webhooks only. The hook of the Helm chart uses that.
func TestUninstall(t *testing.T) {
	t.Parallel()
	at := []string{"--kubeconfig", servertest.Start(t, apiserver.Config{}).Kubeconfig()}
	uninstall := func(flags ...string) (string, error) {
		t.Helper()
		stdout, _, err := run(t.Context(), "", append(append([]string{"guard", "uninstall"}, at...), flags...)...)
		return stdout, err
	}
	if _, _, err := run(t.Context(), "", append([]string{"guard", "init", "--webhook-url", "https://127.0.0.1:9"}, at...)...); err != nil {
		t.Fatal(err)
	}
	if _, err := uninstall("--webhooks-only", "--policies"); err == nil || err.Error() != "--webhooks-only and --policies exclude each other" {
		t.Errorf("with two flags that exclude each other: %v", err)
	}
	// No guard runs, so there is no webhook configuration.
	const right = "clusterrolebinding/holdfast-guard-configuration deleted\n"
	for _, want := range []string{right, ""} {
		if got, err := uninstall("--webhooks-only"); got != want || err != nil {
			t.Errorf("the webhooks only: %q, %v, want %q", got, err, want)
		}
	}
}
