package apiserver

import (
	"fmt"
	"net/http"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"

	"holdfast.dev/holdfast/access/node"
	"holdfast.dev/holdfast/connection"
)

// clients read and write the API of the server, for its own parts.
type clients struct {
	http      *http.Client
	kube      kubernetes.Interface
	dynamic   dynamic.Interface
	informers informers.SharedInformerFactory
	documents *openAPIDocuments
	// relations finds the objects that belong to a node although no pod names them, such as the
	// volumes behind claims.
	relations *node.Relations
}

func newClients(loopback *restclient.Config) (*clients, error) {
	server, err := connection.Open(loopback, connection.Options{})
	if err != nil {
		return nil, fmt.Errorf("loopback client: %w", err)
	}
	return &clients{
		http: server.HTTP, kube: server.Typed, dynamic: server.Dynamic,
		informers: informers.NewSharedInformerFactory(server.Typed, 0),
		documents: newOpenAPIDocuments(server.Discovery.RESTClient()),
	}, nil
}
