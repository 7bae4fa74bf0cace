package defaults

import (
	"regexp"

	corev1 "k8s.io/api/core/v1"
)

// imageReference matches the name of an image: [registry/]path[:tag][@digest]. The groups are the tag and the digest.
var imageReference = regexp.MustCompile(`^` +
	`(?:(?:[a-zA-Z0-9-]+(?:\.[a-zA-Z0-9-]+)*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?/)?` +
	`[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*` +
	`(?::([\w][\w.-]{0,127}))?` +
	`(?:@([A-Za-z][A-Za-z0-9]*(?:[+._-][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?$`)

// imageID matches an image identifier, which has no tag.
var imageID = regexp.MustCompile(`^[a-f0-9]{64}$`)

// pullPolicy returns the default pull policy of an image: Always for the tag latest and for an image without tag and digest,
// IfNotPresent for all others. Invalid names are not rejected here.
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
