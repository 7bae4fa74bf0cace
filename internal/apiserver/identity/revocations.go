package identity

import (
	"context"
	"crypto/x509"
	"fmt"
	"net/http"

	"k8s.io/apiserver/pkg/authentication/user"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/access"
	"holdfast.dev/holdfast/internal/access/revocation"
	"holdfast.dev/holdfast/internal/apiserver/handover"
	"holdfast.dev/holdfast/internal/apiserver/start"
)

// applySessions ends the watches of a credential that is revoked while they run.
func applySessions(config *genericapiserver.Config, revocations *revocation.Registry) {
	inner := config.BuildHandlerChainFunc
	config.BuildHandlerChainFunc = func(next http.Handler, c *genericapiserver.Config) http.Handler {
		return revocations.WithSessions(inner(next, c), c.LongRunningFunc, handover.AtEnd)
	}
}

// FollowRevocations watches the list of revoked credentials. The server is ready only after it
// has read the list. The server's own clients do not wait for the list: the loopback credential is
// never checked against it.
func (s Stage) FollowRevocations(b start.Base, h *start.Hooks) error {
	return h.OnStart("revoked-credentials", func(hook genericapiserver.PostStartHookContext) error {
		err := s.revocations.Watch(hook, b.Clients.Typed.CoreV1(), func() {
			if err := replaceAdmin(hook, b, s.revocations); err != nil {
				klog.ErrorS(err, "the revoked certificate of the administrator is not replaced")
			}
		})
		if err != nil {
			return fmt.Errorf("list of revoked credentials: %w", err)
		}
		return nil
	})
}

// replaceAdmin replaces the certificate of the administrator and writes the kubeconfig, if the
// certificate is revoked. A user that can read the data directory therefore always has access.
func replaceAdmin(ctx context.Context, b start.Base, revocations *revocation.Registry) error {
	revoked := func(cert *x509.Certificate) bool {
		return revocations.Check(ctx, revocation.OfCertificate(&user.DefaultInfo{Name: access.AdminUser}, cert)) != nil
	}
	replaced, err := b.PKI.ReplaceAdmin(revoked, revocations.ValidFrom(access.AdminUser))
	if err != nil || !replaced {
		return err
	}
	klog.InfoS("The certificate of the administrator is revoked and was replaced", "kubeconfig", b.Config.Kubeconfig)
	return b.PKI.WriteKubeconfig(b.Config.Kubeconfig, b.URL())
}
