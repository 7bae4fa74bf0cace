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
	a.fill(cfg, server, user, pair)
	return clientcmd.Write(*cfg)
}

// fill sets what the server knows in a kubeconfig, and leaves the rest of it.
func (a *Authority) fill(cfg *clientcmdapi.Config, server, user string, pair KeyPair) {
	cfg.Clusters["holdfast"] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: a.CertPEM}
	cfg.AuthInfos[user] = &clientcmdapi.AuthInfo{ClientCertificateData: pair.Cert, ClientKeyData: pair.Key}
	if cfg.Contexts["holdfast"] == nil {
		cfg.Contexts["holdfast"] = clientcmdapi.NewContext()
	}
	cfg.Contexts["holdfast"].Cluster, cfg.Contexts["holdfast"].AuthInfo = "holdfast", user
	if cfg.CurrentContext == "" {
		cfg.CurrentContext = "holdfast"
	}
}

// WriteKubeconfig writes the administrator's kubeconfig, readable by its owner
// alone. In a file that is there, what its user set stays.
func (p *PKI) WriteKubeconfig(path, server string) error {
	pair, err := p.Admin()
	if err != nil {
		return err
	}
	cfg, err := clientcmd.LoadFromFile(path)
	if err != nil {
		// Not there, or not a kubeconfig: then it is written anew.
		cfg = clientcmdapi.NewConfig()
	}
	p.authority.fill(cfg, server, AdminUser, pair)
	data, err := clientcmd.Write(*cfg)
	if err != nil {
		return fmt.Errorf("encode kubeconfig: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return writeFile(path, data, 0o600)
}
