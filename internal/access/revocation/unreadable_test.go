package revocation_test

import (
	"os"
	"path/filepath"
	"testing"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/access"
	"holdfast.dev/holdfast/internal/access/revocation"
	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

// TestUnreadableList starts a server with a stored list that cannot be parsed. The server rejects
// all credentials, also the old certificate of the administrator, and issues another one. With it
// the administrator corrects the list. A server that runs keeps the list that it has.
func TestUnreadableList(t *testing.T) {
	tokens := filepath.Join(t.TempDir(), "tokens.csv")
	if err := os.WriteFile(tokens, []byte("secret-token,robot,1\nother-token,other,2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	address := servertest.StartEtcd(t, transport.TLSInfo{})
	config := apiserver.Config{DataDir: t.TempDir(), Etcd: etcd.Cluster{Servers: []string{address}}, TokenFile: tokens}
	start := func() *fixture {
		server := servertest.Start(t, config)
		return &fixture{server: server, admin: server.Client(t), list: revocation.NewClient(server.Client(t).CoreV1())}
	}
	f := start()
	robot, other := f.bearer(t, "secret-token"), f.bearer(t, "other-token")
	f.set(t, revocation.Entry{User: "robot"})
	becomes(t, robot, "401")

	// Admission rejects such a list, so write it to the store.
	store, err := clientv3.New(clientv3.Config{Endpoints: []string{address}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	const key = "/registry/configmaps/" + revocation.Namespace + "/" + revocation.Name
	const unreadable = `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "kube-system", "name": "holdfast-revocations",
		"uid": "1"}, "data": {"revocations.yaml": "user: robot"}}`
	if _, err := store.Put(t.Context(), key, unreadable); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the server has the new list", func() bool {
		_, err := f.list.Get(t.Context())
		return err != nil
	})
	if got, _ := whoami(t, robot); got != "401" {
		t.Errorf("while the server runs, the revoked user is %s", got)
	}
	if got, _ := whoami(t, other); got != "other" {
		t.Errorf("while the server runs, the other user is %s", got)
	}

	before := f.server.Config(t)
	if err := f.server.Stop(); err != nil {
		t.Fatal(err)
	}
	f = start()
	robot, other = f.bearer(t, "secret-token"), f.bearer(t, "other-token")
	before.Host = f.server.Config(t).Host
	for name, config := range map[string]*rest.Config{"robot": robot, "other": other, "administrator with the old certificate": before} {
		if got, _ := whoami(t, config); got != "401" {
			t.Errorf("%s is %s", name, got)
		}
	}
	becomes(t, f.server.Config(t), access.AdminUser)
	if err := update(t, f.admin.CoreV1().ConfigMaps(revocation.Namespace), map[string]string{revocation.Key: "- {user: robot}"}); err != nil {
		t.Fatal(err)
	}
	becomes(t, other, "other")
	if got, _ := whoami(t, robot); got != "401" {
		t.Errorf("with the correct list, the revoked user is %s", got)
	}
}
