package side

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"os"
	"path/filepath"
)

// files are the certificates and keys that kube-apiserver reads.
type files struct {
	issuer                                       *authority
	authority, servingCert, servingKey, tokenKey string
}

// writeFiles creates an authority, a serving certificate and the key for tokens, and writes them to a directory.
func writeFiles(dir string) (files, error) {
	issuer, err := newAuthority()
	if err != nil {
		return files{}, err
	}
	template := newTemplate(pkix.Name{CommonName: "kube-apiserver"})
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	serving, err := issuer.issue(template)
	if err != nil {
		return files{}, err
	}
	servingKey, err := x509.MarshalPKCS8PrivateKey(serving.PrivateKey)
	if err != nil {
		return files{}, err
	}
	tokenKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return files{}, err
	}
	written := files{
		issuer: issuer, authority: filepath.Join(dir, "ca.crt"), servingCert: filepath.Join(dir, "serving.crt"),
		servingKey: filepath.Join(dir, "serving.key"), tokenKey: filepath.Join(dir, "sa.key"),
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return files{}, err
	}
	for file, text := range map[string][]byte{
		written.authority:   encodePEM("CERTIFICATE", issuer.cert.Raw),
		written.servingCert: encodePEM("CERTIFICATE", serving.Certificate[0]),
		written.servingKey:  encodePEM("PRIVATE KEY", servingKey),
		written.tokenKey:    encodePEM("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(tokenKey)),
	} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return files{}, err
		}
	}
	return written, nil
}
