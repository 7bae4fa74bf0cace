package access

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
)

// NodesGroup is the group that every node is in.
const NodesGroup = "system:nodes"

// NodeSubject is what the certificate of a node says.
func NodeSubject(name string) Subject {
	return Subject{User: "system:node:" + name, Groups: []string{NodesGroup}}
}

// Enrollment is a client certificate that is asked for through the API.
type Enrollment struct {
	// Subject has a user and groups; hosts are not for clients.
	Subject Subject
	// Signer is who is to sign it, by the name that the API has for it.
	Signer string
	// Prefix begins the name of the request.
	Prefix string
	// Approval, unless it is empty, has the request approved with the credential
	// that asks, for this reason.
	Approval string
	// Poll is how often the request is looked at, Limit for how long.
	Poll, Limit time.Duration
}

// Enroll makes a key, asks for its certificate and waits until that is signed.
// The key is nowhere but in what is returned.
func (e Enrollment) Enroll(ctx context.Context, client kubernetes.Interface) (KeyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return KeyPair{}, fmt.Errorf("generate key: %w", err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return KeyPair{}, fmt.Errorf("encode key: %w", err)
	}
	subject := pkix.Name{CommonName: e.Subject.User, Organization: e.Subject.Groups}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: subject}, key)
	if err != nil {
		return KeyPair{}, fmt.Errorf("make request: %w", err)
	}
	requests := client.CertificatesV1().CertificateSigningRequests()
	request, err := requests.Create(ctx, &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: e.Prefix},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
			SignerName: e.Signer,
			Usages:     []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return KeyPair{}, fmt.Errorf("request a certificate for %s: %w", e.Subject.User, err)
	}
	if e.Approval != "" {
		request.Status.Conditions = append(request.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
			Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: e.Approval, Message: "approved by who asked for it",
		})
		if _, err := requests.UpdateApproval(ctx, request.Name, request, metav1.UpdateOptions{}); err != nil {
			return KeyPair{}, fmt.Errorf("approve %s: %w", request.Name, err)
		}
	}
	cert, err := e.signed(ctx, client, request.Name)
	if err != nil {
		return KeyPair{}, fmt.Errorf("certificate request %s: %w", request.Name, err)
	}
	return KeyPair{Cert: cert, Key: pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER})}, nil
}

// signed waits until a request has its certificate, or is refused.
func (e Enrollment) signed(ctx context.Context, client kubernetes.Interface, name string) (cert []byte, err error) {
	err = wait.PollUntilContextTimeout(ctx, e.Poll, e.Limit, true, func(ctx context.Context) (bool, error) {
		request, err := client.CertificatesV1().CertificateSigningRequests().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		for _, condition := range request.Status.Conditions {
			if condition.Type == certificatesv1.CertificateDenied || condition.Type == certificatesv1.CertificateFailed {
				return false, fmt.Errorf("%s: %s", condition.Type, condition.Message)
			}
		}
		cert = request.Status.Certificate
		return len(cert) > 0, nil
	})
	return cert, err
}
