package start

import (
	"fmt"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/connection"
	"holdfast.dev/holdfast/internal/connection/inprocess"
)

// Clients read and write the API of the server, for its own parts.
type Clients struct {
	*connection.Connection
	// Informers have the objects that several parts of the server read.
	Informers informers.SharedInformerFactory
	// source returns the objects from which the informers read. The stores of the server are opened later than its clients.
	source atomic.Pointer[inprocess.Source]
}

func newClients(loopback *restclient.Config) (*Clients, error) {
	server, err := connection.Open(loopback, connection.Options{ReplacementsAsChanges: true})
	if err != nil {
		return nil, fmt.Errorf("loopback client: %w", err)
	}
	c := &Clients{Connection: server}
	c.Informers = inprocess.NewFactory(server, c.objects)
	return c, nil
}

// ReadFrom makes the informers read from a source. It is called before they start.
func (c *Clients) ReadFrom(source inprocess.Source) { c.source.Store(&source) }

// objects is the source of the informers. It has no objects until the stores are open.
func (c *Clients) objects(resource schema.GroupVersionResource) cache.ListerWatcherWithContext {
	source := c.source.Load()
	if source == nil {
		return nil
	}
	return source.Objects(resource)
}
