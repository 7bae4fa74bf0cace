package apiserver

import (
	"fmt"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
)

// clients read and write the API of the server, for its own parts.
type clients struct {
	kube      kubernetes.Interface
	dynamic   dynamic.Interface
	informers informers.SharedInformerFactory
	documents *openAPIDocuments
}

func newClients(loopback *restclient.Config) (*clients, error) {
	kube, err := kubernetes.NewForConfig(loopback)
	if err != nil {
		return nil, fmt.Errorf("loopback client: %w", err)
	}
	dynamicClient, err := dynamic.NewForConfig(loopback)
	if err != nil {
		return nil, fmt.Errorf("loopback client: %w", err)
	}
	return &clients{
		kube: kube, dynamic: dynamicClient, informers: informers.NewSharedInformerFactory(kube, 0),
		documents: newOpenAPIDocuments(kube.Discovery().RESTClient()),
	}, nil
}
