package certificate

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apiserver/pkg/authentication/user"

	"holdfast.dev/holdfast/internal/access"
	"holdfast.dev/holdfast/internal/access/node"
)

const minRSABits = 2048

// Known reports whether this package signs for the signer.
func Known(signer string) bool {
	return signer == certificatesv1.KubeAPIServerClientSignerName || signer == certificatesv1.KubeAPIServerClientKubeletSignerName
}

// Check parses and validates the request of a CertificateSigningRequest. If it returns
// an error, the request is never signed, even if it is approved.
func Check(spec certificatesv1.CertificateSigningRequestSpec) (access.ClientRequest, error) {
	block, _ := pem.Decode(spec.Request)
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		return access.ClientRequest{}, errors.New("request is no PEM block of type CERTIFICATE REQUEST")
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return access.ClientRequest{}, fmt.Errorf("request: %w", err)
	}
	if err := request.CheckSignature(); err != nil {
		return access.ClientRequest{}, fmt.Errorf("request: signature: %w", err)
	}
	if err := checkKey(request.PublicKey); err != nil {
		return access.ClientRequest{}, err
	}
	if err := CheckSubject(spec.SignerName, request); err != nil {
		return access.ClientRequest{}, err
	}
	if err := checkUsages(spec.Usages); err != nil {
		return access.ClientRequest{}, err
	}
	wanted := access.ClientRequest{
		Public:  request.PublicKey,
		Subject: access.Subject{User: request.Subject.CommonName, Groups: request.Subject.Organization},
	}
	if spec.ExpirationSeconds != nil {
		wanted.Life = time.Duration(*spec.ExpirationSeconds) * time.Second
	}
	return wanted, nil
}

// CheckSubject rejects the group system:masters. The signer for nodes accepts only
// nodes, and the other signer accepts no node.
func CheckSubject(signer string, request *x509.CertificateRequest) error {
	name, groups := request.Subject.CommonName, request.Subject.Organization
	switch {
	case name == "":
		return errors.New("subject common name is required")
	case slices.Contains(groups, user.SystemPrivilegedGroup):
		return fmt.Errorf("use of %s signer with %s group is not allowed", signer, user.SystemPrivilegedGroup)
	case signer != certificatesv1.KubeAPIServerClientKubeletSignerName:
		if slices.Contains(groups, user.NodesGroup) {
			return fmt.Errorf("use of %s signer with %s group is not allowed: ask %s",
				signer, user.NodesGroup, certificatesv1.KubeAPIServerClientKubeletSignerName)
		}
		return nil
	case !slices.Equal(groups, []string{user.NodesGroup}):
		return fmt.Errorf("subject organization is not %s", user.NodesGroup)
	case !strings.HasPrefix(name, node.UserPrefix) || len(name) == len(node.UserPrefix):
		return fmt.Errorf("subject common name does not begin with %s", node.UserPrefix)
	case len(request.DNSNames)+len(request.IPAddresses)+len(request.EmailAddresses)+len(request.URIs) > 0:
		return errors.New("subject alternative names are not allowed")
	}
	return nil
}

// checkUsages accepts only key usages of client certificates.
func checkUsages(usages []certificatesv1.KeyUsage) error {
	if !slices.Contains(usages, certificatesv1.UsageClientAuth) {
		return fmt.Errorf("usages do not include %q", certificatesv1.UsageClientAuth)
	}
	for _, usage := range usages {
		switch usage {
		case certificatesv1.UsageClientAuth, certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment:
		default:
			return fmt.Errorf("usage %q is not for clients", usage)
		}
	}
	return nil
}

func checkKey(public any) error {
	switch key := public.(type) {
	case *rsa.PublicKey:
		if key.N.BitLen() < minRSABits {
			return fmt.Errorf("RSA key of %d bits: at least %d are needed", key.N.BitLen(), minRSABits)
		}
	case *ecdsa.PublicKey, ed25519.PublicKey:
	default:
		return fmt.Errorf("keys of type %T are not signed", public)
	}
	return nil
}
