package faults_test

import (
	"slices"
	"testing"

	"github.com/anishathalye/porcupine"
)

// call is one line of a written history: a client, the times of request and answer, and both.
type call struct {
	client     int
	from, till int64
	operation  operation
	result     result
}

// done returns the result of an acknowledged write.
func done(version uint64) result { return result{version: version} }

// saw returns the result of a get of the object 0.
func saw(value string, version uint64) result {
	return result{cells: [keys]cell{{value: value, version: version}}}
}

// The model accepts right histories and rejects wrong ones: a checker that accepts everything would
// find nothing.
func TestModel(t *testing.T) {
	t.Parallel()
	create := call{0, 0, 1, operation{verb: "create", value: "a"}, done(5)}
	unanswered := result{outcome: open}
	refusal := func(code int) result { return result{outcome: refused, code: code} }
	listed := func(version uint64, cells ...cell) result {
		r := result{version: version}
		copy(r.cells[:], cells)
		return r
	}
	tests := map[string]struct {
		right bool
		calls []call
	}{
		"one after the other": {true, []call{
			create,
			{0, 2, 3, operation{verb: "update", value: "b", version: 5}, done(6)},
			{1, 4, 5, operation{verb: "patch", value: "c"}, done(8)},
			{0, 6, 7, operation{verb: "get"}, saw("c", 8)},
			{1, 8, 9, operation{verb: "delete"}, done(0)},
			{0, 10, 11, operation{verb: "list"}, listed(9)},
		}},
		"an old value, read at the time of the write": {true, []call{
			create, {0, 2, 9, operation{verb: "patch", value: "b"}, done(6)}, {1, 3, 8, operation{verb: "get"}, saw("a", 5)},
		}},
		"an old value, read after the write": {false, []call{
			create, {0, 2, 3, operation{verb: "patch", value: "b"}, done(6)}, {1, 4, 5, operation{verb: "get"}, saw("a", 5)},
		}},
		"a new value, then the old one": {false, []call{
			create,
			{0, 2, 9, operation{verb: "patch", value: "b"}, done(6)},
			{1, 3, 4, operation{verb: "get"}, saw("b", 6)},
			{1, 5, 6, operation{verb: "get"}, saw("a", 5)},
		}},
		"an acknowledged write that is lost": {false, []call{create, {0, 2, 3, operation{verb: "get"}, saw("", 0)}}},
		"an acknowledged delete that comes back": {false, []call{
			create, {0, 2, 3, operation{verb: "delete"}, done(0)}, {0, 4, 5, operation{verb: "get"}, saw("a", 5)},
		}},
		"two updates of one version": {false, []call{
			create,
			{0, 2, 9, operation{verb: "update", value: "b", version: 5}, done(6)},
			{1, 2, 9, operation{verb: "update", value: "c", version: 5}, done(7)},
		}},
		"two creates":                       {false, []call{create, {1, 0, 2, operation{verb: "create", value: "b"}, done(6)}}},
		"a version that goes back":          {false, []call{create, {0, 2, 3, operation{verb: "patch", value: "b"}, done(4)}}},
		"the same value at another version": {false, []call{create, {0, 2, 3, operation{verb: "get"}, saw("a", 6)}}},
		"a conflict without a reason": {false, []call{
			create, {0, 2, 3, operation{verb: "update", value: "b", version: 5}, refusal(409)},
		}},
		"not found without a reason":     {false, []call{create, {0, 2, 3, operation{verb: "patch", value: "b"}, refusal(404)}}},
		"a list without a stored object": {false, []call{create, {0, 2, 3, operation{verb: "list"}, listed(7)}}},
		"a list of two moments": {false, []call{
			create,
			{0, 2, 3, operation{verb: "create", key: 1, value: "b"}, done(6)},
			{0, 4, 5, operation{verb: "patch", key: 0, value: "c"}, done(7)},
			{1, 0, 9, operation{verb: "list"}, listed(7, cell{"c", 7})},
		}},
		"a list with an old version": {false, []call{create, {0, 2, 3, operation{verb: "list"}, listed(4, cell{"a", 5})}}},
		"an open write that is stored": {true, []call{
			create, {0, 2, 9, operation{verb: "patch", value: "b"}, unanswered}, {1, 4, 5, operation{verb: "get"}, saw("b", 6)},
		}},
		"an open write that is not stored": {true, []call{
			create, {0, 2, 9, operation{verb: "patch", value: "b"}, unanswered}, {1, 10, 11, operation{verb: "get"}, saw("a", 5)},
		}},
		"an open write that is stored after its end": {false, []call{
			create,
			{0, 2, 4, operation{verb: "patch", value: "b"}, unanswered},
			{1, 5, 6, operation{verb: "get"}, saw("a", 5)},
			{1, 7, 8, operation{verb: "get"}, saw("b", 6)},
		}},
		"an open update of another version that is stored": {false, []call{
			create,
			{0, 2, 3, operation{verb: "patch", value: "b"}, done(6)},
			{0, 4, 9, operation{verb: "update", value: "c", version: 5}, unanswered},
			{1, 5, 6, operation{verb: "get"}, saw("c", 7)},
		}},
	}
	// These histories are wrong only if the objects are seen together.
	together := []string{"a list of two moments", "a list with an old version"}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var history []porcupine.Operation
			for _, c := range test.calls {
				history = append(history, porcupine.Operation{ClientId: c.client, Input: c.operation, Call: c.from, Output: c.result, Return: c.till})
			}
			if right := porcupine.CheckOperations(model, history); right != test.right {
				t.Errorf("the model says %t, want %t", right, test.right)
			}
			want := test.right || slices.Contains(together, name)
			if right := porcupine.CheckOperations(perObject(), history); right != want {
				t.Errorf("the model of each object says %t, want %t", right, want)
			}
		})
	}
}
