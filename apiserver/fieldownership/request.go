package fieldownership

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/ownership"
)

// request is one request that updates an object. It travels in the context of the
// request: the handlers of k8s.io/apiserver, between the filter and the registry, pass
// nothing else along. Its parts are recorded in this order:
//
//  1. The filter fills in the writer, the path and the body. They never change.
//  2. Admission records the object as the person edited it.
//  3. Prepare records what became of the last-applied configuration.
//  4. Check records the judgement.
//  5. The answer reads the judgement, if the write was stored.
//
// The store may try a write more than once. Each try runs steps 2 to 4 again and
// replaces what the earlier one recorded, so that the answer reads what belongs to the
// try that was stored. The mutex is for a request that timed out: the client has its
// answer while the store still tries.
type request struct {
	writer ownership.Writer
	dryRun bool
	// path is the URL path of the object.
	path string
	// body is the object that a replace sent; nil for other writes.
	body map[string]any

	mu          sync.Mutex
	edited      runtime.Object
	replacement replacement
	judgement   judgement
}

// replacement is what became of the last-applied configuration of a replaced object.
type replacement int

const (
	// notReplaced says that it stays as it is.
	notReplaced replacement = iota
	// replaced says that it follows the body of the request.
	replaced
	// tooLarge says that it stays, because the body is too large for an annotation.
	tooLarge
)

// judgement is what Check found. The zero judgement has nothing to say.
type judgement struct {
	verdict *ownership.Verdict
	uid     types.UID
	// changed are the fields to remember, that the write changes.
	changed []string
}

// recordEdited keeps the object as the person edited it, before other plugins of
// admission change it.
func (r *request) recordEdited(obj runtime.Object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.edited = obj
}

// editedObject returns what recordEdited kept, nil if the write is no edit.
func (r *request) editedObject() runtime.Object {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.edited
}

func (r *request) recordReplacement(outcome replacement) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.replacement = outcome
}

func (r *request) replacementOutcome() replacement {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.replacement
}

func (r *request) recordJudgement(j judgement) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.judgement = j
}

func (r *request) lastJudgement() judgement {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.judgement
}

type requestKey struct{}

func withRequest(ctx context.Context, r *request) context.Context {
	return context.WithValue(ctx, requestKey{}, r)
}

// requestFrom returns the request that a context belongs to, nil if the request is not
// judged.
func requestFrom(ctx context.Context) *request {
	r, _ := ctx.Value(requestKey{}).(*request)
	return r
}
