package access

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Kubeconfig encodes a kubeconfig with everything inline, so that the file can
// be moved: the server's address, its authority and the user's certificate.
func (a *Authority) Kubeconfig(server, user string, pair KeyPair) ([]byte, error) {
	cfg := clientcmdapi.NewConfig()
	cfg.Clusters["holdfast"] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: a.CertPEM}
	cfg.AuthInfos[user] = &clientcmdapi.AuthInfo{ClientCertificateData: pair.Cert, ClientKeyData: pair.Key}
	cfg.Contexts["holdfast"] = &clientcmdapi.Context{Cluster: "holdfast", AuthInfo: user}
	cfg.CurrentContext = "holdfast"
	return clientcmd.Write(*cfg)
}

// WriteKubeconfig writes the administrator's kubeconfig, readable by its owner
// alone.
func (p *PKI) WriteKubeconfig(path, server string) error {
	pair, err := p.Admin()
	if err != nil {
		return err
	}
	data, err := p.authority.Kubeconfig(server, AdminUser, pair)
	if err != nil {
		return fmt.Errorf("encode kubeconfig: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return writeFile(path, data, 0o600)
}
