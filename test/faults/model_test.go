package faults_test

import (
	"fmt"
	"net/http"

	"github.com/anishathalye/porcupine"
)

// keys is the number of objects that the clients of a history share.
const keys = 3

// operation is a request of a history. Every write has a value of its own, so that a read shows
// which write it has seen.
type operation struct {
	verb string // create, update, patch, delete, get or list
	key  int
	// value is what a write stores.
	value string
	// version is the version that an update requires.
	version uint64
}

// result is the answer to an operation.
type result struct {
	outcome outcome
	code    int
	// version is that of the stored object, or of the list.
	version uint64
	// cells are what a get (one cell) or a list (all cells) has read.
	cells [keys]cell
}

// cell is the state of one object. Without a value there is no object.
type cell struct {
	value string
	// version is 0 if only a write without an answer knows it.
	version uint64
}

// world is the state of all objects.
type world struct {
	cells [keys]cell
	// revision is the highest version that an answer has told.
	revision uint64
}

// model says what a linearizable API may answer. Kubernetes promises this for writes, and for gets
// and lists without a resourceVersion.
var model = (&porcupine.NondeterministicModel{
	Init: func() []any { return []any{world{}} },
	Step: func(state, input, output any) []any {
		return step(state.(world), input.(operation), output.(result))
	},
	DescribeOperation: func(input, output any) string {
		return fmt.Sprintf("%+v -> %+v", input.(operation), output.(result))
	},
}).ToModel()

// perObject returns the model for each object alone. With many writes without an answer, the search for one
// order of the operations on all objects takes too long. A list counts as a get of each object.
func perObject() porcupine.Model {
	each := model
	each.Partition = func(history []porcupine.Operation) [][]porcupine.Operation {
		parts := make([][]porcupine.Operation, keys)
		for _, o := range history {
			input := o.Input.(operation)
			if input.verb != "list" {
				parts[input.key] = append(parts[input.key], o)
				continue
			}
			for key := range keys {
				listed := o
				got := result{}
				got.cells[key] = o.Output.(result).cells[key]
				listed.Input, listed.Output = operation{verb: "get", key: key}, got
				parts[key] = append(parts[key], listed)
			}
		}
		return parts
	}
	return each
}

// step returns the states after an operation with this result, or none if the result is wrong.
func step(before world, o operation, r result) []any {
	switch {
	case o.verb == "get" || o.verb == "list":
		return read(before, o, r)
	case r.outcome == refused:
		if refusedRightly(before.cells[o.key], o, r.code) {
			return []any{before}
		}
		return nil
	}
	applies := before.cells[o.key].value != ""
	switch o.verb {
	case "create":
		applies = !applies
	case "update":
		applies = applies && before.cells[o.key].version == o.version
	}
	after := before
	after.cells[o.key] = cell{value: o.value, version: r.version}
	switch {
	case r.outcome == open && applies:
		return []any{before, after}
	case r.outcome == open:
		return []any{before}
	case !applies, o.verb != "delete" && r.version <= before.revision:
		return nil
	}
	after.revision = max(before.revision, r.version)
	return []any{after}
}

// refusedRightly reports whether a write may be refused with this status.
func refusedRightly(c cell, o operation, code int) bool {
	exists := c.value != ""
	switch {
	case code == http.StatusNotFound:
		return !exists && o.verb != "create"
	case code != http.StatusConflict:
		return false
	case o.verb == "create":
		return exists
	case o.verb == "update":
		return !exists || c.version != o.version
	}
	// A patch or a delete names no version. The server gives up after some tries if others write too.
	return true
}

// read returns the state after a get or a list. A read tells the versions of writes without an answer.
func read(before world, o operation, r result) []any {
	after := before
	if o.verb == "list" && r.version < before.revision {
		return nil
	}
	for key := range keys {
		if o.verb == "get" && key != o.key {
			continue
		}
		want, got := before.cells[key], r.cells[key]
		if want.value != got.value || want.version != 0 && want.version != got.version {
			return nil
		}
		after.cells[key] = got
		after.revision = max(after.revision, got.version)
	}
	after.revision = max(after.revision, r.version)
	return []any{after}
}
