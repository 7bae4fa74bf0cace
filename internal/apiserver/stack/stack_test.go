package stack_test

import (
	"runtime/debug"
	"testing"
	"unsafe"

	"holdfast.dev/holdfast/internal/apiserver/stack"
)

// TestGrow calls deep functions in a new goroutine. The address of a variable on its stack shows whether Go moved the stack.
func TestGrow(t *testing.T) {
	// A garbage collection shrinks a stack that is mostly unused, and moves it.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	for name, c := range map[string]struct {
		grow   func()
		levels int
		moves  bool
	}{
		"without room": {grow: func() {}, levels: 80, moves: true},
		"shallow":      {grow: func() { stack.Grow(stack.Shallow) }, levels: 80, moves: false},
		"too shallow":  {grow: func() { stack.Grow(stack.Shallow) }, levels: 160, moves: true},
		"deep":         {grow: func() { stack.Grow(stack.Deep) }, levels: 160, moves: false},
	} {
		t.Run(name, func(t *testing.T) {
			moved := make(chan bool)
			go func() {
				c.grow()
				var local byte
				before := uintptr(unsafe.Pointer(&local))
				call(c.levels)
				moved <- before != uintptr(unsafe.Pointer(&local))
			}()
			if got := <-moved; got != c.moves {
				t.Errorf("the stack moved: %v, want %v", got, c.moves)
			}
		})
	}
}

// call uses more than 100 bytes of the stack for each level.
//
//go:noinline
func call(levels int) byte {
	var frame [100]byte
	if levels > 0 {
		frame[levels%len(frame)] = call(levels - 1)
	}
	return frame[0]
}

func BenchmarkGrow(b *testing.B) {
	for b.Loop() {
		stack.Grow(stack.Deep)
	}
}
