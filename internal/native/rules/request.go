package rules

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
)

// finalConditions are the conditions of a CertificateSigningRequest that cannot be removed.
var finalConditions = []certificatesv1.RequestConditionType{
	certificatesv1.CertificateApproved, certificatesv1.CertificateDenied, certificatesv1.CertificateFailed,
}

// requestStatus checks the status of a CertificateSigningRequest. It cannot be both approved and denied, its final
// conditions cannot be removed, and its certificate can be set once.
func requestStatus(r *report, csr *certificatesv1.CertificateSigningRequest) {
	old, ok := r.old.(*certificatesv1.CertificateSigningRequest)
	var before requestFaults
	if ok {
		before = faultsOf(old.Status.Conditions)
	}
	requestConditions(r, csr.Status.Conditions, before)
	certificate := csr.Status.Certificate
	if ok {
		for _, kind := range finalConditions {
			if countConditions(old, kind) > countConditions(csr, kind) {
				r.forbidden(fmt.Sprintf("updates may not remove a condition of type %q", kind), "status", "conditions")
			}
		}
		if bytes.Equal(certificate, old.Status.Certificate) {
			return
		}
		if len(old.Status.Certificate) > 0 {
			r.forbidden("updates may not modify existing certificate content", "status", "certificate")
		}
		if certificateProblem(old.Status.Certificate) != "" {
			return
		}
	}
	if problem := certificateProblem(certificate); problem != "" {
		r.invalid("<certificate data>", problem, "status", "certificate")
	}
}

// requestFaults are faults in the conditions of a stored request. An update may keep them.
type requestFaults struct{ untyped, repeated, contradicting bool }

func faultsOf(conditions []certificatesv1.CertificateSigningRequestCondition) requestFaults {
	var faults requestFaults
	seen := map[certificatesv1.RequestConditionType]bool{}
	for _, condition := range conditions {
		faults.untyped = faults.untyped || condition.Type == ""
		faults.repeated = faults.repeated || seen[condition.Type]
		seen[condition.Type] = true
	}
	faults.contradicting = seen[certificatesv1.CertificateApproved] && seen[certificatesv1.CertificateDenied]
	return faults
}

func requestConditions(r *report, conditions []certificatesv1.CertificateSigningRequestCondition, before requestFaults) {
	seen := map[certificatesv1.RequestConditionType]bool{}
	for i, condition := range conditions {
		if condition.Type == "" && !before.untyped {
			r.required("", "status", "conditions", i, "type")
		}
		allowed := []string{string(corev1.ConditionFalse), string(corev1.ConditionTrue), string(corev1.ConditionUnknown)}
		if slices.Contains(finalConditions, condition.Type) {
			allowed = []string{string(corev1.ConditionTrue)}
		}
		switch {
		case condition.Status == "":
			r.required("", "status", "conditions", i, "status")
		case !slices.Contains(allowed, string(condition.Status)):
			r.unsupported(condition.Status, allowed, "status", "conditions", i, "status")
		}
		if seen[condition.Type] && !before.repeated {
			r.duplicate(condition.Type, "status", "conditions", i, "type")
		}
		seen[condition.Type] = true
		decided := condition.Type == certificatesv1.CertificateApproved || condition.Type == certificatesv1.CertificateDenied
		if decided && seen[certificatesv1.CertificateApproved] && seen[certificatesv1.CertificateDenied] && !before.contradicting {
			r.invalid(condition.Type, "Approved and Denied conditions are mutually exclusive", "status", "conditions")
		}
	}
}

func countConditions(csr *certificatesv1.CertificateSigningRequest, kind certificatesv1.RequestConditionType) int {
	n := 0
	for _, condition := range csr.Status.Conditions {
		if condition.Type == kind {
			n++
		}
	}
	return n
}

// certificateProblem returns an error message for a certificate in PEM, or "" if it is valid.
func certificateProblem(text []byte) string {
	if len(text) == 0 {
		return ""
	}
	found := false
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return fmt.Sprintf("only CERTIFICATE PEM blocks are allowed, found %q", block.Type)
		}
		if len(block.Headers) != 0 {
			return "no PEM block headers are permitted"
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return err.Error()
		}
		found = true
	}
	if !found {
		return "must contain at least one CERTIFICATE PEM block"
	}
	return ""
}
