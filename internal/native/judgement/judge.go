package judgement

import (
	"runtime/debug"

	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/ownership"
)

// NoteBroken is the warning for a write if its judgement panicked. The log holds the stack.
const NoteBroken = "the judgement broke off, which is a mistake in Holdfast"

// Judge calls [ownership.Judge] and recovers from a panic. After a panic the verdict has a
// note and no refusals, so the write is stored.
func Judge(write ownership.Write, cache *ownership.Cache) (verdict ownership.Verdict) {
	defer func() {
		if broken := recover(); broken != nil {
			klog.ErrorS(nil, "judge a write", "panic", broken, "stack", string(debug.Stack()))
			verdict = ownership.Verdict{Resource: ownership.Resource(write.Live), Writer: write.Writer, Note: NoteBroken}
		}
	}()
	return ownership.Judge(write, cache)
}
