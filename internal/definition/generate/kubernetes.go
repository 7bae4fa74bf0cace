package generate

import (
	"slices"

	"sigs.k8s.io/controller-tools/pkg/markers"

	"holdfast.dev/holdfast/schema"
)

// constraints are the arguments of the marker +k8s:update.
var constraints = []string{"NoSet", "NoUnset", "NoModify", "NoAddItem", "NoRemoveItem"}

// translate returns the keyword that means the same as the markers of Kubernetes on a place,
// empty if there is none. text is the markers as the user wrote them, for messages.
//
// +k8s:immutable on an optional field allows controllers to set the field once, according
// to controller-gen, which writes CEL rules for that. No keyword means this.
func translate(values markers.MarkerValues, s map[string]any, at position) (keyword, text string) {
	if len(values[kubernetesImmutable]) > 0 && at.required {
		return schema.ImmutableKeyword, "+" + kubernetesImmutable
	}
	var given []string
	for _, v := range values[kubernetesUpdate] {
		if u, ok := v.(use); ok {
			given = append(given, string(u[len(kubernetesUpdate)+1:]))
			text += " +" + string(u)
		}
	}
	if len(given) == 0 {
		return "", ""
	}
	return updateKeyword(given, s, at), text[1:]
}

// updateKeyword returns the keyword for the constraints of +k8s:update, empty if there is
// none with the same meaning.
func updateKeyword(given []string, s map[string]any, at position) string {
	has := func(constraint string) bool { return slices.Contains(given, constraint) }
	_, isMap := s["additionalProperties"]
	isList := s["type"] == "array"
	switch {
	case !isList && !isMap:
		_, isStruct := s["properties"]
		all := has("NoSet") && has("NoUnset") && has("NoModify")
		// A struct that is required is always set.
		if all || isStruct && at.required && has("NoModify") {
			return schema.ImmutableKeyword
		}
	case has("NoAddItem") && has("NoRemoveItem"):
		if s[schema.ListTypeKeyword] == "set" {
			return schema.ImmutableKeyword
		}
		return schema.ImmutableKeysKeyword
	case has("NoAddItem") && !has("NoUnset"):
		return schema.DeletionOnlyKeyword
	case has("NoRemoveItem") && !has("NoSet"):
		return schema.AdditionOnlyKeyword
	}
	return ""
}
