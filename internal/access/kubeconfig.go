package access

import (
	"errors"
	"fmt"
	"io/fs"
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
	cfg.Clusters["holdfast"] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: a.CertPEM, TLSServerName: a.ServerName}
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
// file exists, other settings in it are kept, such as the default namespace. A file that is
// no kubeconfig is an error and stays as it is.
func (p *PKI) WriteKubeconfig(path, server string) error {
	pair, err := p.Admin()
	if err != nil {
		return err
	}
	cfg, err := clientcmd.LoadFromFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		cfg = clientcmdapi.NewConfig()
	case err != nil:
		return fmt.Errorf("%s is not a kubeconfig and is not replaced: move it away, or name another file: %w", path, err)
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
