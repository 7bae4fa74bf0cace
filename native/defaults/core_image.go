package defaults

import (
	"regexp"

	corev1 "k8s.io/api/core/v1"
)

// imageReference is an image's name as container runtimes read it: [registry/]path[:tag][@digest]. The groups are the
// tag and the digest.
var imageReference = regexp.MustCompile(`^` +
	`(?:(?:[a-zA-Z0-9-]+(?:\.[a-zA-Z0-9-]+)*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?/)?` +
	`[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*` +
	`(?::([\w][\w.-]{0,127}))?` +
	`(?:@([A-Za-z][A-Za-z0-9]*(?:[+._-][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?$`)

// imageID is a bare image identifier, which is no reference and has no tag.
var imageID = regexp.MustCompile(`^[a-f0-9]{64}$`)

// pullPolicy is Always for an image whose tag is latest, said or implied, and IfNotPresent for any other, also for one
// that cannot be parsed: refusing it is not a default's business.
func pullPolicy(image string) corev1.PullPolicy {
	parts := imageReference.FindStringSubmatch(image)
	if parts == nil || imageID.MatchString(image) {
		return corev1.PullIfNotPresent
	}
	tag, digest := parts[1], parts[2]
	if tag == "latest" || tag == "" && digest == "" {
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}
