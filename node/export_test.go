package node

import (
	"context"
	"net/http"
	"time"

	"k8s.io/client-go/kubernetes"
)

// Renew renews a certificate now.
func (c *Credential) Renew(ctx context.Context, client kubernetes.Interface) error {
	return c.renew(ctx, client)
}

// HookTime is how long hooks may take.
func (a *Agent) HookTime() time.Duration { return a.hooks.limit }

// Patiently is patiently.
func Patiently(ctx context.Context) context.Context { return patiently(ctx) }

// Over is a connection as Connect makes it, over something else than a network.
func Over(next http.RoundTripper, tell func(string)) http.RoundTripper {
	if tell == nil {
		tell = func(string) {}
	}
	return &connection{newPresence(tell), next}
}

// InMemory asks the system about a directory, as agents do that are not told.
func InMemory(dir string) (bool, error) { return inMemory(dir) }
