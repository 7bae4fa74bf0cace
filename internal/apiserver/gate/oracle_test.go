package gate_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/yamltest"
)

// TestOracle changes definitions at random, and then writes every stored object again on another server, which has only the new
// definition. The objects that this server refuses, and those that lack a field, must be those that the gate named before. The condition
// StoredObjectsValid must be false if the storage version refuses an object. HOLDFAST_GATE_ROUNDS sets the number of rounds, and
// HOLDFAST_GATE_SEED repeats an earlier run.
func TestOracle(t *testing.T) {
	t.Parallel()
	rounds, _ := strconv.Atoi(os.Getenv("HOLDFAST_GATE_ROUNDS"))
	if rounds == 0 {
		rounds = 15
	}
	seed, err := strconv.ParseUint(os.Getenv("HOLDFAST_GATE_SEED"), 10, 64)
	if err != nil {
		seed = rand.Uint64()
	}
	o := &oracle{
		fixture: start(t, apiserver.Config{DefinitionPolicy: "refuse-breaking"}), scratch: start(t, apiserver.Config{}), outcomes: map[string]int{},
	}
	different := 0
	for round := range rounds {
		// Each round has its own random choices, so that it can be repeated alone.
		o.generator = generator{rand.New(rand.NewPCG(seed, uint64(round)))}
		for _, difference := range o.round(round) {
			t.Errorf("seed %d, round %d: %s", seed, round, difference)
			different++
		}
		if different > 20 {
			t.Fatal("too many differences")
		}
	}
	t.Logf("seed %d, %d rounds, %d different: %v", seed, rounds, different, o.outcomes)
}

// oracle is a server on which definitions change, and another one on which objects are written again.
type oracle struct {
	*fixture
	generator
	scratch  *fixture
	outcomes map[string]int
}

// state is a random state of a definition.
type state struct {
	// one and two are the schemas of spec in v1 and v2.
	one, two node
	// second says that v2 is the storage version.
	second bool
}

// states returns two states of a definition. Objects are stored in v1 in the first one.
func (o *oracle) states(t *testing.T) (before, after state) {
	t.Helper()
	before.one = o.spec()
	before.two = plain(t, before.one)
	for range o.IntN(2) {
		o.mutate(before.two)
	}
	after = state{one: plain(t, before.one), two: plain(t, before.two), second: o.chance(4)}
	if !after.second || o.chance(2) {
		for range 1 + o.IntN(2) {
			o.mutate(after.one)
		}
	}
	if o.chance(3) {
		o.mutate(after.two)
	}
	return before, after
}

// round changes a definition and returns what is not as the gate said.
func (o *oracle) round(round int) []string {
	t := o.T
	before, after := o.states(t)
	group := fmt.Sprintf("r%d.example.com", round)
	crd, changed := before.definition(t, group), after.definition(t, group)
	if _, err := o.client.Resource(definitions).Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
		if !apierrors.IsInvalid(err) {
			t.Fatal(err)
		}
		o.outcomes["the old state is no definition"]++
		return nil
	}
	stored := o.store(group, before)
	if len(stored) == 0 {
		o.outcomes["no object"]++
		return nil
	}
	said := o.change(crd.GetName(), changed, true)
	if said != nil && !strings.Contains(said.Error(), "refuses this") {
		if !apierrors.IsInvalid(said) {
			t.Fatal(said)
		}
		o.outcomes["the new state is no definition"]++
		return nil
	}
	valid := o.force(crd, changed)
	is := o.write(group, changed, stored)
	refusedByStorage := o.refusedByStorage(group, after.storage())
	o.outcomes[fmt.Sprintf("storage changes %t, lost %t, refused %t, gate refuses %t", after.second, len(is.lost) > 0, len(is.refused) > 0, said != nil)]++
	differences := answerOf(t, said).differences(is)
	if valid == (len(refusedByStorage) > 0) {
		differences = append(differences, fmt.Sprintf("%s refuses %v, and the condition StoredObjectsValid is %t", after.storage(), refusedByStorage, valid))
	}
	if len(differences) > 0 {
		differences = append(differences, fmt.Sprintf("before: %v\nafter: %v\nobjects: %s\nthe gate: %v\nlost %v, refused %v",
			before, after, texts(t, stored), said, is.lost, is.refused))
	}
	return differences
}

// storage returns the name of the storage version.
func (s state) storage() string {
	if s.second {
		return "v2"
	}
	return "v1"
}

// String returns the state as YAML.
func (s state) String() string {
	encoded, err := json.Marshal(map[string]any{"v1": s.one, "v2": s.two, "storage": s.storage()})
	if err != nil {
		return err.Error()
	}
	return string(encoded)
}

// definition returns a definition of boats in a group.
func (s state) definition(t *testing.T, group string) *unstructured.Unstructured {
	t.Helper()
	crd := yamltest.Object(t, strings.ReplaceAll(define("", "a: {type: string}", "a: {type: string}"), "gate.example.com", group))
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for i, spec := range []node{s.one, s.two} {
		version := versions[i].(node)
		version["storage"] = version["name"] == s.storage()
		version["schema"] = node{"openAPIV3Schema": node{"type": "object", "properties": node{"spec": plain(t, spec)}}}
	}
	if err := unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions"); err != nil {
		t.Fatal(err)
	}
	return crd
}

// force changes a definition with the policy warn, and returns whether all objects are valid by its condition.
func (o *oracle) force(crd, changed *unstructured.Unstructured) bool {
	o.Helper()
	warn := map[string]string{"holdfast.dev/definition-policy": "warn"}
	for _, next := range []*unstructured.Unstructured{crd.DeepCopy(), changed.DeepCopy()} {
		next.SetAnnotations(warn)
		if err := o.change(crd.GetName(), next, false); err != nil {
			o.Fatalf("with the policy warn: %v", err)
		}
	}
	_, valid := o.judged(crd.GetName())
	return valid
}

// change replaces a definition, also as a dry run.
func (f *fixture) change(name string, next *unstructured.Unstructured, dryRun bool) error {
	f.Helper()
	next = next.DeepCopy()
	options := metav1.UpdateOptions{}
	if dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	// The server may write a condition of the definition at the same time.
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		stored, _ := f.judged(name)
		next.SetResourceVersion(stored.GetResourceVersion())
		_, err := f.client.Resource(definitions).Update(f.Context(), next, options)
		return err
	})
}

// texts returns objects as JSON.
func texts(t *testing.T, objects []*unstructured.Unstructured) string {
	t.Helper()
	var out []string
	for _, object := range objects {
		encoded, err := json.Marshal(object.Object["spec"])
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, object.GetName()+" "+string(encoded))
	}
	return strings.Join(out, ", ")
}

// plain returns a copy of a schema with the types of decoded JSON.
func plain(t *testing.T, n node) node {
	t.Helper()
	encoded, err := json.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	return yamltest.Map(t, string(encoded))
}
