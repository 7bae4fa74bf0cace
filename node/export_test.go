package node

import (
	"context"

	"k8s.io/client-go/kubernetes"
)

// Renew renews a certificate now.
func (c *Credential) Renew(ctx context.Context, client kubernetes.Interface) error {
	return c.renew(ctx, client)
}
