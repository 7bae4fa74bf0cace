package gate_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/yamltest"
)

type node = map[string]any

// randomNode returns a random schema.
func randomNode(random *rand.Rand, levels int) node {
	kinds := 3
	if levels > 0 {
		kinds = 7
	}
	switch random.IntN(kinds) {
	case 0:
		n := node{"type": "string"}
		limit(random, n)
		return n
	case 1:
		n := node{"type": "integer"}
		limit(random, n)
		return n
	case 2:
		return node{"type": "boolean"}
	case 3:
		return node{"type": "object", "additionalProperties": randomNode(random, 0)}
	case 4:
		return node{"type": "array", "items": randomNode(random, levels-1)}
	case 5:
		return node{
			"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []any{"a"},
			"items": node{"type": "object", "required": []any{"a", "b"}, "properties": node{"a": node{"type": "string"}, "b": node{"type": "string"}}},
		}
	}
	n := node{"type": "object", "properties": node{}}
	for range 1 + random.IntN(3) {
		n["properties"].(node)[letter(random)] = randomNode(random, levels-1)
	}
	if random.IntN(4) == 0 {
		n["x-kubernetes-preserve-unknown-fields"] = true
	}
	return n
}

func letter(random *rand.Rand) string { return string(rune('a' + random.IntN(5))) }

// limit adds or removes a limit.
func limit(random *rand.Rand, n node) {
	if random.IntN(2) == 0 {
		for _, keyword := range []string{"enum", "pattern", "maxLength", "maximum"} {
			delete(n, keyword)
		}
		return
	}
	switch n["type"] {
	case "integer":
		n["maximum"] = random.IntN(4)
	case "string":
		switch random.IntN(3) {
		case 0:
			n["enum"] = []any{"", "x", "xy"}[:1+random.IntN(3)]
		case 1:
			n["maxLength"] = random.IntN(3)
		default:
			n["pattern"] = "^x*$"
		}
	}
}

// mutate changes a schema at a random place.
func mutate(random *rand.Rand, n node) {
	properties, _ := n["properties"].(node)
	if len(properties) > 0 && random.IntN(3) > 0 {
		names := slices.Sorted(maps.Keys(properties))
		mutate(random, properties[names[random.IntN(len(names))]].(node))
		return
	}
	items, isList := n["items"].(node)
	values, isMap := n["additionalProperties"].(node)
	switch {
	case n["x-kubernetes-list-type"] != nil:
		keys := []any{"a", "b"}
		n["x-kubernetes-list-map-keys"] = keys[:1+random.IntN(2)]
	case isList:
		mutate(random, items)
	case isMap:
		mutate(random, values)
	case properties == nil && random.IntN(4) > 0:
		limit(random, n)
	case properties == nil:
		clear(n)
		maps.Copy(n, randomNode(random, 0))
	default:
		name := letter(random)
		switch random.IntN(6) {
		case 0:
			delete(properties, name)
		case 1:
			properties[name] = randomNode(random, 1)
		case 2:
			if n["x-kubernetes-preserve-unknown-fields"] == nil {
				n["x-kubernetes-preserve-unknown-fields"] = true
			} else {
				delete(n, "x-kubernetes-preserve-unknown-fields")
			}
		case 3:
			delete(n, "required")
		default:
			if properties[name] != nil {
				n["required"] = []any{name}
			}
		}
	}
	if required, _ := n["required"].([]any); len(required) > 0 && properties[required[0].(string)] == nil {
		delete(n, "required")
	}
}

// randomValue returns a value that fits to a schema, in most cases.
func randomValue(random *rand.Rand, n node) any {
	switch n["type"] {
	case "string":
		return []string{"", "x", "xy", "xx"}[random.IntN(4)]
	case "integer":
		return int64(random.IntN(5))
	case "boolean":
		return random.IntN(2) == 0
	case "array":
		list := []any{}
		for range random.IntN(3) {
			list = append(list, randomValue(random, n["items"].(node)))
		}
		return list
	}
	out := node{}
	if values, ok := n["additionalProperties"].(node); ok {
		out[letter(random)] = randomValue(random, values)
		return out
	}
	required, _ := n["required"].([]any)
	for name, child := range n["properties"].(node) {
		if random.IntN(3) > 0 || slices.Contains(required, any(name)) {
			out[name] = randomValue(random, child.(node))
		}
	}
	if n["x-kubernetes-preserve-unknown-fields"] != nil {
		out[letter(random)+"z"] = "unknown"
	}
	return out
}

// lacks reports whether a value has fields that another one has not.
func lacks(v, other any) bool {
	switch v := v.(type) {
	case node:
		o, isObject := other.(node)
		for name, child := range v {
			below, ok := o[name]
			if !isObject || !ok || lacks(child, below) {
				return true
			}
		}
	case []any:
		o, _ := other.([]any)
		for i := range v {
			if i >= len(o) || lacks(v[i], o[i]) {
				return true
			}
		}
	}
	return false
}

// TestOracle changes definitions at random, and then writes every stored object again: what the server refuses, or what lacks a field, must
// be what the gate said before. HOLDFAST_ORACLE_ROUNDS sets the number of rounds.
func TestOracle(t *testing.T) {
	t.Parallel()
	rounds, _ := strconv.Atoi(os.Getenv("HOLDFAST_ORACLE_ROUNDS"))
	if rounds == 0 {
		rounds = 15
	}
	f := start(t, apiserver.Config{DefinitionPolicy: "refuse-breaking"})
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	outcomes := map[string]int{}
	for round := range rounds {
		oracleRound(f, random, round, outcomes)
		if t.Failed() {
			t.Fatalf("seed %d, round %d", seed, round)
		}
	}
	t.Logf("seed %d: %v", seed, outcomes)
}

// counted is the number of objects in an answer of the gate.
var counted = regexp.MustCompile(`\([0-9]+ stored object`)

// oracleDefinition returns a definition with a random name and the given schema of spec.
func oracleDefinition(t *testing.T, round int, spec node) *unstructured.Unstructured {
	t.Helper()
	encoded, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("gate.example.com", fmt.Sprintf("r%d.example.com", round)).Replace(define("", "", ""))
	return yamltest.Object(t, strings.Replace(text, "{type: object, properties: {}}", string(encoded), 1))
}

func oracleRound(f *fixture, random *rand.Rand, round int, outcomes map[string]int) {
	t := f.T
	spec := node{"type": "object", "properties": node{"a": randomNode(random, 2), "b": randomNode(random, 2)}}
	next := runtime.DeepCopyJSON(yamlNode(t, spec))
	for range 1 + random.IntN(2) {
		mutate(random, next)
	}
	crd := oracleDefinition(t, round, spec)
	if _, err := f.client.Resource(definitions).Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
		t.Errorf("create %v: %v", spec, err)
		return
	}
	resource := boats
	resource.Group = fmt.Sprintf("r%d.example.com", round)
	objects := f.client.Resource(resource).Namespace("default")
	var before []*unstructured.Unstructured
	for i := range 4 {
		object := &unstructured.Unstructured{Object: node{
			"apiVersion": resource.Group + "/v1", "kind": "Boat", "metadata": node{"name": fmt.Sprint("o", i)}, "spec": randomValue(random, spec),
		}}
		if created, err := objects.Create(t.Context(), object, metav1.CreateOptions{}); err == nil {
			before = append(before, created)
		}
	}
	if len(before) == 0 {
		outcomes["no object"]++
		return
	}
	changed := oracleDefinition(t, round, next)
	said := f.change(crd.GetName(), changed, true)
	if said != nil && !strings.Contains(said.Error(), "refuses this") {
		outcomes["not a definition"]++
		return
	}
	changed.SetAnnotations(map[string]string{"holdfast.dev/definition-policy": "warn"})
	loosened := oracleDefinition(t, round, spec)
	loosened.SetAnnotations(changed.GetAnnotations())
	if err := f.change(crd.GetName(), loosened, false); err != nil {
		t.Errorf("loosen: %v", err)
		return
	}
	if err := f.change(crd.GetName(), changed, false); err != nil {
		t.Errorf("change %v to %v: %v", spec, next, err)
		return
	}
	_, valid := f.judged(crd.GetName())
	lost, refused := judgeObjects(t, objects, before)
	if valid == refused {
		t.Errorf("%v\nis changed to\n%v\nan object is refused: %t, and the condition StoredObjectsValid is %t", spec, next, refused, valid)
	}
	outcomes[fmt.Sprintf("lost %t, refused %t, gate refuses %t", lost, refused, said != nil)]++
	hits := said != nil && counted.MatchString(said.Error())
	if (lost || refused) != hits {
		t.Errorf("%v\nis changed to\n%v\nan object loses a field: %t, an object is refused: %t, and the gate says: %v", spec, next, lost, refused, said)
	}
	if loss := said != nil && strings.Contains(said.Error(), "lose"); lost && !loss {
		t.Errorf("%v\nis changed to\n%v\nan object loses a field, and the gate says: %v", spec, next, said)
	}
}

// change replaces a definition, also as a dry run.
func (f *fixture) change(name string, next *unstructured.Unstructured, dryRun bool) error {
	f.Helper()
	stored, _ := f.judged(name)
	next = next.DeepCopy()
	next.SetResourceVersion(stored.GetResourceVersion())
	options := metav1.UpdateOptions{}
	if dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	_, err := f.client.Resource(definitions).Update(f.Context(), next, options)
	return err
}

// judgeObjects reads objects by the new definition, and creates each again with what it had before.
func judgeObjects(t *testing.T, objects dynamic.ResourceInterface, before []*unstructured.Unstructured) (lost, refused bool) {
	t.Helper()
	for _, was := range before {
		is, err := objects.Get(t.Context(), was.GetName(), metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		lost = lost || lacks(was.Object["spec"], is.Object["spec"])
		again := &unstructured.Unstructured{Object: node{
			"apiVersion": was.GetAPIVersion(), "kind": was.GetKind(), "metadata": node{"name": was.GetName() + "-again"}, "spec": was.Object["spec"],
		}}
		_, err = objects.Create(t.Context(), again, metav1.CreateOptions{})
		if err != nil && !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) {
			t.Fatal(err)
		}
		refused = refused || err != nil
	}
	return lost, refused
}

// yamlNode returns a schema with the types of decoded JSON.
func yamlNode(t *testing.T, n node) node {
	t.Helper()
	encoded, err := json.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	return yamltest.Map(t, string(encoded))
}
