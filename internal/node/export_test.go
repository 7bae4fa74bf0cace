package node

import (
	"context"
	"net/http"
	"time"

	"k8s.io/client-go/kubernetes"

	"holdfast.dev/holdfast/internal/projection"
)

// Renew renews the certificate, whether it is due or not.
func (c *Credential) Renew(ctx context.Context, client kubernetes.Interface) error {
	return c.renew(ctx, client)
}

// HookTimeout returns the timeout of hooks.
func (a *Agent) HookTimeout() time.Duration { return a.hooks.timeout }

// WaitForServer returns a context. Requests with this context wait until the server is back.
func WaitForServer(ctx context.Context) context.Context { return waitForServer(ctx) }

// NewConnection returns the transport that Connect adds to a client, on top of next.
func NewConnection(next http.RoundTripper, tell func(string)) http.RoundTripper {
	if tell == nil {
		tell = func(string) {}
	}
	return &connection{newAvailability(tell), next}
}

// OpenVolumes returns the Volumes of an agent on the given file system.
func OpenVolumes(dir string, disk projection.FS) (Volumes, error) {
	volumes := diskVolumes{dir: dir, writer: projection.Writer{FS: disk}}
	return volumes, volumes.open()
}

// InMemory is the default of Config.InMemory.
func InMemory(dir string) (bool, error) { return inMemory(dir) }
