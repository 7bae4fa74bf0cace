package side

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
)

// WriteKubeconfig writes a kubeconfig of a user with a new certificate.
func (s *Server) WriteKubeconfig(file string, user User) error {
	template := newTemplate(pkix.Name{CommonName: user.Name, Organization: user.Groups})
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	pair, err := s.authority.issue(template)
	if err != nil {
		return err
	}
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		return err
	}
	return s.writeKubeconfig(file, fmt.Sprintf("{client-certificate-data: %s, client-key-data: %s}",
		encoded("CERTIFICATE", pair.Certificate[0]), encoded("PRIVATE KEY", key)))
}

// ServiceAccount is the identity of a program that runs in a cluster.
type ServiceAccount struct{ Namespace, Name string }

// writeAccountKubeconfig writes a kubeconfig with a new token of a service account.
func (s *Server) writeAccountKubeconfig(file string, account ServiceAccount) error {
	client, err := s.Client(Administrator())
	if err != nil {
		return err
	}
	defer client.Close()
	answer, err := client.Do(context.Background(), Request{
		Method: http.MethodPost, Path: fmt.Sprintf("/api/v1/namespaces/%s/serviceaccounts/%s/token", account.Namespace, account.Name),
		Body: []byte(`{"spec":{}}`),
	})
	if err != nil {
		return err
	}
	var token struct{ Status struct{ Token string } }
	if err := json.Unmarshal(answer, &token); err != nil {
		return err
	}
	return s.writeKubeconfig(file, fmt.Sprintf("{token: %s}", token.Status.Token))
}

func (s *Server) writeKubeconfig(file, credential string) error {
	return os.WriteFile(file, fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %q, certificate-authority-data: %s}}]
users: [{name: u, user: %s}]
contexts: [{name: c, context: {cluster: c, user: u}}]
current-context: c
`, s.url, encoded("CERTIFICATE", s.authority.cert.Raw), credential), 0o600)
}

func encoded(kind string, der []byte) string {
	return base64.StdEncoding.EncodeToString(encodePEM(kind, der))
}
