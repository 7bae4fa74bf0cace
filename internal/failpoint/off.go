//go:build !failpoints

package failpoint

// Reach marks a step that cannot fail.
func Reach(string) {}

// Fail marks a step that can fail. Its error is that of the step.
func Fail(string) error { return nil }

// Bound returns a bound of the process, or the one that a test gives it instead.
func Bound[T ~int64](_ string, bound T) T { return bound }

// Serve arms and serves the failpoints of the process, as its environment says.
func Serve() error { return nil }
