package guard

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/admission/keep"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/definition/refusal"
	"holdfast.dev/holdfast/internal/policy"
)

// refusalPause is the shortest time between two writes of refusals by a replica.
const refusalPause = 5 * time.Second

// refusals are the updates and deletions that this replica has refused or warned about, and not yet written into the report. They have neither
// values nor users, as the Events.
type refusals struct {
	mu      sync.Mutex
	pending map[string]*refused
	// some has a value if there are any.
	some chan struct{}
}

// refused are equal refusals.
type refused struct {
	result
	count int
}

func newRefusals() *refusals {
	return &refusals{pending: map[string]*refused{}, some: make(chan struct{}, 1)}
}

// add adds the refusals of the update of one review. Violations without a policy are of the annotation of a definition.
func (r *refusals) add(request *admissionv1.AdmissionRequest, of policy.Found) {
	annotated := slices.DeleteFunc(slices.Clone(of.Refused), func(v refusal.Violation) bool { return strings.HasPrefix(v.Source, "policy ") })
	hits := slices.Clone(of.Hits)
	if len(annotated) > 0 {
		hits = append(hits, policy.Hit{Policy: resourceOf(request).String(), Found: annotated})
	}
	var broken []brokenRules
	for _, h := range hits {
		broken = append(broken, brokenRules{write: "an update", policy: h.Policy, rules: policy.RulesOf(h.Found), warns: h.Warns})
	}
	r.addBroken(request, broken)
}

// addDeletion adds a refused deletion, or one that rules warn about. by are the sources of the rules. If there are none, an annotation
// keeps the object, or objects that would be deleted with it.
func (r *refusals) addDeletion(request *admissionv1.AdmissionRequest, by []keptResource) {
	const deletion = "the deletion"
	var broken []brokenRules
	for _, k := range by {
		broken = append(broken, brokenRules{write: deletion, policy: cmp.Or(k.Policy, k.resource.String()), rules: noDeleteRule, warns: k.Warns})
	}
	if len(by) == 0 {
		broken = append(broken, brokenRules{write: deletion, policy: keep.Annotation})
	}
	r.addBroken(request, broken)
}

// addDefinition adds a refused change of a definition.
func (r *refusals) addDefinition(request *admissionv1.AdmissionRequest, policy definition.GatePolicy) {
	r.addBroken(request, []brokenRules{{write: "an update", policy: request.Name, rules: string(policy)}})
}

// brokenRules are the rules of one policy or definition that a write breaks.
type brokenRules struct {
	write, policy, rules string
	warns                bool
}

// addBroken adds results about the write of a review. A dry run has none.
func (r *refusals) addBroken(request *admissionv1.AdmissionRequest, all []brokenRules) {
	if r == nil || isDryRun(request) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range all {
		one := result{
			policy: b.policy, rule: b.rules, outcome: resultFail, message: "refused " + b.write + " of " + objectOf(request), at: time.Now(),
			resource: map[string]any{
				"apiVersion": schema.GroupVersion{Group: request.Kind.Group, Version: request.Kind.Version}.String(),
				"kind":       request.Kind.Kind, "namespace": request.Namespace, "name": request.Name,
			},
		}
		if b.warns {
			one.outcome, one.message = resultWarn, "warned about "+b.write+" of "+objectOf(request)
		}
		r.merge(one, 1)
	}
	if len(r.pending) > 0 {
		r.signal()
	}
}

func (r *refusals) merge(one result, count int) {
	key := refusalKey(one.object())
	known := r.pending[key]
	if known == nil {
		if len(r.pending) >= maxRefusals {
			return
		}
		known = &refused{}
		r.pending[key] = known
	}
	known.result, known.count = one, known.count+count
}

// restore adds refusals again that could not be written.
func (r *refusals) restore(taken map[string]*refused) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, one := range taken {
		if newer := r.pending[key]; newer != nil {
			one.result, one.count = newer.result, one.count+newer.count
		}
		r.pending[key] = one
	}
	r.signal()
}

// signal says that there are refusals.
func (r *refusals) signal() {
	select {
	case r.some <- struct{}{}:
	default:
	}
}

// refusalKey returns a text that equal refusals have in common.
func refusalKey(each any) string {
	one, _ := each.(map[string]any)
	return fmt.Sprint(one["policy"], "\n", one["rule"], "\n", one["message"])
}

// write writes the refusals into the report until ctx ends.
func (r *refusals) write(ctx context.Context, to reporter) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-r.some:
		}
		r.mu.Lock()
		taken := r.pending
		r.pending = map[string]*refused{}
		r.mu.Unlock()
		err := to.update(ctx, func(results []any) []any { return withRefusals(results, taken) })
		if err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "refusals are reported later", "count", len(taken))
			r.restore(taken)
		}
		select {
		case <-ctx.Done():
		case <-time.After(refusalPause):
		}
	}
}

// withRefusals returns the results of a report with more refusals. Of all refusals, the newest stay.
func withRefusals(results []any, more map[string]*refused) []any {
	counts := map[string]int{}
	var kept, others []any
	for _, each := range results {
		key := refusalKey(each)
		switch {
		case !isRefusal(each):
			others = append(others, each)
		case more[key] != nil:
			counts[key] = countIn(each)
		default:
			kept = append(kept, each)
		}
	}
	for key, one := range more {
		one.properties = map[string]any{propertyCount: strconv.Itoa(one.count + counts[key])}
		kept = append(kept, one.object())
	}
	slices.SortFunc(kept, func(a, b any) int {
		return cmp.Or(cmp.Compare(secondsOf(b), secondsOf(a)), cmp.Compare(refusalKey(a), refusalKey(b)))
	})
	return append(others, kept[:min(len(kept), maxRefusals)]...)
}

func secondsOf(each any) int64 {
	one, _ := each.(map[string]any)
	seconds, _, _ := unstructured.NestedInt64(one, "timestamp", "seconds")
	return seconds
}
