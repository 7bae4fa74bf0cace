// Package stack gives a goroutine a large stack at its start, before it is deep in calls.
//
//	stack.Grow(stack.Deep)
//
// Go starts a goroutine with a small stack and doubles it whenever a call does not fit. Each time it copies the stack and adjusts the
// pointers of all frames in it. The handlers of a request are up to a hundred calls deep, so a goroutine that serves one grows two or
// three times, with more frames each time. Grow lets it grow once, while there are few frames to adjust.
package stack

// Room is what Grow makes room for.
type Room int

const (
	// Shallow is for a goroutine of about 40 calls. Its stack gets 16 KB.
	Shallow Room = iota
	// Deep is for a goroutine of more calls. Its stack gets 32 KB.
	Deep
)

const (
	shallowBytes = 9 << 10
	deepBytes    = 20 << 10
)

// Grow makes room for the calls that follow on the stack of the calling goroutine. If there is room already, it only clears it, which
// takes less than a microsecond. The stack stays as large until the goroutine ends, or until a garbage collection finds that the
// goroutine uses less than a quarter of it.
func Grow(room Room) {
	if room == Shallow {
		useShallow(0)
		return
	}
	useDeep(0)
}

// useShallow has a frame of shallowBytes.
//
//go:noinline
func useShallow(i int) byte {
	var frame [shallowBytes]byte
	return frame[i]
}

// useDeep has a frame of deepBytes.
//
//go:noinline
func useDeep(i int) byte {
	var frame [deepBytes]byte
	return frame[i]
}
