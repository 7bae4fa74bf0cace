package matrix_test

import (
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/apiserver"
	"holdfast.dev/holdfast/apiserver/servertest"
)

// A node renews its certificate with the one it has, and nobody approves; a
// request of a person for a node waits for somebody.
func TestNodeRenewsItsCertificate(t *testing.T) {
	server := servertest.Start(t, apiserver.Config{})
	root := newUser(t, "root", server.Config(t))
	node := certified(t, server, "node", "--node", "n1")

	others, _ := request(t, kubeletSigner, "system:node:n2", "system:nodes")
	waiting := create(t, root, others)
	own, key := request(t, kubeletSigner, "system:node:n1", "system:nodes")
	name := create(t, node, own)
	var signed certificatesv1.CertificateSigningRequest
	servertest.Eventually(t, "the node's request is signed", func() bool {
		signed = get(t, node, name)
		return len(signed.Status.Certificate) > 0
	})
	if condition := signed.Status.Conditions[0]; condition.Type != certificatesv1.CertificateApproved || condition.Reason != "AutoApproved" {
		t.Errorf("conditions %+v", signed.Status.Conditions)
	}
	renewed := newUser(t, "renewed", withCertificate(t, node.config, signed.Status.Certificate, key))
	if who := renewed.must(t, http.MethodPost, whoami, "{}"); !strings.Contains(who, `"username":"system:node:n1"`) {
		t.Errorf("the new certificate is of %s", who)
	}
	if undecided := get(t, root, waiting); len(undecided.Status.Conditions) > 0 || len(undecided.Status.Certificate) > 0 {
		t.Errorf("a request that nobody decided: %+v", undecided.Status)
	}
}

func create(t *testing.T, u *user, csr string) string {
	t.Helper()
	var created certificatesv1.CertificateSigningRequest
	if err := json.Unmarshal([]byte(u.must(t, http.MethodPost, requests, toJSON(t, csr))), &created); err != nil {
		t.Fatal(err)
	}
	return created.Name
}

func get(t *testing.T, u *user, name string) (csr certificatesv1.CertificateSigningRequest) {
	t.Helper()
	if err := json.Unmarshal([]byte(u.must(t, http.MethodGet, requests+"/"+name, "")), &csr); err != nil {
		t.Fatal(err)
	}
	return csr
}

func withCertificate(t *testing.T, config *rest.Config, cert []byte, key *ecdsa.PrivateKey) *rest.Config {
	t.Helper()
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	config = rest.CopyConfig(config)
	config.CertData, config.KeyData = cert, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	return config
}
