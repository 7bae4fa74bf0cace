package plan

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"holdfast.dev/holdfast/internal/definition/preview"
	"holdfast.dev/holdfast/internal/finding"
)

// maxListed is the number of children that the text lists. JSON has all.
const maxListed = 20

// Print prints the plans as text.
func Print(out io.Writer, plans []Plan) {
	for i := range plans {
		plans[i].print(out)
	}
}

// Summary counts the outcomes: 1 created, 2 unchanged.
func Summary(plans []Plan) string {
	var counts []string
	for _, outcome := range []preview.Outcome{
		preview.Create, preview.InPlace, preview.Replace, preview.Invalid, Unknown, preview.Unchanged,
	} {
		count := 0
		for _, p := range plans {
			if p.Outcome == outcome {
				count++
			}
		}
		if count > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", count, outcome))
		}
	}
	return strings.Join(counts, ", ")
}

// print prints the plan for one object.
func (p *Plan) print(out io.Writer) {
	name := p.Object
	if p.Namespace != "" {
		name += " in namespace " + p.Namespace
	}
	fmt.Fprintf(out, "%s: %s\n", name, p.Outcome)
	for _, f := range p.Reasons {
		fmt.Fprintf(out, "  %s\n", reasonText(f))
		if f.Fix != "" {
			fmt.Fprintf(out, "      %s\n", f.Fix)
		}
	}
	for _, change := range p.Changes {
		fmt.Fprintf(out, "  %s\n", change)
	}
	for _, note := range p.Notes {
		fmt.Fprintf(out, "  note: %s\n", note)
	}
	if len(p.Unchecked) > 0 {
		fmt.Fprintf(out, "  not checked: the markers of %s, which need the conversion webhook\n", strings.Join(p.Unchecked, ", "))
	}
	if p.Outcome == preview.Replace {
		p.printReplacement(out)
	}
}

// reasonText returns a reason with its place.
func reasonText(f finding.Finding) string {
	var parts []string
	if f.File != "" {
		parts = append(parts, fmt.Sprintf("%s:%d:%d", f.File, f.Line, f.Column))
	}
	if f.Path != "" {
		parts = append(parts, f.Path)
	}
	return strings.Join(append(parts, f.Message), ": ")
}

// printReplacement prints how an object is replaced, and what is lost.
func (p *Plan) printReplacement(out io.Writer) {
	fmt.Fprintf(out, "  plan: the update is refused, but the same object can be created\n    - delete %s\n    + create %s\n",
		p.Object, p.Object)
	if p.Kept != "" {
		fmt.Fprintf(out, "  but the deletion is refused: %s\n", p.Kept)
	}
	if losses := p.losses(); len(losses) == 0 {
		fmt.Fprintln(out, "  lost: nothing but the identity (uid, creation time)")
	} else {
		fmt.Fprintln(out, "  lost, besides the identity (uid, creation time):")
		for _, line := range losses {
			fmt.Fprintf(out, "    %s\n", line)
		}
	}
	switch {
	case len(p.Stay) > 0 && p.Adopted:
		fmt.Fprintf(out, "  kept, with the new object as their owner: %s\n", ChildrenText(p.Stay))
	case len(p.Stay) > 0:
		fmt.Fprintf(out, "  kept, without their owner reference to the old object: %s\n", ChildrenText(p.Stay))
	}
}

// ChildrenText names dependents, up to a number of them.
func ChildrenText(children []preview.Child) string {
	var names []string
	for i, child := range children {
		if i == maxListed {
			names = append(names, fmt.Sprintf("and %d more", len(children)-maxListed))
			break
		}
		names = append(names, child.String())
	}
	return strings.Join(names, ", ")
}

// losses returns what replacing the object loses, a line for each.
func (p *Plan) losses() []string {
	var lines []string
	add := func(what string, items []string, note string) {
		if len(items) > 0 {
			lines = append(lines, fmt.Sprintf("%s: %s%s", what, strings.Join(items, ", "), note))
		}
	}
	add("status", p.Loss.Status, "")
	add("finalizers", p.Loss.Finalizers, " (the deletion waits until their controllers remove them)")
	add("owner references", p.Loss.Owners, "")
	add("fields that only the old object has", p.Loss.Fields, "")
	if len(p.Loss.Children) > 0 {
		add("children, deleted with their owner", []string{ChildrenText(p.Loss.Children)}, " (--cascade=orphan keeps them)")
	}
	return lines
}

// reason is a reason in JSON.
type reason struct {
	Rule    string `json:"rule"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// object is a plan in JSON.
type object struct {
	Object    string        `json:"object"`
	Namespace string        `json:"namespace,omitempty"`
	Outcome   string        `json:"outcome"`
	Reasons   []reason      `json:"reasons"`
	Changes   []Change      `json:"changes,omitempty"`
	Unchecked []string      `json:"uncheckedVersions,omitempty"`
	Notes     []string      `json:"notes,omitempty"`
	Kept      string        `json:"kept,omitempty"`
	Lost      *preview.Loss `json:"lost,omitempty"`
}

// PrintJSON prints the plans as a JSON list.
func PrintJSON(out io.Writer, plans []Plan) error {
	objects := []object{}
	for i := range plans {
		p := &plans[i]
		one := object{
			Object: p.Object, Namespace: p.Namespace, Outcome: string(p.Outcome), Reasons: []reason{},
			Changes: p.Changes, Unchecked: p.Unchecked, Notes: p.Notes,
		}
		for _, f := range p.Reasons {
			one.Reasons = append(one.Reasons, reason{f.Rule, f.File, f.Line, f.Column, f.Path, f.Message, f.Fix})
		}
		if p.Outcome == preview.Replace {
			one.Lost, one.Kept = &p.Loss, p.Kept
		}
		objects = append(objects, one)
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(objects)
}
