package series

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"holdfast.dev/holdfast/internal/references"
	"holdfast.dev/holdfast/ownership"
)

// identity is a series: its kind and its name.
type identity struct {
	kind references.Kind
	name string
}

// kinds are the types of the objects of a series, as kubectl writes them.
var kinds = map[string]references.Kind{
	"cm": references.ConfigMap, "configmap": references.ConfigMap, "configmaps": references.ConfigMap,
	"secret": references.Secret, "secrets": references.Secret,
}

// parseIdentity reads the name of a series: SERIES, cm/SERIES or secret/SERIES.
func parseIdentity(text string) (identity, error) {
	id := identity{references.ConfigMap, text}
	if of, name, found := strings.Cut(text, "/"); found {
		kind, known := kinds[strings.ToLower(of)]
		if !known {
			return id, fmt.Errorf("%q: a series is of cm or secret, as in secret/%s", text, name)
		}
		id = identity{kind, name}
	}
	return id, id.check()
}

// check checks that the name can be a label, and the beginning of the name of an object.
func (id identity) check() error {
	problems := validation.IsDNS1123Subdomain(id.name)
	if len(problems) == 0 {
		problems = validation.IsValidLabelValue(id.name)
	}
	if len(problems) > 0 {
		return fmt.Errorf("%q is not the name of a series, which is a label and the beginning of the names of its objects: %s", id.name, problems[0])
	}
	return nil
}

// String returns the series as the user writes it.
func (id identity) String() string {
	if id.kind == references.Secret {
		return "secret/" + id.name
	}
	return id.name
}

// hint says how to name a series of Secrets, after an error about a series that is not found.
func (id identity) hint() string {
	if id.kind == references.Secret {
		return ""
	}
	return fmt.Sprintf(" (a series of Secrets is secret/%s)", id.name)
}

// manager is the field manager of the series.
func (id identity) manager() string { return ownership.SeriesManagerPrefix + id.name }

// resourceOf returns the resource of the objects of a kind.
func resourceOf(kind references.Kind) schema.GroupVersionResource {
	if kind == references.Secret {
		return schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	}
	return schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
}

// memberName returns an object in messages, as in configmap/settings-1.
func memberName(kind references.Kind, name string) string {
	return strings.ToLower(kind.String()) + "/" + name
}
