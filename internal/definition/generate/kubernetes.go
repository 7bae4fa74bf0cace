package generate

import (
	"sigs.k8s.io/controller-tools/pkg/markers"

	"holdfast.dev/holdfast/immutability"
)

// The markers of Kubernetes.
const (
	kubernetesImmutable = "k8s:immutable"
	kubernetesUpdate    = "k8s:update"
)

// translate returns what the markers of Kubernetes on a place forbid, Free if there are none. text is
// the markers as the user wrote them, for messages.
func translate(values markers.MarkerValues) (m immutability.Marker, text string) {
	if len(values[kubernetesImmutable]) > 0 {
		m, text = immutability.Immutable, " +"+kubernetesImmutable
	}
	for _, v := range values[kubernetesUpdate] {
		u, ok := v.(use)
		if !ok {
			continue
		}
		// ParseMarker has accepted the argument.
		given, _ := immutability.ParseWord("update=" + string(u[len(kubernetesUpdate)+1:]))
		m |= given
		text += " +" + string(u)
	}
	if m.Covers(immutability.Immutable) {
		m = immutability.Immutable
	}
	if text == "" {
		return immutability.Free, ""
	}
	return m, text[1:]
}

// allowsSetting reports whether controller-gen writes a CEL rule for the markers of an optional field
// that allows to set the field once.
func allowsSetting(values markers.MarkerValues) bool {
	return len(values[kubernetesImmutable]) > 0 && len(values[kubernetesUpdate]) == 0
}
