package apiserver

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/client-go/util/cert"

	"holdfast.dev/holdfast/internal/access"
	"holdfast.dev/holdfast/internal/apiserver/aggregation"
	"holdfast.dev/holdfast/internal/apiserver/config"
	"holdfast.dev/holdfast/internal/apiserver/start"
)

// proxyClient returns the files of the client certificate for aggregated API servers.
func proxyClient(b start.Base) config.ProxyClient {
	if b.Config.ProxyClient.CertFile != "" {
		return b.Config.ProxyClient
	}
	own := b.PKI.FrontProxy()
	return config.ProxyClient{CertFile: own.CertFile, KeyFile: own.KeyFile}
}

// publishTrust publishes the authorities and headers by which aggregated API servers authenticate
// this server and its clients. It begins after the attempt to create the namespace kube-system.
func publishTrust(b start.Base, h *start.Hooks, bootstrapped <-chan struct{}) error {
	trust, err := newTrust(b)
	if err != nil {
		return err
	}
	return h.InBackground("publish-trust", func(ctx context.Context) {
		select {
		case <-bootstrapped:
			trust.Publish(ctx, b.Clients.Typed)
		case <-ctx.Done():
		}
	})
}

// newTrust returns the certificate authorities and headers of proxies: those of the flags, and
// those of this server if it uses the certificate that it made itself.
func newTrust(b start.Base) (aggregation.Trust, error) {
	flags := b.Config.RequestHeader
	trust := aggregation.Trust{
		ClientCA: b.ClientCA.CurrentCABundleContent, ProxyNames: flags.AllowedNames,
		// The library that calls aggregated API servers uses these headers.
		UserHeaders: withHeader(flags.UsernameHeaders, "X-Remote-User"), UIDHeaders: withHeader(flags.UIDHeaders, "X-Remote-Uid"),
		GroupHeaders: withHeader(flags.GroupHeaders, "X-Remote-Group"), ExtraPrefixes: withHeader(flags.ExtraHeaderPrefixes, "X-Remote-Extra-"),
	}
	if flags.ClientCAFile != "" {
		authorities, err := cert.CertsFromFile(flags.ClientCAFile)
		if err != nil {
			return trust, fmt.Errorf("requestheader-client-ca-file: %w", err)
		}
		if trust.ProxyCA, err = cert.EncodeCertificates(authorities...); err != nil {
			return trust, fmt.Errorf("requestheader-client-ca-file: %w", err)
		}
	}
	if b.Config.ProxyClient.CertFile == "" {
		trust.ProxyCA = slices.Concat(trust.ProxyCA, b.PKI.FrontProxy().CA)
		// requestheader-client-ca-file without allowed names allows all names: a name here
		// would exclude the others.
		if flags.ClientCAFile == "" || len(flags.AllowedNames) > 0 {
			trust.ProxyNames = append(slices.Clone(flags.AllowedNames), access.FrontProxyUser)
		}
	}
	return trust, nil
}

// withHeader returns the headers of a flag together with the header that this server sends.
func withHeader(flag []string, own string) []string {
	if slices.Contains(flag, own) {
		return flag
	}
	return append(slices.Clone(flag), own)
}
