package fieldownership

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/ownership"
)

// attempt is one request that updates an object. The store may try more than
// once; what is here is of the last try, and is said if that was stored.
type attempt struct {
	writer ownership.Writer
	dryRun bool
	// path is where the object is served.
	path string
	// body is what a replace put in the place of the object.
	body map[string]any

	// person is what a person edited, before admission changed it.
	person runtime.Object
	// replaced says that the last-applied configuration follows the body.
	replaced bool
	// tooLarge says that it would, were the body not too large for it.
	tooLarge bool
	verdict  *ownership.Verdict
	uid      string
	// changed are the fields that the write changes.
	changed []string
}

// begin forgets an earlier try.
func (a *attempt) begin() { a.verdict, a.changed, a.uid = nil, nil, "" }

type attemptKey struct{}

func withAttempt(ctx context.Context, a *attempt) context.Context {
	return context.WithValue(ctx, attemptKey{}, a)
}

// attemptOf is the request's attempt, nil if it is none that is judged.
func attemptOf(ctx context.Context) *attempt {
	a, _ := ctx.Value(attemptKey{}).(*attempt)
	return a
}
