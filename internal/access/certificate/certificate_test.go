package certificate_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"holdfast.dev/holdfast/internal/access"
	"holdfast.dev/holdfast/internal/access/certificate"
	"holdfast.dev/holdfast/internal/waittest"
)

const (
	client  = certificatesv1.KubeAPIServerClientSignerName
	kubelet = certificatesv1.KubeAPIServerClientKubeletSignerName
)

var created = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// options describes a CertificateSigningRequest. If key or usages are not set, csr uses
// valid ones.
type options struct {
	signer, name string
	groups       []string
	usages       []certificatesv1.KeyUsage
	key          crypto.Signer
	seconds      int32
	ip           net.IP
	conditions   conditions
}

type conditions []certificatesv1.RequestConditionType

func newKey(t *testing.T) crypto.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (o options) csr(t *testing.T) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	if o.key == nil {
		o.key = newKey(t)
	}
	template := &x509.CertificateRequest{Subject: pkix.Name{CommonName: o.name, Organization: o.groups}}
	if o.ip != nil {
		template.IPAddresses = []net.IP{o.ip}
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, template, o.key)
	if err != nil {
		t.Fatal(err)
	}
	if o.usages == nil {
		o.usages = []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth, certificatesv1.UsageDigitalSignature}
	}
	csr := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: "csr", UID: "uid", CreationTimestamp: metav1.NewTime(created)},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			SignerName: o.signer, Usages: o.usages,
			Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
		},
	}
	if o.seconds != 0 {
		csr.Spec.ExpirationSeconds = &o.seconds
	}
	for _, condition := range o.conditions {
		csr.Status.Conditions = append(csr.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
			Type: condition, Status: corev1.ConditionTrue, LastUpdateTime: metav1.NewTime(created),
		})
	}
	return csr
}

func newAuthority(t *testing.T) *access.Authority {
	t.Helper()
	authority, _, err := access.NewAuthority(created)
	if err != nil {
		t.Fatal(err)
	}
	return authority
}

func parse(t *testing.T, data []byte) *x509.Certificate {
	t.Helper()
	block, rest := pem.Decode(data)
	if block == nil || len(rest) > 0 {
		t.Fatalf("no certificate: %s", data)
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func TestSign(t *testing.T) {
	approved := conditions{certificatesv1.CertificateApproved}
	weak, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	const (
		year       = 365 * 24 * time.Hour
		daySeconds = 24 * 60 * 60
		n1         = "system:node:n1"
		notAllowed = " group is not allowed"
	)
	nodes := []string{"system:nodes"}
	nodesAndMasters := []string{"system:nodes", "system:masters"}
	clientAndServer := []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth, certificatesv1.UsageServerAuth}
	signature := []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature}
	tests := map[string]struct {
		// If options has no conditions, the request is approved.
		options  options
		want     string
		wantLife time.Duration
	}{
		"user": {
			options: options{signer: client, name: "ann", groups: []string{"dev"}},
			want:    "certificate of ann [dev]", wantLife: year,
		},
		"life of a day": {
			options: options{signer: client, name: "ann", seconds: daySeconds},
			want:    "certificate of ann []", wantLife: 24 * time.Hour,
		},
		"life of more than a year": {
			options: options{signer: client, name: "ann", seconds: 1000 * daySeconds},
			want:    "certificate of ann []", wantLife: year,
		},
		"node": {
			options: options{signer: kubelet, name: n1, groups: nodes},
			want:    "certificate of system:node:n1 [system:nodes]", wantLife: year,
		},
		"not approved": {options: options{signer: client, name: "ann", conditions: conditions{}}, want: "nothing"},
		"approved and denied": {
			options: options{signer: client, name: "ann", conditions: append(approved, certificatesv1.CertificateDenied)},
			want:    "nothing",
		},
		"approved and failed": {
			options: options{signer: client, name: "ann", conditions: append(approved, certificatesv1.CertificateFailed)},
			want:    "nothing",
		},
		"other signer": {options: options{signer: "example.com/x", name: "ann"}, want: "nothing"},
		"user in system:masters": {
			options: options{signer: client, name: "ann", groups: []string{"dev", "system:masters"}},
			want:    "SignerValidationFailure: use of kubernetes.io/kube-apiserver-client signer with system:masters" + notAllowed,
		},
		"node in system:masters": {
			options: options{signer: kubelet, name: n1, groups: nodesAndMasters},
			want:    "SignerValidationFailure: use of kubernetes.io/kube-apiserver-client-kubelet signer with system:masters" + notAllowed,
		},
		"node, signer for other clients": {
			options: options{signer: client, name: n1, groups: nodes},
			want: "SignerValidationFailure: use of kubernetes.io/kube-apiserver-client signer with system:nodes" + notAllowed +
				": ask kubernetes.io/kube-apiserver-client-kubelet",
		},
		"user, signer for nodes": {
			options: options{signer: kubelet, name: "ann", groups: nodes},
			want:    "SignerValidationFailure: subject common name does not begin with system:node:",
		},
		"node without a name": {
			options: options{signer: kubelet, name: "system:node:", groups: nodes},
			want:    "SignerValidationFailure: subject common name does not begin with system:node:",
		},
		"node in another group": {
			options: options{signer: kubelet, name: n1, groups: []string{"system:nodes", "dev"}},
			want:    "SignerValidationFailure: subject organization is not system:nodes",
		},
		"node with an IP address": {
			options: options{signer: kubelet, name: n1, groups: nodes, ip: net.IPv4(1, 2, 3, 4)},
			want:    "SignerValidationFailure: subject alternative names are not allowed",
		},
		"no common name": {
			options: options{signer: client},
			want:    "SignerValidationFailure: subject common name is required",
		},
		"server auth": {
			options: options{signer: client, name: "ann", usages: clientAndServer},
			want:    `SignerValidationFailure: usage "server auth" is not for clients`,
		},
		"no client auth": {
			options: options{signer: client, name: "ann", usages: signature},
			want:    `SignerValidationFailure: usages do not include "client auth"`,
		},
		"weak key": {
			options: options{signer: client, name: "ann", key: weak},
			want:    "SignerValidationFailure: RSA key of 1024 bits: at least 2048 are needed",
		},
	}
	authority := newAuthority(t)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.options.conditions == nil {
				test.options.conditions = approved
			}
			csr := test.options.csr(t)
			before := csr.DeepCopy()
			signed, err := certificate.Sign(authority, csr, created)
			if err != nil {
				t.Fatal(err)
			}
			got := "nothing"
			if signed != nil {
				last := signed.Status.Conditions[len(signed.Status.Conditions)-1]
				got = last.Reason + ": " + last.Message
				if len(signed.Status.Certificate) > 0 {
					cert := parse(t, signed.Status.Certificate)
					got = "certificate of " + cert.Subject.CommonName + " [" + strings.Join(cert.Subject.Organization, " ") + "]"
					if life := cert.NotAfter.Sub(created); life != test.wantLife {
						t.Errorf("valid for %v, want %v", life, test.wantLife)
					}
					if cert.IsCA || !slices.Equal(cert.ExtKeyUsage, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}) {
						t.Errorf("authority %v, usages %v", cert.IsCA, cert.ExtKeyUsage)
					}
				}
			}
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			if diff := cmp.Diff(before, csr); diff != "" {
				t.Errorf("the argument was modified:\n%s", diff)
			}
		})
	}
	notApproved := options{signer: client, name: "ann", conditions: approved}.csr(t)
	notApproved.Status.Conditions[0].Status = corev1.ConditionFalse
	if signed, err := certificate.Sign(authority, notApproved, created); err != nil || signed != nil {
		t.Errorf("condition Approved is False: %v, %v", signed, err)
	}
}

func TestCheckRejectsInvalidRequest(t *testing.T) {
	valid := options{signer: client, name: "ann"}.csr(t).Spec
	block, _ := pem.Decode(valid.Request)
	block.Bytes[len(block.Bytes)-1] ^= 1
	for name, request := range map[string][]byte{
		"empty":             nil,
		"not PEM":           []byte("x"),
		"other block type":  pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: block.Bytes}),
		"truncated":         pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: block.Bytes[:20]}),
		"changed signature": pem.EncodeToMemory(block),
	} {
		spec := valid
		spec.Request = request
		if _, err := certificate.Check(spec); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func FuzzCheck(f *testing.F) {
	f.Add([]byte("-----BEGIN CERTIFICATE REQUEST-----\nAA==\n-----END CERTIFICATE REQUEST-----\n"), client)
	f.Fuzz(func(t *testing.T, request []byte, signer string) {
		wanted, err := certificate.Check(certificatesv1.CertificateSigningRequestSpec{
			Request: request, SignerName: signer, Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth},
		})
		if err == nil && (slices.Contains(wanted.Subject.Groups, "system:masters") || wanted.Subject.User == "") {
			t.Errorf("accepted %v", wanted.Subject)
		}
	})
}

// TestSigner runs the controller. It signs an approved request and deletes a request
// that was denied two hours ago.
func TestSigner(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	fresh := options{signer: client, name: "ann", conditions: conditions{certificatesv1.CertificateApproved}}.csr(t)
	fresh.CreationTimestamp = metav1.Now()
	old := options{signer: client, name: "bob", conditions: conditions{certificatesv1.CertificateDenied}}.csr(t)
	old.Name, old.CreationTimestamp = "old", metav1.NewTime(time.Now().Add(-2*time.Hour))
	old.Status.Conditions[0].LastUpdateTime = old.CreationTimestamp
	clientset := fake.NewClientset(fresh, old)
	factory := informers.NewSharedInformerFactory(clientset, 0)
	informer := factory.Certificates().V1().CertificateSigningRequests()
	signer, err := certificate.NewSigner(newAuthority(t), allowNone{}, clientset.CertificatesV1(), informer)
	if err != nil {
		t.Fatal(err)
	}
	requests := clientset.CertificatesV1().CertificateSigningRequests()
	changes, err := requests.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer changes.Stop()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		signer.Run(ctx)
	}()
	factory.StartWithContext(ctx)
	signed, deleted := false, false
	for !signed || !deleted {
		event := waittest.Receive(t, fmt.Sprintf("a change after signed %v, deleted %v", signed, deleted), changes.ResultChan())
		csr, _ := event.Object.(*certificatesv1.CertificateSigningRequest)
		signed = signed || (csr.Name == "csr" && len(csr.Status.Certificate) > 0)
		deleted = deleted || (csr.Name == "old" && event.Type == "DELETED")
	}
	cancel()
	<-stopped
	factory.Shutdown()
}
