package validity

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/definition/verdict"
)

// The message has the most frequent causes first, at most five, and a bounded length. The metric reads the number of objects from it.
func TestMessage(t *testing.T) {
	t.Parallel()
	found := &tally{objects: 12, invalid: 9, causes: map[verdict.Cause]int{
		{Path: "spec.a", Reason: "is required"}: 2, {Path: "spec.b", Reason: "is required"}: 7, {Path: "spec.c", Reason: "is too long"}: 2,
		{Path: "spec.d", Reason: "is required"}: 1, {Path: "spec.e", Reason: "is required"}: 1, {Path: "spec.f", Reason: "is required"}: 1,
		{Path: "spec.g", Reason: "is required"}: 1,
	}}
	const want = "9 of 12 stored objects would be refused if written again: spec.b: is required (7); spec.a: is required (2); " +
		"spec.c: is too long (2); spec.d: is required (1); spec.e: is required (1); 2 other causes"
	message := found.message()
	if message != want {
		t.Errorf("%s, want %s", message, want)
	}
	if invalid, ok := invalidIn(message); !ok || invalid != 9 {
		t.Errorf("the number is %d, %t", invalid, ok)
	}
	if _, ok := invalidIn("a message of another program"); ok {
		t.Error("another message has a number")
	}
	long := &tally{objects: 5, invalid: 5, causes: map[verdict.Cause]int{}}
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		long.causes[verdict.Cause{Path: name, Reason: strings.Repeat("ä", 5000)}] = 1
	}
	if message := long.message(); len(message) > 6*2*maxCause {
		t.Errorf("the message has %d bytes", len(message))
	}
}

// A definition without objects has no condition.
func TestSetWithoutObjects(t *testing.T) {
	t.Parallel()
	crd := &definition.CustomResourceDefinition{}
	(&tally{objects: 1}).set(crd)
	if conditionOf(crd) == nil {
		t.Fatal("no condition")
	}
	(&tally{}).set(crd)
	if conditionOf(crd) != nil {
		t.Error("the condition is still there")
	}
}

// A scan rests as long as it has worked, and not before it has worked for a slice.
func TestPace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := pace{began: time.Now()}
		time.Sleep(slice - 1)
		if p.rests() {
			t.Error("it rests too early")
		}
		time.Sleep(slice)
		if !p.rests() {
			t.Error("it does not rest")
		}
		before := time.Now()
		if err := p.rest(t.Context()); err != nil {
			t.Error(err)
		}
		if rested := time.Since(before); rested != 2*slice-1 || p.rests() {
			t.Errorf("it rested for %v, and rests again: %t", rested, p.rests())
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		time.Sleep(slice)
		if err := p.rest(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("after the end: %v", err)
		}
	})
}
