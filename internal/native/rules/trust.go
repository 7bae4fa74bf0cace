package rules

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxTrustBundle is the largest size of a trust bundle in bytes.
const maxTrustBundle = 1 << 20

func trustRules() []rule {
	return []rule{
		onField[certificatesv1.ClusterTrustBundleSpec]("signerName", func(r *report, s string) {
			if s != "" {
				signerName(r, s)
			}
		}),
		notRequired[certificatesv1.ClusterTrustBundleSpec]("trustBundle"),
		onStruct(func(r *report, b *certificatesv1.ClusterTrustBundle) {
			// An unchanged bundle is not parsed again: the libraries of a later version may accept less.
			old, ok := r.old.(*certificatesv1.ClusterTrustBundle)
			if ok {
				// The name depends on the signer, which another check does not let change.
				r.invalidAll(b.Name, trustBundleName(b.Spec.SignerName)(b.Name, false), "metadata", "name")
			}
			if !ok || old.Spec.TrustBundle != b.Spec.TrustBundle {
				r.under(func() { trustAnchors(r, b.Spec.TrustBundle) }, "spec", "trustBundle")
			}
		}),
	}
}

// trustBundleName returns the validator for the name of a ClusterTrustBundle. The name of a bundle of a signer begins with
// the name of the signer, with colons instead of slashes.
func trustBundleName(signer string) apivalidation.ValidateNameFunc {
	return func(name string, isPrefix bool) []string {
		if signer == "" {
			if strings.Contains(name, ":") {
				return []string{`ClusterTrustBundle without signer name must not have ":" in its name`}
			}
			return apivalidation.NameIsDNSSubdomain(name, isPrefix)
		}
		required := strings.ReplaceAll(signer, "/", ":") + ":"
		rest, found := strings.CutPrefix(name, required)
		if !found {
			return []string{fmt.Sprintf("ClusterTrustBundle for signerName %s must be named with prefix %s", signer, required)}
		}
		return apivalidation.NameIsDNSSubdomain(rest, isPrefix)
	}
}

// trustAnchors checks that a bundle consists of different certificates of authorities, in PEM.
func trustAnchors(r *report, bundle string) {
	if len(bundle) > maxTrustBundle {
		r.add(field.ErrorList{field.TooLong(r.path(), "", maxTrustBundle)})
		return
	}
	entries, before := map[string][]int{}, len(r.errs)
	var order []string
	rest := []byte(bundle)
	for i := 0; ; i++ {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if problem := anchorProblem(block); problem != "" {
			r.invalid("<value omitted>", fmt.Sprintf("entry %d %s", i, problem))
			continue
		}
		if entries[string(block.Bytes)] == nil {
			order = append(order, string(block.Bytes))
		}
		entries[string(block.Bytes)] = append(entries[string(block.Bytes)], i)
	}
	if len(r.errs) > before {
		return
	}
	if len(order) == 0 {
		r.invalid("<value omitted>", "at least one trust anchor must be provided")
	}
	for _, entry := range order {
		if len(entries[entry]) > 1 {
			r.invalid("<value omitted>", fmt.Sprintf("duplicate trust anchor (indices %v)", entries[entry]))
		}
	}
}

// anchorProblem returns an error message for one block of a bundle, or "" if it is valid.
func anchorProblem(block *pem.Block) string {
	if block.Type != "CERTIFICATE" {
		return "has bad block type: " + block.Type
	}
	if len(block.Headers) != 0 {
		return "has PEM block headers"
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	switch {
	case err != nil:
		return "does not parse as X.509"
	case !certificate.IsCA:
		return "does not have the CA bit set"
	case !certificate.BasicConstraintsValid:
		return "has invalid basic constraints"
	}
	return ""
}

// signerName checks the name of a signer: a domain of at least two labels, a slash, and a path of subdomains.
func signerName(r *report, s string) {
	domain, path, found := strings.Cut(s, "/")
	if !found || strings.Contains(path, "/") {
		r.invalid(s, "must be a fully qualified domain and path of the form 'example.com/signer-name'")
		return
	}
	const maxDomain = validation.DNS1123SubdomainMaxLength
	if len(domain) > maxDomain {
		r.add(field.ErrorList{field.TooLong(r.path(), "", maxDomain)})
	}
	firstWrongLabel(r, domain, validation.IsDNS1123Label)
	if !strings.Contains(domain, ".") {
		r.invalid(domain, "should be a domain with at least two segments separated by dots")
	}
	firstWrongLabel(r, path, validation.IsDNS1123Subdomain)
	const maxName = 2*maxDomain + validation.DNS1123LabelMaxLength + 2
	if len(s) > maxName {
		r.add(field.ErrorList{field.TooLong(r.path(), "", maxName)})
	}
}

// firstWrongLabel checks the parts of a name between dots, up to the first one with an error.
func firstWrongLabel(r *report, name string, validate func(string) []string) {
	for label := range strings.SplitSeq(name, ".") {
		if messages := validate(label); len(messages) > 0 {
			for _, message := range messages {
				r.invalid(name, fmt.Sprintf("validating label %q: %s", label, message))
			}
			return
		}
	}
}
