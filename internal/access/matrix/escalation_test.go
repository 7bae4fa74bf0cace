package matrix_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"maps"
	"net/http"
	"strings"
	"testing"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/waittest"
)

const (
	clientSigner  = "kubernetes.io/kube-apiserver-client"
	kubeletSigner = "kubernetes.io/kube-apiserver-client-kubelet"
	rbacPath      = "/apis/rbac.authorization.k8s.io/v1"
	csrPath       = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
)

// newCSR returns a CertificateSigningRequest, in YAML, for a user name and groups, and
// the key of the request.
func newCSR(t *testing.T, signer, name string, groups ...string) (csr string, key *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: name, Organization: groups},
	}, key)
	if err != nil {
		t.Fatal(err)
	}
	text := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))
	return "{metadata: {generateName: csr-}, spec: {signerName: " + signer + ", request: " + text +
		", usages: [client auth, digital signature]}}", key
}

// escalation is a request by which a user tries to get more permissions. want is a part of the
// refusal. If it is empty, the server accepts the request and corrects the requester.
type escalation struct{ user, method, path, body, want string }

// TestEscalation sends requests by which users try to get more permissions than they
// have. The server must refuse all of them but one, which it must correct.
func TestEscalation(t *testing.T) {
	t.Parallel()
	s := newSetup(t, apiserver.Config{})
	// The role writer may write all roles and bindings, but has few other permissions.
	s.root.must(t, http.MethodPost, rbacPath+"/clusterroles", toJSON(t, `
metadata: {name: role-writer}
rules:
- apiGroups: [rbac.authorization.k8s.io]
  resources: [clusterroles, clusterrolebindings, roles, rolebindings]
  verbs: [get, list, create, update, patch, delete] # not "*", which includes bind and escalate
- apiGroups: [certificates.k8s.io]
  resources: [certificatesigningrequests, certificatesigningrequests/approval, certificatesigningrequests/status]
  verbs: [get, create, update, patch]`))
	s.root.must(t, http.MethodPost, rbacPath+"/clusterrolebindings",
		toJSON(t, binding("role-writer", "ClusterRole", "role-writer", "{kind: User, name: kim}")))
	s.users["role-writer"] = newCertificateUser(t, s.server, "role-writer", "kim")
	waittest.Until(t, "the role writer has its role", func() bool {
		return s.users["role-writer"].send(t, http.MethodGet, rbacPath+"/clusterroles/role-writer", "").status == http.StatusOK
	})
	waittest.Until(t, "the admin has its role", func() bool {
		return s.users["admin"].send(t, http.MethodGet, expand("@rbac.authorization.k8s.io/roles"), "").status == http.StatusOK
	})
	waittest.Until(t, "the editor has its role", func() bool {
		return s.users["edit"].send(t, http.MethodGet, expand("$/secrets"), "").status == http.StatusOK
	})
	waittest.Until(t, "the authorizer knows the pod of the node", func() bool {
		return s.users["node"].send(t, http.MethodGet, expand("$/pods/mine"), "").status == http.StatusOK
	})

	all := map[string]escalation{}
	for _, some := range []map[string]escalation{
		roleEscalations(), tokenEscalations(s), nodeEscalations(s), certificateEscalations(t, s),
	} {
		maps.Copy(all, some)
	}
	for name, test := range all {
		t.Run(name, func(t *testing.T) {
			body := ""
			if test.body != "" {
				body = toJSON(t, test.body)
			}
			got := s.users[test.user].send(t, test.method, expand(test.path), body)
			if test.want == "" {
				// The server accepts the request and corrects the requester.
				if got.status >= http.StatusBadRequest || !strings.Contains(got.body, `"username":"kim"`) ||
					strings.Contains(got.body, "system:nodes") {
					t.Errorf("got %d %s", got.status, got.body)
				}
				return
			}
			wantStatus := http.StatusForbidden
			if test.want == "not found" {
				wantStatus = http.StatusNotFound
			}
			if got.status != wantStatus || !strings.Contains(strings.ReplaceAll(got.body, `\"`, `"`), test.want) {
				t.Errorf("got %d %s\nwant %d %s", got.status, got.body, wantStatus, test.want)
			}
		})
	}
}

// pendingRequest creates a CertificateSigningRequest, which stays undecided, and returns
// its name.
func (s *setup) pendingRequest(t *testing.T) string {
	t.Helper()
	text, _ := newCSR(t, clientSigner, "pat")
	s.root.must(t, http.MethodPost, csrPath, toJSON(t, strings.Replace(text, "generateName: csr-", "name: pending", 1)))
	return "pending"
}

// selfSigned returns a self-signed certificate.
func selfSigned(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{Subject: pkix.Name{CommonName: "eve"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
