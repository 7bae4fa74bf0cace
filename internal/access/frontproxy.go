package access

import (
	"errors"
	"fmt"
	"io/fs"
)

// FrontProxyUser is the common name of the certificate of FrontProxy.
const FrontProxyUser = "holdfast-front-proxy"

// The names of the files of the front proxy.
const (
	frontProxy          = "front-proxy-client"
	frontProxyAuthority = "front-proxy-ca"
)

// FrontProxy is the client certificate with which the server calls aggregated API servers. They
// accept the names of users from a client with this certificate, so it has an authority of its own:
// no certificate that the server signs for a client can be mistaken for it.
type FrontProxy struct {
	// CA is the certificate of the authority, in PEM.
	CA []byte
	// CertFile and KeyFile are the paths of the certificate and its key. Renew replaces them.
	CertFile, KeyFile string
}

// FrontProxy returns the client certificate for aggregated API servers.
func (p *PKI) FrontProxy() FrontProxy {
	return FrontProxy{CA: p.proxies.CertPEM, CertFile: p.path(frontProxy, "crt"), KeyFile: p.path(frontProxy, "key")}
}

// openProxies reads the authority of the front proxy, and creates it if it does not exist.
func (p *PKI) openProxies() (*Authority, error) {
	pair, err := p.read(frontProxyAuthority)
	if errors.Is(err, fs.ErrNotExist) {
		authority, pair, err := newAuthority("holdfast-front-proxy-ca", p.now())
		if err != nil {
			return nil, err
		}
		return authority, p.write(frontProxyAuthority, pair)
	}
	if err != nil {
		return nil, err
	}
	authority, err := ParseAuthority(pair)
	if err != nil {
		return nil, fmt.Errorf("read authority %s: %w", p.path(frontProxyAuthority, "crt"), err)
	}
	return authority, nil
}
