package manager_test

import (
	"net"
	"net/url"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/othercluster/installation"
	"holdfast.dev/holdfast/internal/othercluster/manager"
	"holdfast.dev/holdfast/internal/othercluster/manager/setup"
)

// TestServiceAccount checks that a manager refuses to run under another service account than the
// configured one. Its webhook would treat the writes of its controller as those of a user.
func TestServiceAccount(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{WithoutOperators: true})
	installer, err := setup.New(server.Config(t))
	if err != nil {
		t.Fatal(err)
	}
	config := setup.Config{ServiceAccount: "operators", WebhookURL: &url.URL{Scheme: "https", Host: "127.0.0.1:9"}}
	if err := installer.Install(t.Context(), config, func(installation.Outcome) {}); err != nil {
		t.Fatal(err)
	}
	accounts := server.Client(t).CoreV1().ServiceAccounts(manager.Namespace)
	token, err := accounts.CreateToken(t.Context(), "operators", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	client := rest.AnonymousClientConfig(server.Config(t))
	client.BearerToken = token.Status.Token
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	err = manager.Run(t.Context(), manager.Config{Client: client, Webhook: listener})
	want := "the manager runs under the service account operators, but is configured for kudo-manager: use --service-account=operators"
	if err == nil || err.Error() != want {
		t.Errorf("another account: %v\nwant %s", err, want)
	}
}
