package apiserver

import (
	"fmt"
	"net/http"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/access/node"
	"holdfast.dev/holdfast/internal/connection"
	"holdfast.dev/holdfast/internal/connection/inprocess"
)

// clients read and write the API of the server, for its own parts.
type clients struct {
	http      *http.Client
	kube      kubernetes.Interface
	dynamic   dynamic.Interface
	informers informers.SharedInformerFactory
	documents *openAPIDocuments
	// source returns the objects from which the informers read. The stores of the server are opened later than its clients.
	source atomic.Pointer[inprocess.Source]
	// relations finds the objects that belong to a node although no pod names them, such as the
	// volumes behind claims.
	relations *node.Relations
}

func newClients(loopback *restclient.Config) (*clients, error) {
	server, err := connection.Open(loopback, connection.Options{})
	if err != nil {
		return nil, fmt.Errorf("loopback client: %w", err)
	}
	c := &clients{
		http: server.HTTP, kube: server.Typed, dynamic: server.Dynamic,
		documents: newOpenAPIDocuments(server.Discovery.RESTClient()),
	}
	c.informers = inprocess.NewFactory(server, c.objects)
	return c, nil
}

// objects is the source of the informers. It has no objects until the stores are open.
func (c *clients) objects(resource schema.GroupVersionResource) cache.ListerWatcherWithContext {
	source := c.source.Load()
	if source == nil {
		return nil
	}
	return source.Objects(resource)
}
