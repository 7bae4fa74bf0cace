package references

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Pinned is the condition of a pod in which an agent reports which immutable ConfigMaps and Secrets the pod has files of, with their UIDs. Its
// message has them as in "configmaps/settings-5f2 0a1b, secrets/db-1 77ab".
const Pinned corev1.PodConditionType = "holdfast.dev/Pinned"

// maxPins is how long the text of pins is at most. The message of a condition may have 32 KiB.
const maxPins = 16 << 10

// Pin is an immutable ConfigMap or Secret whose files a running pod has. The pod keeps them if the object is deleted or replaced.
type Pin struct {
	Kind Kind
	Name string
	UID  types.UID
}

// plural returns the name of the resource of a kind.
func (k Kind) plural() string {
	switch k {
	case ConfigMap:
		return "configmaps"
	case Secret:
		return "secrets"
	}
	return ""
}

// FormatPins returns pins as a text, such as "configmaps/settings-5f2 0a1b, secrets/db-1 77ab". It leaves out the last ones if the text would be
// too long for the message of a condition.
func FormatPins(pins []Pin) string {
	var text strings.Builder
	for _, pin := range pins {
		item := pin.Kind.plural() + "/" + pin.Name + " " + string(pin.UID)
		if text.Len()+len(", ")+len(item) > maxPins {
			break
		}
		if text.Len() > 0 {
			text.WriteString(", ")
		}
		text.WriteString(item)
	}
	return text.String()
}

// ParsePins reads a text of FormatPins. It skips parts that are no pins, because a client may write any text there.
func ParsePins(text string) []Pin {
	if len(text) > maxPins {
		text = text[:maxPins]
	}
	var pins []Pin
	for item := range strings.SplitSeq(text, ", ") {
		object, uid, _ := strings.Cut(item, " ")
		plural, name, _ := strings.Cut(object, "/")
		pin := Pin{Name: name, UID: types.UID(uid)}
		switch plural {
		case "configmaps":
			pin.Kind = ConfigMap
		case "secrets":
			pin.Kind = Secret
		}
		if pin.Kind != 0 && MayBeName(name) && uid != "" && !strings.Contains(uid, " ") {
			pins = append(pins, pin)
		}
	}
	return pins
}
