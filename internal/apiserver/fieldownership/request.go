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
//  2. Admission records the object as the user edited it.
//  3. Prepare records whether it set the last-applied configuration.
//  4. Check records the judgement.
//  5. The answer reads the judgement, if the write was stored.
//
// The store may try a write more than once. Each try runs steps 2 to 4 again and overwrites
// the records of the earlier try. The response therefore uses the records of the try that
// was stored. The mutex is for a request that timed out: the client has its response while
// the store still tries.
type request struct {
	writer ownership.Writer
	// serverSide means that the request is a server-side apply, also one of a controller.
	serverSide bool
	dryRun     bool
	// path is the URL path of the object.
	path string
	// body is the object that a replace sent; nil for other writes.
	body map[string]any

	mu          sync.Mutex
	edited      runtime.Object
	replacement replacement
	judgement   result
}

// replacement says what Prepare did to the last-applied configuration of a replaced object.
type replacement int

const (
	// notReplaced says that Prepare did not set it to the body of the request.
	notReplaced replacement = iota
	// replaced says that Prepare set it to the body of the request.
	replaced
	// tooLarge says that Prepare did not set it, because the body is too large for an
	// annotation. The object has the annotation that the client sent, or none.
	tooLarge
)

// result is the result of Check. The zero result has no warnings.
type result struct {
	verdict *ownership.Verdict
	uid     types.UID
	// configuration is the last-applied configuration that a note is about. It is empty if
	// the note is about the write.
	configuration string
	// changed are the fields that the write changes and that Memory remembers.
	changed []string
}

// recordEdited keeps the object as the user edited it, before other admission plugins
// change it.
func (r *request) recordEdited(obj runtime.Object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.edited = obj
}

// editedObject returns the object that recordEdited kept. It is nil if the write is not an
// edit.
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

func (r *request) recordJudgement(j result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.judgement = j
}

func (r *request) lastJudgement() result {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.judgement
}

type requestKey struct{}

func withRequest(ctx context.Context, r *request) context.Context {
	return context.WithValue(ctx, requestKey{}, r)
}

// requestFrom returns the request in a context. It is nil if the request is not judged.
func requestFrom(ctx context.Context) *request {
	r, _ := ctx.Value(requestKey{}).(*request)
	return r
}
