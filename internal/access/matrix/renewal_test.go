package matrix_test

import (
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// TestNodeRenewsItsCertificate checks that the server approves the request of a node for
// its own certificate, but not the request of another user for a node's certificate.
func TestNodeRenewsItsCertificate(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{})
	root := newUser(t, "root", server.Config(t))
	node := newCertificateUser(t, server, "node", "--node", "n1")

	csrOfOther, _ := newCSR(t, kubeletSigner, "system:node:n2", "system:nodes")
	pending := createCSR(t, root, csrOfOther)
	own, key := newCSR(t, kubeletSigner, "system:node:n1", "system:nodes")
	name := createCSR(t, node, own)
	var signed *certificatesv1.CertificateSigningRequest
	waittest.Until(t, "the node's request is signed", func() bool {
		signed = getCSR(t, node, name)
		return len(signed.Status.Certificate) > 0
	})
	condition := signed.Status.Conditions[0]
	if condition.Type != certificatesv1.CertificateApproved || condition.Reason != "AutoApproved" {
		t.Errorf("conditions %+v", signed.Status.Conditions)
	}
	renewed := newUser(t, "renewed", withCertificate(t, node.config, signed.Status.Certificate, key))
	if self := renewed.must(t, http.MethodPost, selfReviewPath, "{}"); !strings.Contains(self, `"username":"system:node:n1"`) {
		t.Errorf("the new certificate is of %s", self)
	}
	if csr := getCSR(t, root, pending); len(csr.Status.Conditions) > 0 || len(csr.Status.Certificate) > 0 {
		t.Errorf("a request that no administrator approved: %+v", csr.Status)
	}
}

func createCSR(t *testing.T, u *user, csr string) string {
	t.Helper()
	created := *yamltest.Known[certificatesv1.CertificateSigningRequest](t, u.must(t, http.MethodPost, csrPath, toJSON(t, csr)))
	return created.Name
}

func getCSR(t *testing.T, u *user, name string) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	return yamltest.Known[certificatesv1.CertificateSigningRequest](t, u.must(t, http.MethodGet, csrPath+"/"+name, ""))
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
