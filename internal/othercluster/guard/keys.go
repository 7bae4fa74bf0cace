package guard

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
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
func liveConfiguration(
	ctx context.Context, client kubernetes.Interface,
) (*admissionregistrationv1.ValidatingWebhookConfiguration, error) {
	found, err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, Name, metav1.GetOptions{})
	if err == nil || apierrors.IsNotFound(err) {
		return found, nil
	}
	return found, fmt.Errorf("webhook configuration: %w", err)
}

// acceptedAuthorities returns the authorities in the webhook configuration, none if there is no webhook.
func acceptedAuthorities(ctx context.Context, client kubernetes.Interface) ([]byte, error) {
	found, err := liveConfiguration(ctx, client)
	if err != nil || len(found.Webhooks) == 0 {
		return nil, err
	}
	return found.Webhooks[0].ClientConfig.CABundle, nil
}

// address returns where the API server reaches the guard. It reads the certificate of the authority
// each time, because another program may replace it.
func (c Config) address(ctx context.Context, server *connection.Connection) (address, error) {
	out := address{url: c.URL}
	if c.CAFile != "" {
		var err error
		out.authorities, err = os.ReadFile(c.CAFile)
		return out, err
	}
	secret, err := server.Typed.CoreV1().Secrets(Namespace).Get(ctx, SecretName, metav1.GetOptions{})
	if err != nil {
		return out, fmt.Errorf("certificate of the webhook: %w", err)
	}
	out.authorities = secret.Data[webhook.AuthorityCertKey]
	return out, nil
}
