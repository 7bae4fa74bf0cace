package ownershipcheck_test

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/othercluster/guard"
	"holdfast.dev/holdfast/internal/othercluster/guard/setup"
	"holdfast.dev/holdfast/internal/othercluster/installation"
	"holdfast.dev/holdfast/internal/policy"
	"holdfast.dev/holdfast/internal/waittest"
)

// runGuard runs a guard for a server until the test ends.
func runGuard(t *testing.T, config *rest.Config) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := &url.URL{Scheme: "https", Host: listener.Addr().String()}
	if err := setup.Install(t.Context(), config, setup.Config{URL: at}, func(installation.Outcome) {}); err != nil {
		t.Fatal(err)
	}
	// A guard ends if the server does not serve the kind of policies yet.
	served := dynamic.NewForConfigOrDie(config).Resource(policy.Policies())
	waittest.Until(t, "policies are served", func() error {
		_, err := served.List(t.Context(), metav1.ListOptions{})
		return err
	})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- guard.Run(ctx, guard.Config{Client: config, Webhook: listener, URL: at.String()}) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("guard: %v", err)
		}
	})
}

// TestGuard checks that the commands warn once if a guard warns too, and that they can force an edit that a guard refuses.
func TestGuard(t *testing.T) {
	server := servertest.Start(t, apiserver.Config{Ownership: "off"})
	runGuard(t, server.Config(t))
	applied(t, server.Config(t), "probe", config)
	stock := newStockClient(t, server.Config(t))
	tries := 1
	waittest.Until(t, "the guard warns", func() bool {
		tries++
		return stock.patch(t, "probe", fmt.Sprintf(`{"data":{"a":"%d"}}`, tries), "kubectl-patch") == nil && len(stock.warnings()) == 1
	})

	applied(t, server.Config(t), "settings", config)
	patches := newClient(t, server.Config(t), "holdfast patch")
	if err := patches.patch(t, "settings", `{"data":{"a":"2"}}`, "kubectl-patch"); err != nil {
		t.Fatal(err)
	}
	if got := patches.warnings(); len(got) != 1 || !strings.HasPrefix(got[0], "`holdfast patch` changed the resource ConfigMap/settings -n default") {
		t.Errorf("patch: %q", got)
	}
	edits := newClient(t, server.Config(t), "holdfast edit")
	if err := edits.patch(t, "settings", `{"data":{"a":"3"}}`, "kubectl-edit"); err == nil || len(edits.warnings()) > 0 {
		t.Errorf("edit: %v", err)
	}
	edits.checker.Force = true
	const settings = "/api/v1/namespaces/default/configmaps/settings"
	servertest.AwaitCached(t, server.Client(t), settings)
	if err := edits.patch(t, "settings", `{"data":{"a":"3"}}`, "kubectl-edit"); err != nil {
		t.Errorf("edit --force: %v", err)
	}
	if got := edits.warnings(); len(got) != 1 || !strings.HasPrefix(got[0], "`holdfast edit` changed the resource") {
		t.Errorf("edit --force: %q", got)
	}

	servertest.Grant(t, server.Client(t), rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "writer"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"patch"}}},
	})
	blind := newClient(t, server.As(t, "writer"), "holdfast patch")
	waittest.Until(t, "the writer has its rights", func() bool {
		return blind.patch(t, "probe", `{"data":{"a":"1"}}`, "kubectl-patch") == nil
	})
	blind.warnings()
	servertest.AwaitCached(t, server.Client(t), settings)
	if err := blind.patch(t, "settings", `{"data":{"a":"4"}}`, "kubectl-patch"); err != nil {
		t.Fatal(err)
	}
	if got := blind.warnings(); len(got) != 1 || !strings.Contains(got[0], "<redacted>") ||
		slices.ContainsFunc(got, func(line string) bool { return strings.HasPrefix(line, "ownership not checked") }) {
		t.Errorf("without the right to get: %q", got)
	}
}

// newStockClient returns a client without a Checker.
func newStockClient(t *testing.T, config *rest.Config) *client {
	t.Helper()
	c := &client{}
	config = rest.CopyConfig(config)
	config.WarningHandler = c
	c.Interface = kubernetes.NewForConfigOrDie(config)
	return c
}
