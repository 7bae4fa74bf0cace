package guard

import (
	"fmt"
	"slices"
	"strings"
)

// tableRules are the rules of rows: a definition with an annotation, or a policy for a built-in kind.
type tableRules struct {
	name  string
	kind  *tableKind
	rules []string
	// awaited means that the rules are in force on all clusters.
	awaited bool
}

func (r *tableRules) isCustom() bool { return r.kind.kind == "" }

func (r *tableRules) path() string {
	if r.isCustom() {
		return fmt.Sprintf(r.kind.path, r.name+"s")
	}
	return r.kind.path
}

func (r *tableRules) kindName() string {
	if r.isCustom() {
		return strings.ToUpper(r.name[:1]) + r.name[1:]
	}
	return r.kind.kind
}

// object returns an object of a row.
func (r *tableRules) object(row *tableRow, name string) object {
	labels := object{tableNamespace: r.name}
	if !r.isCustom() && row.phase != "" {
		labels["phase"] = row.phase
	}
	out := changed(r.kind.body, nil)
	if out == nil {
		out = object{}
	}
	out["apiVersion"], out["kind"] = r.kind.apiVersion, r.kindName()
	out["metadata"] = object{"name": name, "labels": labels}
	return out
}

// source returns the definition or the policy.
func (r *tableRules) source() object {
	if !r.isCustom() {
		return object{
			"apiVersion": "guard.holdfast.dev/v1alpha1", "kind": "ImmutabilityPolicy", "metadata": object{"name": r.name},
			"spec": object{
				"resources": []any{r.kind.resource()}, "rules": r.rules, "objectSelector": object{"matchLabels": object{tableNamespace: r.name}},
			},
		}
	}
	word := object{"type": "string", "maxLength": 16}
	item := object{"type": "object", "required": []any{"name"}, "properties": object{"name": word, "value": word}}
	spec := object{
		"text": word, "other": word, "replicas": object{"type": "integer"},
		"map": object{"type": "object", "maxProperties": 8, "additionalProperties": word},
		"list": object{
			"type": "array", "maxItems": 8, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []any{"name"}, "items": item,
		},
	}
	status := object{"phase": word, "other": word, "replicas": object{"type": "integer"}}
	subresources := object{"status": object{}}
	if slices.Contains(r.kind.subresources, "scale") {
		subresources["scale"] = object{"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
	}
	var versions []any
	for i, name := range append([]string{"v1"}, r.kind.versions...) {
		versions = append(versions, object{
			"name": name, "served": true, "storage": i == 0, "subresources": subresources,
			"schema": object{"openAPIV3Schema": object{"type": "object", "properties": object{
				"spec": object{"type": "object", "properties": spec}, "status": object{"type": "object", "properties": status},
			}}},
		})
	}
	return object{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": object{
			"name": r.name + "s.example.com", "labels": object{tableNamespace: "yes"},
			"annotations": object{"holdfast.dev/immutability": strings.Join(r.rules, "\n")},
		},
		"spec": object{
			"group": "example.com", "scope": "Namespaced", "versions": versions,
			"names": object{"plural": r.name + "s", "singular": r.name, "kind": r.kindName()},
		},
	}
}
