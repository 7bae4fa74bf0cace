package definition_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"holdfast.dev/holdfast/internal/definition"
)

func TestAcceptNames(t *testing.T) {
	type names = apiextensionsv1.CustomResourceDefinitionNames
	const installing = "Established=False Installing: the initial names have been accepted"
	const notAccepted = "Established=False NotAccepted: not all names are accepted"
	full := names{
		Plural: "widgets", Singular: "widget", Kind: "Widget", ListKind: "WidgetList",
		ShortNames: []string{"w", "wi"}, Categories: []string{"all"},
	}
	established := []apiextensionsv1.CustomResourceDefinitionCondition{{
		Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue, Reason: "InitialNamesAccepted",
	}}
	tests := map[string]struct {
		group      string
		other      names
		have       names
		conditions []apiextensionsv1.CustomResourceDefinitionCondition
		want       names
		says       []string
	}{
		"no other definition": {want: full, says: []string{"NamesAccepted=True NoConflicts: no conflicts found", installing}},
		"another group": {
			group: "example.org", other: full, want: full,
			says: []string{"NamesAccepted=True NoConflicts: no conflicts found", installing},
		},
		"the plural is another's short name": {
			other: names{ShortNames: []string{"widgets"}},
			want:  names{Singular: "widget", Kind: "Widget", ListKind: "WidgetList", ShortNames: []string{"w", "wi"}, Categories: []string{"all"}},
			says:  []string{`NamesAccepted=False PluralConflict: "widgets" is already in use`, notAccepted},
		},
		"the singular": {
			other: names{Plural: "widget"},
			want:  names{Plural: "widgets", Kind: "Widget", ListKind: "WidgetList", ShortNames: []string{"w", "wi"}, Categories: []string{"all"}},
			says:  []string{`NamesAccepted=False SingularConflict: "widget" is already in use`, notAccepted},
		},
		"both short names": {
			other: names{Plural: "w", Singular: "wi"},
			want:  names{Plural: "widgets", Singular: "widget", Kind: "Widget", ListKind: "WidgetList", Categories: []string{"all"}},
			says:  []string{`NamesAccepted=False ShortNamesConflict: ["w" is already in use, "wi" is already in use]`, notAccepted},
		},
		"kind and list kind, the last is reported": {
			other: names{Kind: "WidgetList", ListKind: "Widget"},
			want:  names{Plural: "widgets", Singular: "widget", ShortNames: []string{"w", "wi"}, Categories: []string{"all"}},
			says:  []string{`NamesAccepted=False ListKindConflict: "WidgetList" is already in use`, notAccepted},
		},
		"the kind": {
			other: names{Kind: "Widget"},
			want: names{
				Plural: "widgets", Singular: "widget", ListKind: "WidgetList",
				ShortNames: []string{"w", "wi"}, Categories: []string{"all"},
			},
			says: []string{`NamesAccepted=False KindConflict: "Widget" is already in use`, notAccepted},
		},
		"a definition keeps its names": {
			other: full, have: full, want: full,
			says: []string{"NamesAccepted=True NoConflicts: no conflicts found", installing},
		},
		"established stays, despite a conflict": {
			other: names{ShortNames: []string{"w"}}, have: names{Plural: "widgets", Singular: "widget", Kind: "Widget", ListKind: "WidgetList"},
			conditions: established,
			want:       names{Plural: "widgets", Singular: "widget", Kind: "Widget", ListKind: "WidgetList", Categories: []string{"all"}},
			says:       []string{`NamesAccepted=False ShortNamesConflict: "w" is already in use`, "Established=True InitialNamesAccepted: "},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			crd := &definition.CustomResourceDefinition{}
			crd.Spec.Group, crd.Spec.Names = "example.com", full
			crd.Status.AcceptedNames, crd.Status.Conditions = test.have, test.conditions
			other := &definition.CustomResourceDefinition{}
			other.Spec.Group, other.Status.AcceptedNames = "example.com", test.other
			if test.group != "" {
				other.Spec.Group = test.group
			}
			accepted, namesAccepted, established := definition.AcceptNames(crd, []*definition.CustomResourceDefinition{crd, other})
			if diff := cmp.Diff(test.want, accepted); diff != "" {
				t.Errorf("accepted names (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.says, []string{say(namesAccepted), say(established)}); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
		})
	}
}

func say(c apiextensionsv1.CustomResourceDefinitionCondition) string {
	return string(c.Type) + "=" + string(c.Status) + " " + c.Reason + ": " + c.Message
}
