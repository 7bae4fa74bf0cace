package guard_test

import (
	"strings"
	"testing"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
)

// TestInitOnHoldfast checks that init says what a guard adds to our own server, and that audit then expects no webhook for what the
// server does itself. Before, init with cert-manager changes nothing, because the server does not have it.
func TestInitOnHoldfast(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{})
	at := []string{"--kubeconfig", server.Kubeconfig()}
	stdout, _, err := run(t.Context(), "", append([]string{"guard", "init", "--cert-manager"}, at...)...)
	if err == nil || err.Error() != "cert-manager is not installed: the server does not have cert-manager.io/v1" || stdout != "" {
		t.Errorf("without cert-manager: %s, %v", stdout, err)
	}
	_, _, err = run(t.Context(), "", append([]string{"guard", "serve", "--webhook-address", "127.0.0.1:0", "--health-address", ""}, at...)...)
	if err == nil || !strings.HasSuffix(err.Error(), `run "holdfast guard init" first`) {
		t.Errorf("serve without an installation: %v", err)
	}
	stdout, stderr, err := run(t.Context(), "", append([]string{"guard", "init", "--webhook-url", "https://127.0.0.1:9"}, at...)...)
	if err != nil || !strings.Contains(stdout, "customresourcedefinition/immutabilitypolicies.guard.holdfast.dev configured") {
		t.Errorf("init: %s, %v", stdout, err)
	}
	if !strings.HasPrefix(stderr, `note: this server is "holdfast serve".`) || !strings.HasSuffix(stderr, "so the guard adds nothing.\n") {
		t.Errorf("init prints %q", stderr)
	}
	if stdout, stderr, err := run(t.Context(), "", append([]string{"guard", "audit"}, at...)...); err != nil {
		t.Errorf("audit: %s%s, %v", stdout, stderr, err)
	}
}
