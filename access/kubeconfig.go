package access

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Kubeconfig encodes a kubeconfig for the server at the given address. The CA
// certificate and the user's key pair are embedded, so the file can be copied to
// another machine.
func (a *Authority) Kubeconfig(server, user string, pair KeyPair) ([]byte, error) {
	cfg := clientcmdapi.NewConfig()
	a.fill(cfg, server, user, pair)
	return clientcmd.Write(*cfg)
}

// fill sets the cluster, the user and the context "holdfast" in cfg. Everything
// else in cfg stays.
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

// WriteKubeconfig writes the administrator's kubeconfig with mode 0600. If the
// file exists, other settings in it are kept, such as the default namespace.
func (p *PKI) WriteKubeconfig(path, server string) error {
	pair, err := p.Admin()
	if err != nil {
		return err
	}
	cfg, err := clientcmd.LoadFromFile(path)
	if err != nil {
		// The file is missing or not a kubeconfig: write a new one.
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
