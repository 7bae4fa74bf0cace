package revocation_test

import (
	"os"
	"path/filepath"
	"testing"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/access/revocation"
	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
)

// TestReplicas revokes a user on one of two servers that share an etcd. The other one follows,
// and so does a server that starts later.
func TestReplicas(t *testing.T) {
	tokens := filepath.Join(t.TempDir(), "tokens.csv")
	if err := os.WriteFile(tokens, []byte("secret-token,robot,1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cluster := etcd.Cluster{Servers: []string{servertest.StartEtcd(t, transport.TLSInfo{})}}
	start := func() (*fixture, *rest.Config) {
		server := servertest.Start(t, apiserver.Config{DataDir: t.TempDir(), Etcd: cluster, TokenFile: tokens})
		f := &fixture{server: server, list: revocation.NewClient(server.Client(t).CoreV1())}
		return f, f.bearer(t, "secret-token")
	}
	one, robotOnOne := start()
	_, robotOnTwo := start()
	becomes(t, robotOnTwo, "robot")
	one.set(t, revocation.Entry{User: "robot"})
	becomes(t, robotOnOne, "401")
	becomes(t, robotOnTwo, "401")
	_, robotOnThree := start()
	if got, _ := whoami(t, robotOnThree); got != "401" {
		t.Errorf("on a new server it is %s", got)
	}
}
