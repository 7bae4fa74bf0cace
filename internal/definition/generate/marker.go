package generate

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-tools/pkg/markers"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/schema"
)

// keyword is a keyword of a schema with its value.
type keyword struct {
	name  string
	value any
	// marker says what the keyword forbids, Free for a keyword that is not about updates.
	marker immutability.Marker
}

// forbidding returns the keyword for a marker.
func forbidding(m immutability.Marker) keyword { return keyword{m.Keyword(), m.KeywordValue(), m} }

// vocabulary has the keyword for each marker of Holdfast.
var vocabulary = map[string]keyword{
	"immutable":           forbidding(immutability.Immutable),
	"immutable=keys":      forbidding(immutability.ImmutableKeys),
	"setOnce":             forbidding(immutability.SetOnce),
	"additionOnly":        forbidding(immutability.AdditionOnly),
	"deletionOnly":        forbidding(immutability.DeletionOnly),
	"noPrune":             {schema.NoPruneKeyword, true, immutability.Free},
	"normalize=undefined": {schema.NormalizeKeyword, "undefined", immutability.Free},
}

// names are the names of the markers of Holdfast, each with the forms that a user may write.
var names = map[string]string{
	"immutable":    "+immutable or +immutable=keys",
	"setOnce":      "+setOnce",
	"additionOnly": "+additionOnly",
	"deletionOnly": "+deletionOnly",
	"noPrune":      "+noPrune",
	"normalize":    "+normalize=undefined",
}

// protecting are the keywords about updates. A node has at most one of them.
var protecting = []string{
	schema.ImmutableKeyword, schema.ImmutableKeysKeyword, schema.AdditionOnlyKeyword, schema.DeletionOnlyKeyword, schema.UpdateKeyword,
}

// use is a marker in a comment, without its plus sign.
type use string

// ParseMarker parses the text of a marker. Its error gets the place of the comment.
func (u *use) ParseMarker(name, anonymous, argument string) error {
	text := anonymous
	if argument = strings.Trim(argument, "\"`"); argument != "" {
		text += "=" + argument
	}
	*u = use(text)
	switch {
	case anonymous == kubernetesUpdate:
		if _, err := immutability.ParseWord("update=" + argument); err != nil {
			return fmt.Errorf("+%s: %w", text, err)
		}
		return nil
	case anonymous == kubernetesImmutable && argument == "":
		return nil
	}
	if _, ok := vocabulary[text]; ok {
		return nil
	}
	if forms, ok := names[anonymous]; ok {
		name = forms
	} else if forms, ok := names[name]; ok {
		name = forms
	} else {
		name = "+" + name
	}
	return fmt.Errorf("+%s: unknown argument: write %s", text, name)
}

// register registers the markers of Holdfast, and those of Kubernetes that
// controller-tools does not know.
func register(into *markers.Registry) error {
	for name := range names {
		for _, target := range []markers.TargetType{markers.DescribesField, markers.DescribesType} {
			if err := into.Define(name, target, use("")); err != nil {
				return err
			}
		}
	}
	if err := into.Define(kubernetesImmutable, markers.DescribesType, use("")); err != nil {
		return err
	}
	if err := into.Define(kubernetesUpdate, markers.DescribesType, use("")); err != nil {
		return err
	}
	return into.Define(kubernetesUpdate, markers.DescribesField, use(""))
}

// usesOf returns the markers of Holdfast among the markers of a place, in a fixed order and
// each once.
func usesOf(values markers.MarkerValues) []use {
	var uses []use
	for name := range names {
		for _, v := range values[name] {
			if u, ok := v.(use); ok {
				uses = append(uses, u)
			}
		}
	}
	slices.Sort(uses)
	return slices.Compact(uses)
}
