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
	"k8s.io/utils/ptr"
)

// NodesGroup is the group of all nodes.
const NodesGroup = "system:nodes"

// NodeSubject returns the subject of a node's client certificate.
func NodeSubject(name string) Subject {
	return Subject{User: "system:node:" + name, Groups: []string{NodesGroup}}
}

// Enrollment requests a client certificate with a CertificateSigningRequest.
type Enrollment struct {
	// Subject is the user and the groups. Its hosts are ignored.
	Subject Subject
	// Life is how long the certificate is valid; the server may shorten it. Zero means as
	// long as the server allows.
	Life time.Duration
	// Signer is the signerName of the CertificateSigningRequest.
	Signer string
	// Prefix is the generateName of the CertificateSigningRequest.
	Prefix string
	// Approval, if set, makes Enroll approve its own request, with this text as
	// the reason of the condition. The client needs the right to approve.
	Approval string
	// Poll is the interval at which Enroll reads the request, Limit the time after
	// which it gives up.
	Poll, Limit time.Duration
}

// Enroll generates a key, creates a CertificateSigningRequest for it and waits
// until the certificate is issued. The key is only in the returned KeyPair; Enroll
// neither stores nor sends it.
func (e Enrollment) Enroll(ctx context.Context, client kubernetes.Interface) (KeyPair, error) {
	keyPEM, der, err := e.sign()
	if err != nil {
		return KeyPair{}, err
	}
	requests := client.CertificatesV1().CertificateSigningRequests()
	request, err := requests.Create(ctx, e.request(der), metav1.CreateOptions{})
	if err != nil {
		return KeyPair{}, fmt.Errorf("request a certificate for %s: %w", e.Subject.User, err)
	}
	if e.Approval != "" {
		request.Status.Conditions = append(request.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
			Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue,
			Reason: e.Approval, Message: "approved by the requester",
		})
		if _, err := requests.UpdateApproval(ctx, request.Name, request, metav1.UpdateOptions{}); err != nil {
			return KeyPair{}, fmt.Errorf("approve %s: %w", request.Name, err)
		}
	}
	cert, err := e.wait(ctx, client, request.Name)
	if err != nil {
		return KeyPair{}, fmt.Errorf("certificate request %s: %w", request.Name, err)
	}
	return KeyPair{Cert: cert, Key: keyPEM}, nil
}

// Try lets the server try the request for a certificate, without storing it. The certificate is not issued.
func (e Enrollment) Try(ctx context.Context, client kubernetes.Interface) error {
	_, der, err := e.sign()
	if err != nil {
		return err
	}
	_, err = client.CertificatesV1().CertificateSigningRequests().Create(ctx, e.request(der), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		return fmt.Errorf("request a certificate for %s: %w", e.Subject.User, err)
	}
	return nil
}

// sign makes a key, and a PKCS #10 request that it signs.
func (e Enrollment) sign() (keyPEM, der []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("generate key: %w", err)
	}
	keyPEM, err = encodeKey(key)
	if err != nil {
		return nil, nil, err
	}
	subject := pkix.Name{CommonName: e.Subject.User, Organization: e.Subject.Groups}
	der, err = x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: subject}, key)
	if err != nil {
		return nil, nil, fmt.Errorf("make request: %w", err)
	}
	return keyPEM, der, nil
}

// request returns the CertificateSigningRequest for an encoded PKCS #10 request.
func (e Enrollment) request(der []byte) *certificatesv1.CertificateSigningRequest {
	request := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: e.Prefix},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
			SignerName: e.Signer,
			Usages:     []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},
		},
	}
	if e.Life > 0 {
		request.Spec.ExpirationSeconds = ptr.To(int32(e.Life / time.Second))
	}
	return request
}

// wait polls the named request until its status has a certificate. It returns an
// error if the request is denied or fails.
func (e Enrollment) wait(ctx context.Context, client kubernetes.Interface, name string) (cert []byte, err error) {
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
