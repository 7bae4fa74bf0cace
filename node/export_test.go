package node

import (
	"context"
	"net/http"
	"time"

	"k8s.io/client-go/kubernetes"

	"holdfast.dev/holdfast/projection"
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

// OpenVolumes are volumes as an agent has them, on some file system.
func OpenVolumes(dir string, disk projection.FS) (Volumes, error) {
	volumes := diskVolumes{dir: dir, writer: projection.Writer{FS: disk}, group: -1}
	return volumes, volumes.open()
}

// InMemory asks the system about a directory, as agents do that are not told.
func InMemory(dir string) (bool, error) { return inMemory(dir) }
