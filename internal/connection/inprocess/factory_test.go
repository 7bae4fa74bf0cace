package inprocess_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/connection"
	"holdfast.dev/holdfast/internal/connection/inprocess"
)

// TestThroughAPI checks that informers read through the API if another server answers the requests for their kinds.
func TestThroughAPI(t *testing.T) {
	t.Parallel()
	server, err := connection.Open(servertest.Start(t, apiserver.Config{}).Config(t), connection.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	factory := inprocess.NewFactory(server, func(schema.GroupVersionResource) cache.ListerWatcherWithContext { return nil })
	namespaces, roles := factory.Core().V1().Namespaces().Lister(), factory.Rbac().V1().ClusterRoles().Lister()
	factory.StartWithContext(t.Context())
	factory.WaitForCacheSyncWithContext(t.Context())
	if _, err := namespaces.Get("kube-system"); err != nil {
		t.Error(err)
	}
	if _, err := roles.Get("cluster-admin"); err != nil {
		t.Error(err)
	}
}
