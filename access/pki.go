package access

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// AdminUser and AdminGroup are whom the admin kubeconfig speaks for. The group
// is the one that every Kubernetes authorizer lets through.
const (
	AdminUser  = "holdfast-admin"
	AdminGroup = "system:masters"
)

// PKI is the directory with the server's authority and the certificates it
// issued to the server and its administrator.
type PKI struct {
	dir       string
	hosts     []string
	now       func() time.Time
	authority *Authority
}

// OpenPKI opens the directory, makes the authority and certificates that are
// missing, and renews those near their end or made for other hosts.
func OpenPKI(dir string, hosts []string) (*PKI, error) {
	return openPKI(dir, hosts, time.Now)
}

func openPKI(dir string, hosts []string, now func() time.Time) (*PKI, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	p := &PKI{dir: dir, hosts: hosts, now: now}
	pair, err := p.read("ca")
	_, missing := os.Stat(p.CAFile())
	switch {
	// Only where there is no trace of an authority is one made: with half of
	// one lost, a new one would lock out everybody who has a certificate.
	case errors.Is(err, fs.ErrNotExist) && errors.Is(missing, fs.ErrNotExist):
		if p.authority, pair, err = NewAuthority(now()); err != nil {
			return nil, err
		}
		if err := p.write("ca", pair); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	default:
		// Never replaced by itself: every credential ever issued hangs on it.
		if p.authority, err = ParseAuthority(pair); err != nil {
			return nil, fmt.Errorf("read authority %s: %w", p.path("ca", "crt"), err)
		}
	}
	return p, p.Renew()
}

// CAFile is the certificate of the authority.
func (p *PKI) CAFile() string { return p.path("ca", "crt") }

// ServingCertFile is the certificate the server shows.
func (p *PKI) ServingCertFile() string { return p.path("serving", "crt") }

// ServingKeyFile is the key to ServingCertFile.
func (p *PKI) ServingKeyFile() string { return p.path("serving", "key") }

// Authority is the certificate authority of this directory.
func (p *PKI) Authority() *Authority { return p.authority }

// Admin is the administrator's current client certificate.
func (p *PKI) Admin() (KeyPair, error) { return p.read("admin") }

// Renew replaces certificates that are missing, near their end, not signed by
// the authority, or made for other hosts. It is cheap when nothing is due.
func (p *PKI) Renew() error {
	if err := p.renew("serving", Subject{User: "holdfast", Hosts: p.hosts}); err != nil {
		return err
	}
	return p.renew("admin", Subject{User: AdminUser, Groups: []string{AdminGroup}})
}

func (p *PKI) renew(name string, subject Subject) error {
	pair, err := p.read(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil && p.authority.Fits(pair, subject, p.now()) {
		return nil
	}
	if pair, err = p.authority.Issue(subject, p.now()); err != nil {
		return err
	}
	return p.write(name, pair)
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

// write puts the key first: a certificate without its key would be taken for a
// finished pair after a crash between the two.
func (p *PKI) write(name string, pair KeyPair) error {
	if err := writeFile(p.path(name, "key"), pair.Key, 0o600); err != nil {
		return err
	}
	return writeFile(p.path(name, "crt"), pair.Cert, 0o644)
}

// writeFile replaces path in one step and only when its content differs.
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
	return os.Rename(temp.Name(), path)
}
