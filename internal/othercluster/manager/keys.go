package manager

import (
	"context"
	"time"

	"k8s.io/client-go/kubernetes"

	"holdfast.dev/holdfast/internal/othercluster/webhook"
)

// AuthorityCertKey is the key of the certificate of the authority in the Secret.
const AuthorityCertKey = webhook.AuthorityCertKey

// certificates is the Secret with the keys of the webhook.
func certificates() webhook.Secret {
	return webhook.Secret{Namespace: Namespace, Name: Secret, FieldManager: Name, Remedy: "holdfast kudo init"}
}

// CompleteKeys returns the content of the Secret, see webhook.Secret.
func CompleteKeys(found map[string][]byte, hosts []string, now time.Time) (map[string][]byte, error) {
	return certificates().Complete(found, hosts, now)
}

// openKeys returns the keys in the files of the config, or else those in the Secret.
func openKeys(ctx context.Context, config Config, client kubernetes.Interface) (webhook.Keys, error) {
	if config.CertFile != "" || config.KeyFile != "" {
		return webhook.Files{Cert: config.CertFile, Key: config.KeyFile}.Open()
	}
	return certificates().Open(ctx, client)
}
