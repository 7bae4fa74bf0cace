package access

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// AdminUser and AdminGroup are the identity in the administrator's certificate.
// Every Kubernetes server authorizes all requests of the group system:masters.
const (
	AdminUser  = "holdfast-admin"
	AdminGroup = "system:masters"

	// KubeletClient is the user name in the certificate that the server presents to kubelets.
	// Kubernetes installers use the same name.
	KubeletClient = "kube-apiserver-kubelet-client"
	// kubeletClient is the name of its files.
	kubeletClient = "kubelet-client"
)

// PKI is a directory with two certificate authorities and the certificates that they
// issued. One authority signs the certificates of the server, of the administrator and of
// other clients. The other signs the certificate of FrontProxy only.
type PKI struct {
	dir       string
	hosts     []string
	now       func() time.Time
	authority *Authority
	// proxies is the authority of the front-proxy certificate, see FrontProxy.
	proxies *Authority
	// mu is held while the certificates are read and replaced.
	mu sync.Mutex
}

// OpenPKI opens the directory. On first use it creates the authority. It issues
// certificates that are missing and renews those that Renew describes. hosts are
// the DNS names and IP addresses of the server.
func OpenPKI(dir string, hosts []string) (*PKI, error) {
	return openPKI(dir, hosts, time.Now)
}

func openPKI(dir string, hosts []string, now func() time.Time) (*PKI, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	p := &PKI{dir: dir, hosts: hosts, now: now}
	var err error
	if p.authority, err = p.openAuthority(); err != nil {
		return nil, err
	}
	if p.proxies, err = p.openProxies(); err != nil {
		return nil, err
	}
	return p, p.Renew()
}

// openAuthority reads the authority, and creates it on first use. An authority that is
// incomplete or unreadable is an error and is never replaced: every certificate issued so
// far depends on it.
func (p *PKI) openAuthority() (*Authority, error) {
	pair, err := p.read("ca")
	if errors.Is(err, fs.ErrNotExist) && p.isUnused() {
		authority, pair, err := NewAuthority(p.now())
		if err != nil {
			return nil, err
		}
		return authority, p.write("ca", pair)
	}
	if err != nil {
		return nil, fmt.Errorf("the authority is incomplete, restore it from a backup: %w", err)
	}
	authority, err := ParseAuthority(pair)
	if err != nil {
		return nil, fmt.Errorf("read authority %s: %w", p.CAFile(), err)
	}
	if err := authority.checkTime(p.now()); err != nil {
		return nil, fmt.Errorf("authority %s: %w", p.CAFile(), err)
	}
	return authority, nil
}

// isUnused reports whether the directory has nothing that depends on an authority. A process
// that died during the first start may have left the key of the authority without its certificate.
func (p *PKI) isUnused() bool {
	for _, file := range []string{p.CAFile(), p.ServingCertFile(), p.path("admin", "crt")} {
		if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return true
}

// KubeletClientCertFile returns the path of the certificate that the server presents to kubelets.
func (p *PKI) KubeletClientCertFile() string { return p.path(kubeletClient, "crt") }

// KubeletClientKeyFile returns the path of the key of KubeletClientCertFile.
func (p *PKI) KubeletClientKeyFile() string { return p.path(kubeletClient, "key") }

// CAFile returns the path of the CA certificate.
func (p *PKI) CAFile() string { return p.path("ca", "crt") }

// ServingCertFile returns the path of the server's certificate.
func (p *PKI) ServingCertFile() string { return p.path("serving", "crt") }

// ServingKeyFile returns the path of the key of ServingCertFile.
func (p *PKI) ServingKeyFile() string { return p.path("serving", "key") }

// Authority returns the certificate authority of the directory.
func (p *PKI) Authority() *Authority { return p.authority }

// Admin reads the administrator's client certificate from the directory.
func (p *PKI) Admin() (KeyPair, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.read("admin")
}

// Renew replaces the serving certificate, the client certificates of the server for kubelets and
// for aggregated API servers, and the certificate of the administrator, if they are missing, expire
// within 60 days, have not begun, were signed by another authority, or are not valid for all hosts.
// It is cheap if all are up to date.
func (p *PKI) Renew() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.renew("serving", Subject{User: "holdfast", Hosts: p.hosts}, p.authority); err != nil {
		return err
	}
	if err := p.renew(kubeletClient, Subject{User: KubeletClient}, p.authority); err != nil {
		return err
	}
	if err := p.renew(frontProxy, Subject{User: FrontProxyUser}, p.proxies); err != nil {
		return err
	}
	return p.renew("admin", Subject{User: AdminUser, Groups: []string{AdminGroup}}, p.authority)
}

func (p *PKI) renew(name string, subject Subject, authority *Authority) error {
	pair, err := p.read(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil && authority.Fits(pair, subject, p.now()) {
		return nil
	}
	if pair, err = authority.Issue(subject, p.now()); err != nil {
		return err
	}
	return p.write(name, pair)
}

// ReplaceAdmin issues a new certificate for the administrator if revoked reports true for the
// current one, and reports whether it did. The new certificate is not valid before notBefore; a
// zero notBefore sets no such limit.
func (p *PKI) ReplaceAdmin(revoked func(*x509.Certificate) bool, notBefore time.Time) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pair, err := p.read("admin")
	if err != nil {
		return false, err
	}
	cert, err := parseCertificate(pair.Cert)
	if err != nil {
		return false, fmt.Errorf("read %s: %w", p.path("admin", "crt"), err)
	}
	if !revoked(cert) {
		return false, nil
	}
	subject := Subject{User: AdminUser, Groups: []string{AdminGroup}, NotBefore: notBefore}
	if pair, err = p.authority.Issue(subject, p.now()); err != nil {
		return false, err
	}
	return true, p.write("admin", pair)
}

func (p *PKI) path(name, ext string) string { return filepath.Join(p.dir, name+"."+ext) }

func (p *PKI) read(name string) (KeyPair, error) {
	cert, err := os.ReadFile(p.path(name, "crt"))
	if err != nil {
		return KeyPair{}, err
	}
	key, err := os.ReadFile(p.path(name, "key"))
	return KeyPair{Cert: cert, Key: key}, err
}

// write stores the key first, then the certificate. If the process dies in between,
// the certificate is missing or does not belong to the key. The next Renew then issues
// a new pair for the server or the administrator. For the authority, the next start creates
// another one.
func (p *PKI) write(name string, pair KeyPair) error {
	if err := writeFile(p.path(name, "key"), pair.Key, 0o600); err != nil {
		return err
	}
	return writeFile(p.path(name, "crt"), pair.Cert, 0o644)
}

// writeFile replaces the file by rename, and only if the content differs. The new file is on
// disk when it returns.
func writeFile(path string, data []byte, mode os.FileMode) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, data) {
		return os.Chmod(path, mode)
	}
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temp.Name()) }()
	_, err = temp.Write(data)
	err = errors.Join(err, temp.Chmod(mode), temp.Sync(), temp.Close())
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(temp.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir writes the names of the files in a directory to disk.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
