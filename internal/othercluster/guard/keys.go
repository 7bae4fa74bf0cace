package guard

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"holdfast.dev/holdfast/internal/connection"
	"holdfast.dev/holdfast/internal/othercluster/installation"
	"holdfast.dev/holdfast/internal/othercluster/webhook"
)

// openKeys returns the keys in the files of the config, or else those in the Secret. A new certificate wakes the leader,
// which writes its authority into the webhook configuration. If there is no Secret and the guard may create one, as it
// may if it was installed without "holdfast guard init", it makes the keys.
func openKeys(ctx context.Context, config Config, server *connection.Connection, wake chan<- struct{}) (webhook.Keys, error) {
	acceptance := webhook.Acceptance{
		Accepts: func(ctx context.Context, pair *tls.Certificate) (bool, error) {
			bundle, err := acceptedAuthorities(ctx, server.Typed)
			return len(bundle) == 0 || webhook.Accepts(bundle, pair, time.Now()), err
		},
		Waiting: func() {
			select {
			case wake <- struct{}{}:
			default:
			}
		},
	}
	if config.CertFile != "" || config.KeyFile != "" {
		return webhook.Files{Cert: config.CertFile, Key: config.KeyFile, Acceptance: acceptance}.Open()
	}
	secret := Certificates()
	secret.Acceptance = acceptance
	address, err := webhook.ParseURL(config.URL)
	if err != nil {
		return nil, err
	}
	secret.Hosts = installation.Service{Namespace: Namespace, Name: Name}.Hosts(address)
	return secret.Open(ctx, server.Typed)
}

// liveConfiguration reads the webhook configuration. It is empty if there is none.
func liveConfiguration(ctx context.Context, client kubernetes.Interface) (*configuration, error) {
	found, err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, Name, metav1.GetOptions{})
	if err == nil || apierrors.IsNotFound(err) {
		return found, nil
	}
	return found, fmt.Errorf("webhook configuration: %w", err)
}

// acceptedAuthorities returns the authorities in the webhook configuration of the API server, none if there is no webhook.
func acceptedAuthorities(ctx context.Context, client kubernetes.Interface) ([]byte, error) {
	found, err := liveConfiguration(ctx, client)
	if err != nil {
		return nil, err
	}
	return authoritiesIn(found), nil
}

// authoritiesIn returns the authorities in a webhook configuration.
func authoritiesIn(found *configuration) []byte {
	for _, each := range found.Webhooks {
		if !isEarly(each) {
			return each.ClientConfig.CABundle
		}
	}
	return nil
}

// authority reads the certificate of the authority. It is read each time, because another program may replace it.
func (c Config) authority(ctx context.Context, client kubernetes.Interface) ([]byte, error) {
	if c.CAFile != "" {
		return os.ReadFile(c.CAFile)
	}
	secret, err := client.CoreV1().Secrets(Namespace).Get(ctx, SecretName, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("certificate of the webhook: %w", err)
	}
	return secret.Data[webhook.AuthorityCertKey], nil
}
