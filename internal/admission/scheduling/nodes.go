package scheduling

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
)

// nodes reads Nodes from a cache. It asks the server for a Node that the cache does not have,
// because the Node may be new.
type nodes struct {
	cached corelisters.NodeLister
	client coreclient.NodesGetter
}

func newNodes(informer coreinformers.NodeInformer, client coreclient.NodesGetter) nodes {
	return nodes{cached: informer.Lister(), client: client}
}

func (n nodes) get(ctx context.Context, name string) (*corev1.Node, error) {
	found, err := n.cached.Get(name)
	if apierrors.IsNotFound(err) {
		return n.client.Nodes().Get(ctx, name, metav1.GetOptions{})
	}
	return found, err
}
