package start

import (
	"fmt"
	"os"
	"slices"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	cliflag "k8s.io/component-base/cli/flag"

	"holdfast.dev/holdfast/internal/apiserver/config"
)

// newServing returns the settings of the listener, and the authorities that verify client
// certificates. Both read their files again when these change.
func newServing(
	config config.Server, o *Opened,
) (*genericapiserver.SecureServingInfo, dynamiccertificates.CAContentProvider, error) {
	own, err := dynamiccertificates.NewDynamicSNIContentFromFiles("serving", o.PKI.ServingCertFile(), o.PKI.ServingKeyFile(),
		genericapiserver.LoopbackClientServerNameOverride)
	if err != nil {
		return nil, nil, fmt.Errorf("serving certificate: %w", err)
	}
	// The library sets 100 streams for a connection, as in kube-apiserver. Clients of Kubernetes open further
	// connections. More streams would let one client keep more goroutines busy.
	serving := &genericapiserver.SecureServingInfo{Listener: o.listener, Cert: own}
	if config.Serving.CertFile != "" {
		serving.Cert, err = dynamiccertificates.NewDynamicServingContentFromFiles("tls-cert-file",
			config.Serving.CertFile, config.Serving.KeyFile)
		if err != nil {
			return nil, nil, fmt.Errorf("serving certificate: %w", err)
		}
		// The server itself and users of its kubeconfigs trust only the authority of the data
		// directory. They send the server name of this certificate in TLS, see serverName.
		serving.SNICerts = []dynamiccertificates.SNICertKeyContentProvider{own}
	}
	if serving.MinTLSVersion, err = cliflag.TLSVersion(config.Serving.MinVersion); err != nil {
		return nil, nil, err
	}
	if len(config.Serving.CipherSuites) > 0 {
		if serving.CipherSuites, err = cliflag.TLSCipherSuites(config.Serving.CipherSuites); err != nil {
			return nil, nil, err
		}
	}
	clientCA, err := newClientCA(config, o)
	return serving, clientCA, err
}

// newClientCA returns the authorities of client certificates: that of the data directory, which
// signs the credentials of the administrator and of nodes, and those of a file.
func newClientCA(config config.Server, o *Opened) (dynamiccertificates.CAContentProvider, error) {
	own, err := dynamiccertificates.NewDynamicCAContentFromFile("client-ca", o.PKI.CAFile())
	if err != nil {
		return nil, fmt.Errorf("client authority: %w", err)
	}
	if config.ClientCAFile == "" {
		return own, nil
	}
	others, err := dynamiccertificates.NewDynamicCAContentFromFile("client-ca-file", config.ClientCAFile)
	if err != nil {
		return nil, fmt.Errorf("client authority: %w", err)
	}
	return dynamiccertificates.NewUnionCAContentProvider(own, others), nil
}

// serverName returns the TLS server name for kubeconfigs that trust the server's own authority,
// or "" if the host of the URL is enough.
func serverName(config config.Server) string {
	if config.Serving.CertFile == "" {
		return ""
	}
	return genericapiserver.LoopbackClientServerNameOverride
}

// RootCA returns the authorities by which pods verify the server.
func (b Base) RootCA() ([]byte, error) {
	if b.Config.RootCAFile != "" {
		data, err := os.ReadFile(b.Config.RootCAFile)
		if err != nil {
			return nil, fmt.Errorf("root authority: %w", err)
		}
		return data, nil
	}
	own := b.PKI.Authority().CertPEM
	if b.Config.Serving.CertFile == "" {
		return own, nil
	}
	chain, err := os.ReadFile(b.Config.Serving.CertFile)
	if err != nil {
		return nil, fmt.Errorf("root authority: %w", err)
	}
	return slices.Concat(own, chain), nil
}
