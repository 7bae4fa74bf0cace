package gate_test

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/definition/assessment"
)

// names are the names of objects.
type names map[string]bool

func (n names) String() string {
	var all []string
	for name := range n {
		all = append(all, name)
	}
	slices.Sort(all)
	return "[" + strings.Join(all, " ") + "]"
}

// lacking returns the names that others do not have.
func (n names) lacking(others ...names) names {
	out := names{}
	for name := range n {
		if !slices.ContainsFunc(others, func(other names) bool { return other[name] }) {
			out[name] = true
		}
	}
	return out
}

// answer is what the gate says about the stored objects.
type answer struct {
	// lost has the objects that lose something, and broken those that would be refused.
	lost, broken names
	// merged has the objects that lose items of a list, because the list gets other keys. The server refuses such a list.
	merged names
}

// hits are the objects in a cause. There are at most three, and the causes name three.
var hits = regexp.MustCompile(`\((\d+) stored objects?: ([^)]*?)(, for example at .*)?\)(;|$)`)

// answerOf reads the causes of a refusal.
func answerOf(t *testing.T, err error) answer {
	t.Helper()
	out := answer{lost: names{}, broken: names{}, merged: names{}}
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return out
	}
	for _, cause := range status.Status().Details.Causes {
		found := hits.FindStringSubmatch(cause.Message)
		if found == nil {
			continue // no object is hit
		}
		all := strings.Split(found[2], ", ")
		if strconv.Itoa(len(all)) != found[1] {
			t.Errorf("the cause counts %s objects and names %q", found[1], all)
		}
		for _, name := range all {
			out.add(cause, strings.TrimPrefix(name, "default/"))
		}
	}
	return out
}

func (a answer) add(cause metav1.StatusCause, name string) {
	switch {
	case cause.Type != assessment.CauseTypeLoss:
		a.broken[name] = true
	case strings.HasSuffix(cause.Field, ".x-kubernetes-list-map-keys"), strings.HasSuffix(cause.Field, ".x-kubernetes-list-type"):
		a.merged[name] = true
	default:
		a.lost[name] = true
	}
}

// outcome is what happens to the objects.
type outcome struct {
	// lost has the objects that lack a field when they are read by the new definition, or after they are written again. refused has
	// those that the server does not accept again. nulls has those that lack a field with null.
	lost, refused, nulls names
}

// lacks notes what an object lacks.
func (o outcome) lacks(name string, what missing) {
	switch what {
	case aField:
		o.lost[name] = true
	case aNull:
		o.nulls[name] = true
	}
}

// differences compares what the gate said with what happens. An object that loses data is in a cause about a loss, even if it is refused
// too. A refused object is in any cause.
func (a answer) differences(is outcome) []string {
	var out []string
	report := func(what string, wrong names) {
		if len(wrong) > 0 {
			out = append(out, what+": "+wrong.String())
		}
	}
	report("lost, and the gate does not say so", is.lost.lacking(a.lost))
	report("refused, and the gate does not say so", is.refused.lacking(a.broken, a.lost, a.merged))
	// Nothing shows what a write loses that the server refuses.
	report("not lost, and the gate says so", a.lost.lacking(is.lost, is.refused, is.nulls))
	report("not refused, and the gate says so", a.broken.lacking(is.refused))
	report("not refused, and the gate says that items are the same", a.merged.lacking(is.refused))
	return out
}
