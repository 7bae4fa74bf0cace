package stock

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiserver/pkg/cel"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/while"
)

// condition is what follows the path of a mark, for one target.
type condition struct {
	// holds is the expression of while, and allowed the one of unless; empty if the mark has none.
	holds, allowed string
	notes          []string
	refusals       []string
}

// condition returns the condition of a mark in a version.
func (c *compilation) condition(m *immutability.Mark, root *node) condition {
	var out condition
	if m == nil {
		return out
	}
	if m.Unless != "" {
		out.allowed = authorized(c.def.CustomResourceDefinition, m.Unless)
		out.notes = append(out.notes, "a policy sends no Warning and writes no audit annotation when a user uses the right to "+m.Unless)
	}
	if m.While != "" {
		out.read(m, root, c.options.Target)
	}
	return out
}

// read sets the condition of while.
func (out *condition) read(m *immutability.Mark, root *node, to Target) {
	out.holds = m.While
	s, err := structural(root)
	if err != nil {
		out.refusals = append(out.refusals, err.Error())
		return
	}
	fields, err := while.Fields(s, m.While)
	if err != nil {
		out.refusals = append(out.refusals, err.Error())
		return
	}
	var unprotected []string
	for _, f := range fields {
		if !f.Protected {
			unprotected = append(unprotected, f.Path)
		}
	}
	if len(unprotected) > 0 {
		out.notes = append(out.notes, fmt.Sprintf(
			"where the condition cannot be evaluated (no has() protects %s), the message of the refusal is that of Kubernetes, not that of the rule",
			strings.Join(unprotected, ", ")))
	}
	if to == Policy {
		out.readUntyped(m, fields)
	}
}

// readUntyped sets the condition for a policy, in which the stored object has another name and no types.
func (out *condition) readUntyped(m *immutability.Mark, fields []while.Field) {
	renamed, ok := while.Rename(m.While, "oldObject")
	if !ok {
		out.refusals = append(out.refusals, "a variable of the condition has the name oldSelf")
	}
	out.holds = renamed
	for _, f := range fields {
		name := f.Path[strings.LastIndexByte(f.Path, '.')+1:]
		unescaped, isEscaped := cel.Unescape(name)
		isEscaped = isEscaped && unescaped != name && !strings.HasSuffix(f.Path, "]")
		switch v := f.Schema.ValueValidation; {
		case isEscaped:
			out.refusals = append(out.refusals, fmt.Sprintf("a policy cannot name the field of %s", f.Path))
		case f.Read && v != nil && slices.Contains([]string{"date-time", "date", "duration", "byte"}, v.Format):
			out.refusals = append(out.refusals, fmt.Sprintf("in a policy, %s is a text, not a %s", f.Path, v.Format))
		case f.Schema.Nullable:
			out.notes = append(out.notes, fmt.Sprintf("in a policy, has() is true for %s if it is null", f.Path))
		case f.Read && f.Schema.Type == "number":
			out.notes = append(out.notes, fmt.Sprintf("in a policy, %s is an integer if it has no fraction: compare it, but do not compute with it", f.Path))
		case f.Compared && (f.Schema.Type == "array" || f.Schema.Type == "object"):
			out.notes = append(out.notes, fmt.Sprintf("in a policy, == compares the lists in %s in order, and null is a value", f.Path))
		}
	}
}

// apply returns the expression of a rule that allows what the expression allows, and everything while
// the condition does not hold or if the user has the right.
func (out condition) apply(expression string) string {
	all := []string{expression}
	if out.holds != "" {
		all = append(all, "!("+out.holds+")")
	}
	if out.allowed != "" {
		all = append(all, out.allowed)
	}
	return or(all...)
}

// authorized returns the expression that is true if the user of a request has a verb on the stored object.
func authorized(crd *definition.CustomResourceDefinition, verb string) string {
	namespace := ""
	if crd.Spec.Scope == apiextensionsv1.NamespaceScoped {
		namespace = ".namespace(oldObject.metadata.namespace)"
	}
	return fmt.Sprintf("authorizer.group(%s).resource(%s)%s.name(oldObject.metadata.name).check(%s).allowed()",
		strconv.Quote(crd.Spec.Group), strconv.Quote(crd.Spec.Names.Plural), namespace, strconv.Quote(verb))
}
