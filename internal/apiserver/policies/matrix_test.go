package policies_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"holdfast.dev/holdfast/internal/apiserver"
)

// constraints are the constraints of spec 06 with the words of Kubernetes that its table gives them.
var constraints = map[string][]string{
	"immutable": {"NoSet", "NoUnset", "NoModify"}, "set-once": {"NoUnset", "NoModify"}, "no-set": {"NoSet"}, "no-unset": {"NoUnset"},
	"no-modify": {"NoModify"}, "update=NoSet,NoModify": {"NoSet", "NoModify"},
	"immutable-keys": {"NoAddItem", "NoRemoveItem"}, "addition-only": {"NoRemoveItem"}, "deletion-only": {"NoAddItem"},
}

// free is the constraint of objects without rules: they show what a write makes of a field.
const free = "free"

// aboutKeys reports whether a constraint is about the keys of a map.
func aboutKeys(constraint string) bool {
	return slices.Contains([]string{"immutable-keys", "addition-only", "deletion-only"}, constraint)
}

// absent is the value of a field that an object does not have.
type absent struct{}

// refuses is the model: the table of spec 06. strict means that absent, null and empty differ for immutable, as in custom resources.
func refuses(constraint string, strict bool, was, is any) bool {
	has := func(word string) bool { return slices.Contains(constraints[constraint], word) }
	oldKeys, _ := was.(map[string]any)
	newKeys, _ := is.(map[string]any)
	if aboutKeys(constraint) {
		lacks := func(keys, other map[string]any) bool {
			for key := range keys {
				if _, ok := other[key]; !ok {
					return true
				}
			}
			return false
		}
		return has("NoAddItem") && lacks(newKeys, oldKeys) || has("NoRemoveItem") && lacks(oldKeys, newKeys)
	}
	same := fmt.Sprintf("%T %v", was, was) == fmt.Sprintf("%T %v", is, is)
	if constraint == "immutable" && strict {
		return !same
	}
	wasSet, nowSet := isSet(was), isSet(is)
	switch {
	case !wasSet && nowSet:
		return has("NoSet")
	case wasSet && !nowSet:
		return has("NoUnset")
	}
	return wasSet && !same && has("NoModify")
}

// isSet reports whether a value is set: null counts as absent, and an empty map too.
func isSet(value any) bool {
	switch value := value.(type) {
	case absent, nil:
		return false
	case map[string]any:
		return len(value) > 0
	}
	return true
}

// ruledField is a field of a kind, with the values that it goes through.
type ruledField struct {
	path []string
	// subresource is the endpoint that writes it.
	subresource string
	// isMap means that it has keys. Otherwise it is a text.
	isMap bool
	// nulls means that a client can send null.
	nulls bool
}

func (f ruledField) String() string {
	if f.path[0] == "metadata" && !f.isMap {
		return fmt.Sprintf("metadata.%s[%q]", f.path[1], f.path[2])
	}
	return strings.Join(f.path, ".")
}

// takes reports whether the test has a rule about the field with a constraint. The labels as a whole have only rules about keys, because
// single labels have the others.
func (f ruledField) takes(constraint string) bool {
	if aboutKeys(constraint) {
		return f.isMap
	}
	return !f.isMap || f.path[0] != "metadata"
}

// steps returns the values before and after the writes of a field.
func (f ruledField) steps() [][2]any {
	if f.isMap {
		one, other, two := map[string]any{"k": "1"}, map[string]any{"k": "2"}, map[string]any{"k": "1", "l": "1"}
		all := [][2]any{{absent{}, one}, {one, absent{}}, {one, one}, {one, other}, {one, two}, {two, one}, {one, map[string]any{}}}
		if f.nulls {
			all = append(all, [2]any{one, nil}, [2]any{absent{}, nil})
		}
		return all
	}
	all := [][2]any{{absent{}, "a"}, {"a", absent{}}, {"a", "b"}, {"a", "a"}}
	if f.nulls {
		all = append(all, [2]any{"a", nil}, [2]any{absent{}, nil})
	}
	return all
}

// get returns the value of the field.
func (f ruledField) get(obj map[string]any) any {
	value, found, _ := unstructured.NestedFieldNoCopy(obj, f.path...)
	if !found {
		return absent{}
	}
	if all, ok := value.(map[string]any); ok && f.path[0] == "metadata" { // without the labels that the test needs for itself
		keys := map[string]any{}
		for key, each := range all {
			if len(key) == 1 {
				keys[key] = each
			}
		}
		return keys
	}
	return value
}

// set sets the value of the field.
func (f ruledField) set(obj map[string]any, value any) {
	keys, isMap := value.(map[string]any)
	switch {
	case f.path[0] == "metadata" && f.isMap: // the test needs some labels for itself
		now, _, _ := unstructured.NestedMap(obj, f.path...)
		for key := range now {
			if len(key) == 1 {
				delete(now, key)
			}
		}
		for key, each := range keys {
			now[key] = each
		}
		_ = unstructured.SetNestedMap(obj, now, f.path...)
	case value == nil || isMap || value != absent{}:
		_ = unstructured.SetNestedField(obj, value, f.path...)
	default:
		unstructured.RemoveNestedField(obj, f.path...)
	}
}

// ruledKind is a kind with rules about fields.
type ruledKind struct {
	// resource and object are the client's, with the name of the constraint in place of %s.
	resource, object string
	fields           []ruledField
	// typed is the Go type of a built-in kind, for strategic merge patches.
	typed any
	code  int
	// strict is that of refuses.
	strict bool
}

// TestEveryConstraint writes every field with every constraint in every way that a client has, on a server. The expected answer is that
// of the model, for the field before the write and after the same write of an object without rules. All writes are dry runs, so each
// begins with the same object.
func TestEveryConstraint(t *testing.T) {
	t.Parallel()
	f := start(t, apiserver.Config{})
	team := []ruledField{{path: []string{"metadata", "labels", "t"}}, {path: []string{"metadata", "annotations", "t"}}}
	keys := ruledField{path: []string{"metadata", "labels"}, isMap: true}
	kinds := map[string]ruledKind{
		"custom": {
			resource: "default/%ss.v1.matrix.example.com", object: `{apiVersion: matrix.example.com/v1, kind: "%s", spec: {keep: a}, status: {keep: a}}`, code: 400, strict: true,
			fields: append(team, keys, ruledField{path: []string{"spec", "text"}, nulls: true}, ruledField{path: []string{"spec", "map"}, isMap: true, nulls: true},
				ruledField{path: []string{"status", "text"}, subresource: "status", nulls: true}),
		},
		"ConfigMap": {
			resource: configMaps, object: `{apiVersion: v1, kind: ConfigMap}`, code: 422, typed: corev1.ConfigMap{},
			fields: append(team, keys, ruledField{path: []string{"data"}, isMap: true}),
		},
		"Ingress": {
			resource: "default/ingresses.v1.networking.k8s.io", code: 422, typed: networkingv1.Ingress{},
			object: `{apiVersion: networking.k8s.io/v1, kind: Ingress, spec: {defaultBackend: {service: {name: s, port: {number: 80}}}}}`,
			fields: []ruledField{{path: []string{"spec", "ingressClassName"}}},
		},
		"Pod": {
			resource: "default/pods", object: `{apiVersion: v1, kind: Pod, spec: {containers: [{name: c, image: i}]}}`, code: 422, typed: corev1.Pod{},
			fields: []ruledField{{path: []string{"status", "message"}, subresource: "status"}},
		},
	}
	words := append([]string{free}, sortedKeys(constraints)...)
	for i, word := range words {
		f.create(definitions, matrixDefinition(i, word, kinds["custom"].fields))
		if word != free {
			var rules []string
			for _, name := range []string{"ConfigMap", "Ingress", "Pod"} {
				rules = append(rules, rulesFor(word, kinds[name].fields)...)
			}
			f.policy(fmt.Sprintf("p%d", i), `{resources: [configmaps, ingresses.networking.k8s.io, pods], objectSelector: {matchLabels: {constraint: c`+
				fmt.Sprint(i)+`}}, rules: [`+strings.Join(rules, ", ")+`]}`)
		}
	}
	counts := map[bool]int{}
	for name, kind := range kinds {
		for _, field := range kind.fields {
			for number, step := range field.steps() {
				for _, way := range ways(kind) {
					plain := f.base(kind, field, 0, number)
					after, err := f.write(kind, field, way, change{plain, step[1]})
					if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
						continue // this way cannot send the value
					}
					if err != nil {
						t.Fatalf("%s %s %v by %s: %v", name, field, step, way, err)
					}
					was, is := field.get(plain.Object), field.get(after.Object)
					for i, word := range words {
						if word == free || !field.takes(word) {
							continue
						}
						want := refuses(word, kind.strict && field.path[0] != "metadata", was, is)
						_, err := f.write(kind, field, way, change{f.base(kind, field, i, number), step[1]})
						counts[want]++
						if want != (err != nil) || err != nil && (!strings.Contains(err.Error(), "field is immutable") || codeOf(err) != kind.code) {
							t.Errorf("%s: %s %s from %v to %v by %s: %v, want refused %v", name, word, field, was, is, way, err, want)
						}
					}
				}
			}
		}
	}
	t.Log(counts)
	if counts[true] < 200 || counts[false] < 200 {
		t.Errorf("%d refused and %d accepted writes are too few", counts[true], counts[false])
	}
}

func sortedKeys(of map[string][]string) []string {
	var keys []string
	for key := range of {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// rulesFor returns the rules about fields with a constraint, as items of a YAML list.
func rulesFor(word string, fields []ruledField) []string {
	var rules []string
	for _, field := range fields {
		rule := "'" + word + " " + field.String() + "'"
		if field.takes(word) && !slices.Contains(rules, rule) {
			rules = append(rules, rule)
		}
	}
	return rules
}

// matrixDefinition returns a definition of its own for each constraint, with the rules in its annotation.
func matrixDefinition(i int, word string, fields []ruledField) string {
	var lines []string
	if word != free {
		for _, rule := range rulesFor(word, fields) {
			lines = append(lines, strings.Trim(rule, "'"))
		}
	}
	annotation, _ := json.Marshal(strings.Join(lines, "\n"))
	name := fmt.Sprintf("c%d", i)
	return fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]ss.matrix.example.com, annotations: {holdfast.dev/immutability: %[2]s}}
spec:
  group: matrix.example.com
  scope: Namespaced
  names: {plural: %[1]ss, kind: %[1]s}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              keep: {type: string}
              text: {type: string, nullable: true}
              map: {type: object, nullable: true, additionalProperties: {type: string}}
          status: {type: object, properties: {keep: {type: string}, text: {type: string, nullable: true}}}
`, name, annotation)
}

// base returns a stored object with the constraint of a number, before a step of a field. The field manager matrix has applied it.
func (f *fixture) base(kind ruledKind, field ruledField, constraint, step int) *unstructured.Unstructured {
	f.Helper()
	custom := fmt.Sprint("c", constraint)
	resource, text := strings.ReplaceAll(kind.resource, "%s", custom), strings.ReplaceAll(kind.object, "%s", custom)
	name := strings.ToLower(fmt.Sprintf("c%d-%d-%s", constraint, step, strings.NewReplacer("[\"", ".", "\"]", "").Replace(field.String())))
	if found, err := f.of(resource).Get(f.Context(), name, metav1.GetOptions{}); err == nil {
		return found
	}
	obj := object(f.TB, text)
	obj.SetName(name)
	obj.SetLabels(map[string]string{"constraint": custom})
	if field.subresource != "" {
		obj.SetLabels(nil) // the policy of the constraint must not select it yet
	}
	obj.SetAnnotations(map[string]string{"base": "yes"})
	if field.subresource == "" {
		field.set(obj.Object, field.steps()[step][0])
	}
	options := metav1.ApplyOptions{FieldManager: "matrix", Force: true}
	created, err := f.of(resource).Apply(f.Context(), name, obj, options)
	if err != nil {
		f.Fatal(err)
	}
	if field.subresource == "" {
		return created
	}
	status := object(f.TB, text)
	status.SetName(name)
	delete(status.Object, "spec")
	field.set(status.Object, field.steps()[step][0])
	if created, err = f.of(resource).Apply(f.Context(), name, status, options, field.subresource); err != nil {
		f.Fatal(err)
	}
	if kind.typed == nil {
		return created
	}
	labelled, err := f.of(resource).Patch(f.Context(), name, types.MergePatchType,
		[]byte(`{"metadata": {"labels": {"constraint": "`+custom+`"}}}`), metav1.PatchOptions{})
	if err != nil {
		f.Fatal(err)
	}
	return labelled
}

// ways returns the ways in which a client can write a field of a kind.
func ways(kind ruledKind) []string {
	all := []string{"PUT", "JSON patch", "merge patch", "apply"}
	if kind.typed != nil {
		all = append(all, "strategic merge patch")
	}
	return all
}

// change is a new value of the field of an object.
type change struct {
	old   *unstructured.Unstructured
	value any
}

// write writes a field, as a dry run, and returns the object.
func (f *fixture) write(kind ruledKind, field ruledField, way string, w change) (*unstructured.Unstructured, error) {
	f.Helper()
	client := f.of(strings.ReplaceAll(kind.resource, "%s", w.old.GetKind()))
	var subresources []string
	if field.subresource != "" {
		subresources = []string{field.subresource}
	}
	wanted := w.old.DeepCopy()
	field.set(wanted.Object, w.value)
	_ = unstructured.SetNestedField(wanted.Object, "touched", "metadata", "annotations", "base")
	before, after := marshal(f.TB, w.old), marshal(f.TB, wanted)
	dryRun := metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: "matrix"}
	patch := func(kind types.PatchType, data []byte, err error) (*unstructured.Unstructured, error) {
		if err != nil {
			f.Fatal(err)
		}
		return client.Patch(f.Context(), w.old.GetName(), kind, data, dryRun, subresources...)
	}
	switch way {
	case "PUT":
		return client.Update(f.Context(), wanted, metav1.UpdateOptions{DryRun: dryRun.DryRun}, subresources...)
	case "merge patch":
		data, err := jsonpatch.CreateMergePatch(before, after)
		return patch(types.MergePatchType, data, err)
	case "strategic merge patch":
		data, err := strategicpatch.CreateTwoWayMergePatch(before, after, kind.typed)
		return patch(types.StrategicMergePatchType, data, err)
	case "JSON patch":
		value := field.get(wanted.Object)
		operation := map[string]any{"op": "add", "path": "/" + strings.Join(field.path, "/"), "value": value}
		if field.path[0] == "metadata" && field.isMap {
			operation["value"] = wanted.Object["metadata"].(map[string]any)["labels"]
		}
		operations := []any{operation}
		if value == (absent{}) {
			operation["op"] = "remove"
			delete(operation, "value")
			if field.get(w.old.Object) == (absent{}) {
				operations = []any{}
			}
		}
		data, err := json.Marshal(operations)
		return patch(types.JSONPatchType, data, err)
	default:
		for _, name := range []string{"managedFields", "resourceVersion", "uid", "creationTimestamp", "generation"} {
			unstructured.RemoveNestedField(wanted.Object, "metadata", name)
		}
		if field.subresource == "" {
			delete(wanted.Object, "status")
		} else {
			delete(wanted.Object, "spec")
			wanted.SetLabels(nil)
			wanted.SetAnnotations(nil)
		}
		return patch(types.ApplyPatchType, marshal(f.TB, wanted), nil)
	}
}

func marshal(t testing.TB, obj *unstructured.Unstructured) []byte {
	t.Helper()
	text, err := json.Marshal(obj.Object)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func codeOf(err error) int {
	if status, ok := err.(apierrors.APIStatus); ok {
		return int(status.Status().Code)
	}
	return 0
}
