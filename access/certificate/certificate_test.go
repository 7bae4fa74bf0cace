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

	"holdfast.dev/holdfast/access"
	"holdfast.dev/holdfast/access/certificate"
)

const (
	client  = certificatesv1.KubeAPIServerClientSignerName
	kubelet = certificatesv1.KubeAPIServerClientKubeletSignerName
)

var created = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// order is a request to be; what is not said is right.
type order struct {
	signer, name string
	groups       []string
	usages       []certificatesv1.KeyUsage
	key          crypto.Signer
	seconds      int32
	ip           net.IP
	conditions   []certificatesv1.RequestConditionType
}

func newKey(t *testing.T) crypto.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (o order) csr(t *testing.T) *certificatesv1.CertificateSigningRequest {
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
		csr.Status.Conditions = append(csr.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{Type: condition, Status: corev1.ConditionTrue, LastUpdateTime: metav1.NewTime(created)})
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

func TestAnswer(t *testing.T) {
	approved := []certificatesv1.RequestConditionType{certificatesv1.CertificateApproved}
	weak, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	day := int32(24 * 60 * 60)
	tests := map[string]struct {
		order  order
		want   string
		wantTo time.Duration
	}{
		"person":                {order: order{signer: client, name: "ann", groups: []string{"dev"}, conditions: approved}, want: "certificate of ann [dev]", wantTo: 365 * 24 * time.Hour},
		"for a day":             {order: order{signer: client, name: "ann", seconds: day, conditions: approved}, want: "certificate of ann []", wantTo: 24 * time.Hour},
		"for longer than given": {order: order{signer: client, name: "ann", seconds: 1000 * day, conditions: approved}, want: "certificate of ann []", wantTo: 365 * 24 * time.Hour},
		"node":                  {order: order{signer: kubelet, name: "system:node:n1", groups: []string{"system:nodes"}, conditions: approved}, want: "certificate of system:node:n1 [system:nodes]", wantTo: 365 * 24 * time.Hour},
		"not approved":          {order: order{signer: client, name: "ann"}, want: "nothing"},
		"denied too":            {order: order{signer: client, name: "ann", conditions: append(approved, certificatesv1.CertificateDenied)}, want: "nothing"},
		"failed before":         {order: order{signer: client, name: "ann", conditions: append(approved, certificatesv1.CertificateFailed)}, want: "nothing"},
		"another signer":        {order: order{signer: "example.com/x", name: "ann", conditions: approved}, want: "nothing"},
		"administrator":         {order: order{signer: client, name: "ann", groups: []string{"dev", "system:masters"}, conditions: approved}, want: "SignerValidationFailure: use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed"},
		"administrating node":   {order: order{signer: kubelet, name: "system:node:n1", groups: []string{"system:nodes", "system:masters"}, conditions: approved}, want: "SignerValidationFailure: use of kubernetes.io/kube-apiserver-client-kubelet signer with system:masters group is not allowed"},
		"node by the other":     {order: order{signer: client, name: "system:node:n1", groups: []string{"system:nodes"}, conditions: approved}, want: "SignerValidationFailure: use of kubernetes.io/kube-apiserver-client signer with system:nodes group is not allowed: ask kubernetes.io/kube-apiserver-client-kubelet"},
		"person by the nodes'":  {order: order{signer: kubelet, name: "ann", groups: []string{"system:nodes"}, conditions: approved}, want: "SignerValidationFailure: subject common name does not begin with system:node:"},
		"node without a name":   {order: order{signer: kubelet, name: "system:node:", groups: []string{"system:nodes"}, conditions: approved}, want: "SignerValidationFailure: subject common name does not begin with system:node:"},
		"node with a group":     {order: order{signer: kubelet, name: "system:node:n1", groups: []string{"system:nodes", "dev"}, conditions: approved}, want: "SignerValidationFailure: subject organization is not system:nodes"},
		"node with an address":  {order: order{signer: kubelet, name: "system:node:n1", groups: []string{"system:nodes"}, ip: net.IPv4(1, 2, 3, 4), conditions: approved}, want: "SignerValidationFailure: subject alternative names are not allowed"},
		"nobody":                {order: order{signer: client, conditions: approved}, want: "SignerValidationFailure: subject common name is required"},
		"server":                {order: order{signer: client, name: "ann", usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth, certificatesv1.UsageServerAuth}, conditions: approved}, want: `SignerValidationFailure: usage "server auth" is not for clients`},
		"no client":             {order: order{signer: client, name: "ann", usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature}, conditions: approved}, want: `SignerValidationFailure: usages do not include "client auth"`},
		"weak key":              {order: order{signer: client, name: "ann", key: weak, conditions: approved}, want: "SignerValidationFailure: RSA key of 1024 bits: at least 2048 are needed"},
	}
	authority := newAuthority(t)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			csr := test.order.csr(t)
			before := csr.DeepCopy()
			answered, err := certificate.Answer(authority, csr, created)
			if err != nil {
				t.Fatal(err)
			}
			got := "nothing"
			if answered != nil {
				last := answered.Status.Conditions[len(answered.Status.Conditions)-1]
				got = last.Reason + ": " + last.Message
				if len(answered.Status.Certificate) > 0 {
					cert := parse(t, answered.Status.Certificate)
					got = "certificate of " + cert.Subject.CommonName + " [" + strings.Join(cert.Subject.Organization, " ") + "]"
					if life := cert.NotAfter.Sub(created); life != test.wantTo {
						t.Errorf("good for %v, want %v", life, test.wantTo)
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
				t.Errorf("the request of the informer changed:\n%s", diff)
			}
		})
	}
	unsure := order{signer: client, name: "ann", conditions: approved}.csr(t)
	unsure.Status.Conditions[0].Status = corev1.ConditionFalse
	if answered, err := certificate.Answer(authority, unsure, created); err != nil || answered != nil {
		t.Errorf("a request that says it is not approved: %v, %v", answered, err)
	}
}

func TestCheckRefusesNoise(t *testing.T) {
	right := order{signer: client, name: "ann"}.csr(t).Spec
	block, _ := pem.Decode(right.Request)
	block.Bytes[len(block.Bytes)-1] ^= 1
	for name, request := range map[string][]byte{
		"nothing":           nil,
		"no PEM":            []byte("x"),
		"another block":     pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: block.Bytes}),
		"half":              pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: block.Bytes[:20]}),
		"another signature": pem.EncodeToMemory(block),
	} {
		spec := right
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
			t.Errorf("signed %v", wanted.Subject)
		}
	})
}

// TestSigner runs the loop: a request that is approved is answered, and one
// that is long done is removed.
func TestSigner(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	fresh := order{signer: client, name: "ann", conditions: []certificatesv1.RequestConditionType{certificatesv1.CertificateApproved}}.csr(t)
	fresh.CreationTimestamp = metav1.Now()
	old := order{signer: client, name: "bob", conditions: []certificatesv1.RequestConditionType{certificatesv1.CertificateDenied}}.csr(t)
	old.Name, old.CreationTimestamp = "old", metav1.NewTime(time.Now().Add(-2*time.Hour))
	old.Status.Conditions[0].LastUpdateTime = old.CreationTimestamp
	clientset := fake.NewClientset(fresh, old)
	factory := informers.NewSharedInformerFactory(clientset, 0)
	signer, err := certificate.NewSigner(newAuthority(t), nobody{}, clientset.CertificatesV1(), factory.Certificates().V1().CertificateSigningRequests())
	if err != nil {
		t.Fatal(err)
	}
	requests := clientset.CertificatesV1().CertificateSigningRequests()
	changes, err := requests.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer changes.Stop()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		signer.Run(ctx)
	}()
	factory.StartWithContext(ctx)
	signed, removed := false, false
	for !signed || !removed {
		select {
		case event := <-changes.ResultChan():
			csr, _ := event.Object.(*certificatesv1.CertificateSigningRequest)
			signed = signed || (csr.Name == "csr" && len(csr.Status.Certificate) > 0)
			removed = removed || (csr.Name == "old" && event.Type == "DELETED")
		case <-ctx.Done():
			t.Fatalf("signed %v, removed %v", signed, removed)
		}
	}
	cancel()
	<-ended
	factory.Shutdown()
}
