package guard

import (
	"fmt"
	"slices"
	"strings"
)

// tableKind is a kind of the table.
type tableKind struct {
	// path is that of the collection in the first version, with %s for the name of the definition.
	path, apiVersion, kind string
	// body is what every object has.
	body object
	// versions are further served versions, and subresources those that write the object.
	versions, subresources []string
	// strategic means that the kind has strategic merge patches: it is built in.
	strategic bool
}

var (
	customKind = &tableKind{
		path: "/apis/example.com/v1/namespaces/" + tableNamespace + "/%s", apiVersion: "example.com/v1", body: object{"spec": object{"other": "a"}},
		versions: []string{"v2"}, subresources: []string{"status"},
	}
	scaledKind = &tableKind{
		path: customKind.path, apiVersion: customKind.apiVersion, body: customKind.body, versions: customKind.versions,
		subresources: []string{"status", "scale"},
	}
	configMapKind = &tableKind{path: "/api/v1/namespaces/" + tableNamespace + "/configmaps", apiVersion: "v1", kind: "ConfigMap", strategic: true}
	ingressKind   = &tableKind{
		path: "/apis/networking.k8s.io/v1/namespaces/" + tableNamespace + "/ingresses", apiVersion: "networking.k8s.io/v1", kind: "Ingress",
		body:         object{"spec": object{"defaultBackend": object{"service": object{"name": "s", "port": object{"number": 80}}}}},
		subresources: []string{"status"}, strategic: true,
	}
	podKind = &tableKind{
		path: "/api/v1/namespaces/" + tableNamespace + "/pods", apiVersion: "v1", kind: "Pod", strategic: true,
		body: object{"spec": object{"automountServiceAccountToken": false, "containers": []any{object{"name": "c", "image": "i"}}}},
	}
)

// resource returns the name of the resource in a policy.
func (k *tableKind) resource() string {
	parts := strings.Split(k.path, "/")
	name := parts[len(parts)-1]
	if group, _, found := strings.Cut(k.apiVersion, "/"); found {
		name += "." + group
	}
	return name
}

// step is a change of a field. A value that is nil is absent.
type step struct{ was, is any }

// tableField is a field with rules.
type tableField struct {
	path  []string
	steps []step
}

// String returns the path as rules have it.
func (f tableField) String() string {
	if f.path[0] == "metadata" && len(f.path) == 3 {
		return fmt.Sprintf("metadata.%s[%q]", f.path[1], f.path[2])
	}
	return strings.Join(f.path, ".")
}

// scalar returns a field that has one of two values.
func scalar(a, b any, path ...string) tableField {
	return tableField{path, []step{{nil, a}, {a, nil}, {a, b}, {a, a}}}
}

// keyed returns a field with keys. With list, it is a list of type map.
func keyed(list bool, path ...string) tableField {
	with := func(pairs ...string) any {
		items, keys := []any{}, object{}
		for _, pair := range pairs {
			key, value, _ := strings.Cut(pair, "=")
			keys[key], items = value, append(items, object{"name": key, "value": value})
		}
		if list {
			return items
		}
		return keys
	}
	one, other, two, empty := with("k=1"), with("k=2"), with("k=1", "l=1"), with()
	f := tableField{path, []step{{nil, one}, {one, nil}, {one, other}, {one, two}, {two, one}, {one, empty}, {empty, one}, {nil, empty}, {one, one}}}
	if list {
		f.steps = append(f.steps, step{two, with("l=1", "k=1")})
	}
	return f
}

var (
	textField        = scalar("a", "b", "spec", "text")
	labelField       = scalar("a", "b", "metadata", "labels", "team")
	annotationsField = keyed(false, "metadata", "annotations")
)

// tableRow is a rule, or the same constraint for several fields, with what its condition and its right depend on.
type tableRow struct {
	// entry is the line of the printed table.
	entry string
	kind  *tableKind
	rules []string
	// fields are those that are written. If there are none, objects are deleted.
	fields []tableField
	// phase is what the condition reads, empty if the object does not have it.
	phase string
	// holder means that the writer has the rights that rules name.
	holder bool
	// free means that no write is refused.
	free bool
}

// tableConstraints are the constraints. The last three are about keys.
var tableConstraints = []string{
	"immutable", "set-once", "no-set", "no-unset", "no-modify", "update=NoSet,NoModify", "immutable-keys", "addition-only", "deletion-only",
}

// tableRows returns all rows.
func tableRows() []tableRow {
	var rows []tableRow
	for i, constraint := range tableConstraints {
		aboutKeys := i >= len(tableConstraints)-3
		add := func(entry string, kind *tableKind, fields ...tableField) {
			if aboutKeys {
				fields = slices.DeleteFunc(fields, func(f tableField) bool { return f.steps[0].is == "a" })
			}
			var rules []string
			for _, f := range fields {
				if rules = append(rules, constraint+" "+f.String()); aboutKeys && f.String() == "spec.list" {
					rules = append(rules, "immutable spec.list[*].name") // without it, a key can be changed
				}
			}
			if len(rules) > 0 {
				rows = append(rows, tableRow{entry: entry, kind: kind, rules: rules, fields: fields})
			}
		}
		add(constraint, customKind, textField, keyed(false, "spec", "map"), keyed(true, "spec", "list"))
		add(constraint, configMapKind, keyed(false, "data"))
		add(constraint, ingressKind, scalar("a", "b", "spec", "ingressClassName"))
		for _, kind := range []*tableKind{customKind, ingressKind} {
			add(labelField.String(), kind, labelField)
			add(annotationsField.String(), kind, annotationsField)
		}
	}
	replicas := scalar(1, 2, "spec", "replicas")
	rows = append(rows, tableRow{entry: "immutable, /scale", kind: scaledKind, rules: []string{"immutable spec.replicas"}, fields: []tableField{replicas}})
	for _, changed := range []bool{true, false} {
		for _, kind := range []*tableKind{customKind, configMapKind, podKind} {
			if kind != podKind || !changed {
				rows = append(rows, conditionRows(kind, changed)...)
			}
		}
	}
	return rows
}

// conditionRows returns rows with conditions and rights, about changes of a field or about deletions.
func conditionRows(kind *tableKind, changed bool) []tableRow {
	field, verb, condition := textField, "resize", `while oldSelf.status.phase == "Ready"`
	if kind != customKind {
		field, condition = keyed(false, "data"), `while oldSelf.metadata.labels["phase"] == "Ready"`
	}
	constraint, rule, fields := "immutable", "immutable "+field.String(), []tableField{field}
	if !changed {
		constraint, rule, fields, verb = "no-delete", "no-delete", nil, "retire"
	}
	var rows []tableRow
	add := func(entry, condition string, variants ...tableRow) {
		for _, row := range variants {
			row.entry, row.kind, row.fields, row.rules = constraint+entry, kind, fields, []string{strings.TrimSpace(rule + " " + condition)}
			rows = append(rows, row)
		}
	}
	if !changed {
		add("", "", tableRow{})
	}
	add(" while", condition, tableRow{phase: "Ready"}, tableRow{phase: "New", free: true}, tableRow{})
	add(" unless", "unless "+verb, tableRow{}, tableRow{holder: true, free: true})
	add(" unless while", "unless "+verb+" "+condition,
		tableRow{phase: "Ready"}, tableRow{phase: "Ready", holder: true, free: true}, tableRow{phase: "New", free: true})
	return rows
}
