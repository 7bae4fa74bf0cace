package rules

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// projectionRules are the rules for projected volumes.
func projectionRules() []rule {
	return []rule{
		onField[corev1.ProjectedVolumeSource]("defaultMode", fileMode),
		onStruct(projections),
		namedReference(func(s *corev1.SecretProjection) string { return s.Name }),
		namedReference(func(s *corev1.ConfigMapProjection) string { return s.Name }),
		leftOut[corev1.DownwardAPIProjection]("items"),
		notRequired[corev1.ServiceAccountTokenProjection]("path"),
		onField[corev1.ServiceAccountTokenProjection]("expirationSeconds", func(r *report, n int64) {
			if n < 10*60 {
				r.invalid(n, "may not specify a duration less than 10 minutes")
			}
			if n > 1<<32 {
				r.invalid(n, "may not specify a duration larger than 2^32 seconds")
			}
		}),
		onField[corev1.ClusterTrustBundleProjection]("path", nonReservedPath),
		when("labelSelector", func(_ *report, s *corev1.ClusterTrustBundleProjection) bool {
			return s.Name == nil && s.SignerName != nil
		}),
		onStruct(projectedBundle),
		notRequired[corev1.PodCertificateProjection]("signerName"),
		onField[corev1.PodCertificateProjection]("signerName", signerName),
		notRequired[corev1.PodCertificateProjection]("keyType"),
		onStruct(projectedCertificate),
		onStruct(tokenWithoutAccount),
	}
}

var projectionTypes = newUnion[corev1.VolumeProjection]()

// projections checks that each source of a projected volume has one type, and that no two files have the same path. As in
// Kubernetes, an error about a path has the path of the volume.
func projections(r *report, v *corev1.ProjectedVolumeSource) {
	var taken []string
	claim := func(path string) {
		if slices.Contains(taken, path) {
			r.invalid(path, "conflicting duplicate paths")
		}
		taken = append(taken, path)
	}
	for i, s := range v.Sources {
		if len(projectionTypes.set(&v.Sources[i])) > 1 {
			r.forbidden("may not specify more than 1 volume type per source", "sources", i)
		}
		for _, path := range projectedPaths(s) {
			claim(path)
		}
		if token := s.ServiceAccountToken; token != nil {
			// Kubernetes leaves the source out of this path.
			r.under(func() { tokenPath(r, token.Path) }, "path")
		}
	}
}

// projectedPaths returns the paths of the files of a source. The path of a service account token is not among them, as in
// Kubernetes.
func projectedPaths(s corev1.VolumeProjection) []string {
	var paths []string
	if s.Secret != nil {
		paths = append(paths, itemPaths(s.Secret.Items)...)
	}
	if s.ConfigMap != nil {
		paths = append(paths, itemPaths(s.ConfigMap.Items)...)
	}
	if s.DownwardAPI != nil {
		for _, item := range s.DownwardAPI.Items {
			paths = append(paths, item.Path)
		}
	}
	if c := s.PodCertificate; c != nil {
		paths = append(paths, c.CredentialBundlePath, c.KeyPath, c.CertificateChainPath)
	}
	paths = slices.DeleteFunc(paths, func(path string) bool { return path == "" })
	if s.ClusterTrustBundle != nil {
		paths = append(paths, s.ClusterTrustBundle.Path)
	}
	return paths
}

func itemPaths(items []corev1.KeyToPath) []string {
	paths := make([]string, len(items))
	for i, item := range items {
		paths[i] = item.Path
	}
	return paths
}

func tokenPath(r *report, path string) {
	notEmptyString(r, path)
	nonReservedPath(r, path)
}

// projectedBundle checks which trust bundles a projection selects: one by its name, or those of a signer.
func projectedBundle(r *report, s *corev1.ClusterTrustBundleProjection) {
	switch {
	case s.Name != nil && s.SignerName != nil:
		r.invalid(s, "only one of name and signerName may be used")
	case s.Name != nil:
		if *s.Name == "" {
			r.required("must be a valid object name", "name")
		}
		for _, message := range trustBundleName(signerOf(*s.Name))(*s.Name, false) {
			r.invalid(*s.Name, "not a valid clustertrustbundlename: "+message, "name")
		}
		if s.LabelSelector != nil {
			r.invalid(s.LabelSelector, "labelSelector must be unset if name is specified", "labelSelector")
		}
	case s.SignerName != nil:
		if *s.SignerName == "" {
			r.required("must be a valid signer name", "signerName")
		}
		r.under(func() { signerName(r, *s.SignerName) }, "signerName")
	default:
		r.required("either name or signerName must be specified")
	}
}

// signerOf returns the signer in the name of a trust bundle, or "" if there is none.
func signerOf(bundle string) string {
	return strings.ReplaceAll(bundle[:max(0, strings.LastIndex(bundle, ":"))], ":", "/")
}

var certificateKeys = []string{"ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519", "RSA3072", "RSA4096"}

func projectedCertificate(r *report, s *corev1.PodCertificateProjection) {
	if !slices.Contains(certificateKeys, s.KeyType) {
		r.unsupported(s.KeyType, certificateKeys, "keyType")
	}
	for _, name := range sortedKeys(s.UserAnnotations) {
		r.add(validation.IsDomainPrefixedKey(r.path("userAnnotations"), strings.ToLower(name)))
	}
	if s.MaxExpirationSeconds != nil {
		r.under(func() { certificateLifetime(r, *s.MaxExpirationSeconds, s.SignerName) }, "maxExpirationSeconds")
	}
	r.under(func() { nonReservedPath(r, s.CredentialBundlePath) }, "credentialBundlePath")
	r.under(func() { nonReservedPath(r, s.KeyPath) }, "keyPath")
	r.under(func() { nonReservedPath(r, s.CertificateChainPath) }, "certificateChainPath")
	if s.CredentialBundlePath == "" && s.KeyPath == "" && s.CertificateChainPath == "" {
		r.required("specify at least one of credentialBundlePath, keyPath, and certificateChainPath")
	}
}

// certificateLifetime limits the lifetime of a certificate in seconds. Signers of Kubernetes issue certificates for a day.
func certificateLifetime(r *report, seconds int32, signer string) {
	const hour, day = 3600, 24 * 3600
	longest := int32(91 * day)
	if domain, _, _ := strings.Cut(signer, "/"); domain == "kubernetes.io" || strings.HasSuffix(domain, ".kubernetes.io") {
		longest = day
	}
	if seconds < hour {
		r.invalid(seconds, "if provided, maxExpirationSeconds must be >= 3600")
	}
	if seconds > longest {
		r.invalid(seconds, fmt.Sprintf("if provided, maxExpirationSeconds must be <= %d", longest))
	}
}

// tokenWithoutAccount rejects the tokens of a pod without a service account.
func tokenWithoutAccount(r *report, p *corev1.Pod) {
	if p.Spec.ServiceAccountName != "" {
		return
	}
	for i := range p.Spec.Volumes {
		if p.Spec.Volumes[i].Projected == nil {
			continue
		}
		for j, source := range p.Spec.Volumes[i].Projected.Sources {
			if source.ServiceAccountToken != nil {
				r.forbidden("must not be specified when serviceAccountName is not set",
					"spec", "volumes", i, "projected", "sources", j, "serviceAccountToken")
			}
		}
	}
}
