package projection

import (
	"encoding/pem"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
)

// TrustBundle is the content of a ClusterTrustBundle: certificates of authorities, in PEM.
type TrustBundle struct {
	Name, Signer string
	Labels       map[string]string
	PEM          string
}

// UsesTrustBundles reports whether a volume has files that are made from ClusterTrustBundles.
func UsesTrustBundles(volume *corev1.Volume) bool {
	return slices.ContainsFunc(sourcesOf(volume), func(s corev1.VolumeProjection) bool { return s.ClusterTrustBundle != nil })
}

// trustBundle adds a file with the certificates of all bundles that a source selects, by name or by
// signer and labels. If no bundle matches, the file of an optional source is empty, as in the
// kubelet.
func (c *collector) trustBundle(source *corev1.ClusterTrustBundleProjection) {
	selector, err := metav1.LabelSelectorAsSelector(source.LabelSelector)
	if err != nil {
		c.invalid = append(c.invalid, fmt.Errorf("clusterTrustBundle for %s: %w", source.Path, err))
		return
	}
	var found []TrustBundle
	for _, bundle := range c.sources.TrustBundles {
		byName := source.Name != nil && bundle.Name == *source.Name
		bySigner := source.Name == nil && source.SignerName != nil && bundle.Signer == *source.SignerName
		if byName || bySigner && selector.Matches(labels.Set(bundle.Labels)) {
			found = append(found, bundle)
		}
	}
	if len(found) == 0 && !ptr.Deref(source.Optional, false) {
		c.missing = append(c.missing, missingBundle(source))
		return
	}
	c.add(source.Path, File{Data: trustAnchors(found), Mode: c.mode})
}

// missingBundle says which bundles do not exist.
func missingBundle(source *corev1.ClusterTrustBundleProjection) string {
	if source.Name != nil {
		return fmt.Sprintf("clustertrustbundle %s not found", *source.Name)
	}
	return fmt.Sprintf("no clustertrustbundle of signer %s has the labels %s", ptr.Deref(source.SignerName, ""),
		metav1.FormatLabelSelector(source.LabelSelector))
}

// trustAnchors returns the certificates of all bundles in PEM, each once. Like the kubelet it drops
// headers and comments. The kubelet orders the certificates at random when it starts; here the order
// is always the same, so that a restart of the agent does not change the file.
func trustAnchors(bundles []TrustBundle) []byte {
	anchors := map[string]bool{}
	for _, bundle := range bundles {
		for block, rest := pem.Decode([]byte(bundle.PEM)); block != nil; block, rest = pem.Decode(rest) {
			anchors[string(block.Bytes)] = true
		}
	}
	var text strings.Builder
	for _, anchor := range slices.Sorted(maps.Keys(anchors)) {
		text.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte(anchor)}))
	}
	return []byte(text.String())
}
