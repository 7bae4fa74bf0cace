package guard

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// difference is an outcome that is not that of our server.
type difference struct {
	cluster, write string
	ours, theirs   outcome
}

// exception is a difference that is known. docs/guard.md and docs/schema.md list them for users.
type exception struct {
	name     string
	clusters []string
	// explains reports whether the exception is the reason of a difference.
	explains func(difference) bool
	// accepts reports whether the cluster accepts a change that our server refuses. A write may have several such changes.
	accepts func(cause) bool
	// judged means that the rules of the cluster refuse the write, so that its answer must have their words.
	judged bool
	used   map[string]int
}

// exceptions returns all exceptions.
func exceptions() []*exception {
	all := []*exception{
		{
			name: "kube-apiserver validates the schema before it asks webhooks", clusters: []string{webhook},
			explains: func(d difference) bool {
				return bothRefuse(d) && strings.Contains(d.theirs.text, " is invalid: ") && !isRefusal(d.theirs)
			},
		},
		{
			name: "kube-apiserver makes null of a map whose last key an apply removes, which the schema does not allow", clusters: []string{webhook, policy, cel},
			explains: func(d difference) bool {
				return strings.Contains(d.write, ": apply of spec.map from ") && !d.theirs.accepted &&
					strings.Contains(d.theirs.text, `spec.map: Invalid value: "null": spec.map in body must be of type object`)
			},
		},
		{
			name: "the guard answers 400 for built-in kinds, with the same causes", clusters: []string{webhook}, judged: true,
			explains: func(d difference) bool {
				return d.ours.code == http.StatusUnprocessableEntity && d.theirs.code == http.StatusBadRequest && len(d.ours.causes) > 0 &&
					slices.EqualFunc(d.ours.causes, d.theirs.causes, func(ours, theirs cause) bool {
						return ours.Field == theirs.Field && strings.HasSuffix(ours.Message, theirs.Message)
					})
			},
		},
		{
			name: "kube-apiserver drops fields that the version of the request does not have", clusters: []string{webhook},
			explains: func(d difference) bool {
				return d.ours.accepted && !d.theirs.accepted && len(d.theirs.causes) > 0 && !slices.ContainsFunc(d.theirs.causes, func(c cause) bool {
					return c.Field != "spec.rigging" || !strings.HasSuffix(c.Message, ", which version v2 forbids")
				})
			},
		},
		{
			// Its library divides the managed fields of the replicas in two.
			name: "kube-apiserver stores a write of the scale that changes nothing", clusters: []string{webhook, policy, cel},
			explains: func(d difference) bool {
				return strings.Contains(d.write, " ships/scale ") && d.ours.unchanged && d.theirs.accepted && !d.theirs.unchanged &&
					d.ours.text == d.theirs.text
			},
		},
		{
			name: "kubectl edit prints the names of temporary files", clusters: []string{webhook},
			explains: func(d difference) bool { return bothRefuse(d) && strings.Contains(d.ours.text, "kubectl-edit-") },
		},
		{
			name: "kubectl apply --force recreates an object after 422", clusters: []string{policy, cel},
			explains: func(d difference) bool {
				return strings.HasSuffix(d.write, " --force") && !d.ours.accepted && d.theirs.accepted
			},
		},
		{
			name: "kube-apiserver ends the deletion of a collection at the first object that is refused", clusters: []string{webhook},
			explains: func(d difference) bool {
				return strings.Contains(d.write, ": deletecollection") && d.ours.code == d.theirs.code && len(d.ours.causes) == 1 && len(d.theirs.causes) == 1 &&
					strings.HasSuffix(d.ours.causes[0].Message, ": "+d.theirs.causes[0].Message)
			},
		},
		{
			name: "schema compile writes no rules for built-in kinds", clusters: []string{policy, cel},
			explains: notCompiled("no CustomResourceDefinition in "),
		},
		{
			name: "a policy does not see the object in a write of /scale, and schema compile says so", clusters: []string{policy},
			explains: notCompiled("properties[replicas]: the subresource scale writes this field"),
		},
		{
			name: "CEL rules in a schema cannot say unless, no-delete, labels and annotations, and schema compile says so", clusters: []string{cel},
			explains: notCompiled("does not see deletions", "does not see labels and annotations", "cannot ask for the rights of a user"),
		},
		{
			name: "where a condition cannot be evaluated, the message of a policy is the error, and schema compile says so", clusters: []string{policy},
			explains: func(d difference) bool {
				return bothRefuse(d) && strings.Contains(d.theirs.text, "resulted in error: no such key: status") &&
					strings.Contains(d.ours.text, "the condition could not be evaluated: no such key: status")
			},
		},
		{
			name: "a policy answers a refused deletion with 422, not 409", clusters: []string{policy},
			explains: func(d difference) bool {
				return bothRefuse(d) && d.ours.code == http.StatusConflict && d.theirs.code == http.StatusUnprocessableEntity &&
					strings.Contains(d.ours.text, "keeps it") && strings.Contains(d.theirs.text, "keeps it")
			},
		},
		{
			name: "policies and rules in the schema have messages of their own", clusters: []string{policy, cel}, explains: bothRefuse, judged: true,
		},
		{name: "for CEL, null is absent in an object", clusters: []string{cel}, accepts: only("spec.note", "added null", "removed null")},
		{
			name: "for CEL, two texts of one time are equal", clusters: []string{cel},
			accepts: only("spec.launched", fromTo(`"`+utc+`"`, `"`+abroad+`"`)...),
		},
		{
			name: "for CEL, numbers of type number are floating-point numbers", clusters: []string{cel},
			accepts: only("spec.draught", fromTo(fmt.Sprint(largeEven), fmt.Sprint(largeOdd))...),
		},
	}
	for _, e := range all {
		e.used = map[string]int{}
	}
	return all
}

func bothRefuse(d difference) bool { return !d.ours.accepted && !d.theirs.accepted }

// notCompiled returns a function that explains why "holdfast schema compile" refuses rules, by one of the reasons that it names.
func notCompiled(reasons ...string) func(difference) bool {
	return func(d difference) bool {
		return strings.HasPrefix(d.write, "schema compile ") && !d.theirs.accepted &&
			slices.ContainsFunc(reasons, func(reason string) bool { return strings.Contains(d.theirs.text, reason) })
	}
}

// only returns a function that accepts changes of one field whose messages have one of the ends.
func only(field string, ends ...string) func(cause) bool {
	return func(c cause) bool {
		return c.Field == field && slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(c.Message, end) })
	}
}

func fromTo(a, b string) []string {
	return []string{"from " + a + " to " + b, "from " + b + " to " + a}
}

// explain returns an error for a difference that no exception explains.
func (t *trial) explain(d difference) error {
	_, err := t.reason(d)
	return err
}

// reason returns the exception that explains a difference, nil if there is no difference, and an error if no exception explains it.
func (t *trial) reason(d difference) (*exception, error) {
	if d.ours.accepted == d.theirs.accepted && d.ours.unchanged == d.theirs.unchanged && d.ours.code == d.theirs.code &&
		d.ours.text == d.theirs.text {
		return nil, nil
	}
	var accepting []*exception
	for _, e := range t.known {
		switch {
		case !slices.Contains(e.clusters, d.cluster):
		case e.accepts != nil:
			accepting = append(accepting, e)
		case e.explains(d):
			e.used[d.cluster]++
			return e, nil
		}
	}
	if explained := d.ours.causes; len(explained) > 0 && d.theirs.accepted {
		var last *exception
		for _, e := range accepting {
			before := len(explained)
			explained = slices.DeleteFunc(slices.Clone(explained), e.accepts)
			if len(explained) < before {
				e.used[d.cluster]++
				last = e
			}
		}
		if len(explained) == 0 {
			return last, nil
		}
	}
	return nil, fmt.Errorf("%s\nour server: %s\n%s: %s", d.write, d.ours, d.cluster, d.theirs)
}

// unusedExceptions prints how often each exception explained a difference, and returns an error for those that never did.
func (t *trial) unusedExceptions() error {
	var unused []error
	t.printf("exceptions:")
	for _, e := range t.known {
		for _, name := range e.clusters {
			t.printf("  %5d %-8s %s", e.used[name], name, e.name)
			if e.used[name] == 0 {
				unused = append(unused, fmt.Errorf("the exception %q explains nothing on %s: remove it", e.name, name))
			}
		}
	}
	return errors.Join(unused...)
}
