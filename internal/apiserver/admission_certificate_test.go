package apiserver_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
)

// The flag turns off the checks of certificate requests, but not the record of the
// requester: the server approves the request of a node for its own certificate.
func TestCertificatePluginsOff(t *testing.T) {
	t.Parallel()
	plugins := []string{"CertificateApproval", "CertificateSigning", "CertificateSubjectRestriction"}
	for state, test := range map[string]struct {
		config  apiserver.Config
		refused bool
	}{
		"on":  {apiserver.Config{EnableAdmission: plugins}, true},
		"off": {apiserver.Config{DisableAdmission: plugins}, false},
	} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			server := servertest.Start(t, test.config)
			allowRequests(t, server.Client(t), "jane")
			requests := kubernetes.NewForConfigOrDie(server.As(t, "jane")).CertificatesV1().CertificateSigningRequests()
			_, err := requests.Create(t.Context(), newRequest(t, "root", "system:masters"), metav1.CreateOptions{})
			if refused := err != nil; refused != test.refused {
				t.Errorf("request for system:masters: %v", err)
			}
			request := newRequest(t, "jane", "dev")
			request.Spec.Username, request.Spec.Groups = "system:node:host-1", []string{"system:nodes"}
			created, err := requests.Create(t.Context(), request, metav1.CreateOptions{})
			must(t, err)
			if created.Spec.Username != "jane" {
				t.Errorf("requester %s, want jane", created.Spec.Username)
			}
			created.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{
				Type: certificatesv1.CertificateFailed, Status: "True", Reason: "Tried",
			}}
			failed, err := requests.UpdateStatus(t.Context(), created, metav1.UpdateOptions{})
			if refused := err != nil; refused != test.refused {
				t.Errorf("sign: %v", err)
			}
			if err == nil {
				created = failed
			}
			created.Status.Conditions = append(created.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
				Type: certificatesv1.CertificateApproved, Status: "True", Reason: "Tried",
			})
			_, err = requests.UpdateApproval(t.Context(), created.Name, created, metav1.UpdateOptions{})
			if refused := err != nil; refused != test.refused {
				t.Errorf("approve: %v", err)
			}
		})
	}
}

// allowRequests lets a user write CertificateSigningRequests and their subresources. The
// user has no verb on any signer.
func allowRequests(t testing.TB, client kubernetes.Interface, user string) {
	t.Helper()
	_, err := client.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{"certificates.k8s.io"}, Resources: []string{"*"}, Verbs: []string{"get", "create", "update"},
		}},
	}, metav1.CreateOptions{})
	must(t, err)
	_, err = client.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: user},
		Subjects:   []rbacv1.Subject{{APIGroup: "rbac.authorization.k8s.io", Kind: "User", Name: user}},
	}, metav1.CreateOptions{})
	must(t, err)
	servertest.AwaitRight(t, client, user, authorizationv1.ResourceAttributes{
		Group: "certificates.k8s.io", Resource: "certificatesigningrequests", Verb: "create",
	})
}

// newRequest returns a request for a client certificate.
func newRequest(t testing.TB, name, group string) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.CertificateRequest{Subject: pkix.Name{CommonName: name, Organization: []string{group}}}
	der, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	must(t, err)
	return &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: name + "-"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
			SignerName: certificatesv1.KubeAPIServerClientSignerName, Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth},
		},
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
