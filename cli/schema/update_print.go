package schema

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"holdfast.dev/holdfast/definition/preview"
	"holdfast.dev/holdfast/finding"
	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/value"
)

// The rules of the findings of the command update.
const (
	immutableRule = "immutable-field"
	invalidRule   = "invalid-value"
	wrongTypeRule = "wrong-type"
)

var updateRules = []finding.Rule{
	{ID: immutableRule, Summary: "The update changes an immutable field."},
	{ID: invalidRule, Summary: "The schema or one of its CEL rules refuses a value."},
	{ID: wrongTypeRule, Summary: "A value has the wrong type."},
	{ID: droppedRule, Summary: "The schema does not specify the field, so the server drops it."},
}

func (u *updating) print(out io.Writer, format finding.Format, plans []planned) error {
	switch format {
	case finding.JSON:
		return printPlansJSON(out, plans)
	case finding.Text:
		for _, p := range plans {
			p.print(out)
		}
		return nil
	}
	report := finding.Report{Rules: updateRules, Version: u.version}
	for _, p := range plans {
		report.Findings = append(report.Findings, p.findings()...)
	}
	return report.Write(out, format)
}

// findings returns the reasons of the judgement, with their places.
func (p planned) findings() []finding.Finding {
	var found []finding.Finding
	add := func(place string, f finding.Finding) {
		f.File, f.Position, f.Object = p.object.File, p.object.Locate(place), objectName(p.New)
		found = append(found, f)
	}
	for _, wrong := range p.WrongTypes {
		add(wrong.Path, finding.Finding{
			Rule: wrongTypeRule, Severity: finding.Error, Path: wrong.Path,
			Message: "must be of type " + wrong.Want + ", not " + wrong.Got,
		})
	}
	for _, v := range p.Violations {
		add(p.place(v), finding.Finding{
			Rule: immutableRule, Severity: finding.Error, Path: v.Path.String(), Message: v.Message(), Fix: v.Hint(),
		})
	}
	for _, err := range p.Invalid {
		add(err.Field, finding.Finding{Rule: invalidRule, Severity: finding.Error, Path: err.Field, Message: err.ErrorBody()})
	}
	for _, path := range p.Dropped {
		add(path, finding.Finding{
			Rule: droppedRule, Severity: finding.Warning, Path: path,
			Message: "the schema does not specify this field: the server drops it",
		})
	}
	finding.Sort(found)
	return found
}

// place returns the path of a violation in the new object, with indexes in place of keys.
func (p planned) place(v immutability.Violation) string {
	var steps []value.Step
	var current any = p.New
	for _, step := range v.Path.Steps() {
		switch step.Kind {
		case value.Item, value.Member:
			index := indexOf(current, step)
			if index < 0 {
				return value.Notation{Kubernetes: true}.Steps(steps)
			}
			step = value.Step{Kind: value.Index, Index: index}
		}
		steps = append(steps, step)
		switch in := current.(type) {
		case map[string]any:
			current = in[step.Name]
		case []any:
			current = nil
			if step.Index < len(in) {
				current = in[step.Index]
			}
		}
	}
	return value.Notation{Kubernetes: true}.Steps(steps)
}

// indexOf returns the index of the item that a step names, -1 if the list does not have it.
func indexOf(list any, step value.Step) int {
	items, _ := list.([]any)
	for i, item := range items {
		other := value.Step{Kind: step.Kind, Keys: step.Keys, Value: item, Index: step.Index}
		if step.Equal(other) {
			return i
		}
	}
	return -1
}

// print prints the plan for one object.
func (p planned) print(out io.Writer) {
	fmt.Fprintf(out, "%s: %s\n", objectName(p.New), p.Outcome)
	for _, f := range p.findings() {
		fmt.Fprintf(out, "  %s:%d:%d: %s: %s\n", f.File, f.Line, f.Column, f.Path, f.Message)
		if f.Fix != "" {
			fmt.Fprintf(out, "      %s\n", f.Fix)
		}
	}
	if len(p.Unchecked) > 0 {
		fmt.Fprintf(out, "  not checked: the markers of %s, which need the conversion webhook\n", strings.Join(p.Unchecked, ", "))
	}
	if p.Outcome != preview.Replace {
		return
	}
	name := objectName(p.New)
	fmt.Fprintf(out, "  plan: the update is refused, but the same object can be created\n    - delete %s\n    + create %s\n", name, name)
	losses := p.losses()
	if len(losses) == 0 {
		fmt.Fprintln(out, "  lost: nothing but the identity (uid, creation time)")
		return
	}
	fmt.Fprintln(out, "  lost, besides the identity (uid, creation time):")
	for _, line := range losses {
		fmt.Fprintf(out, "    %s\n", line)
	}
}

// losses returns what replacing the object loses, a line for each.
func (p planned) losses() []string {
	var lines []string
	add := func(what string, items []string, note string) {
		if len(items) > 0 {
			lines = append(lines, fmt.Sprintf("%s: %s%s", what, strings.Join(items, ", "), note))
		}
	}
	add("status", p.loss.Status, "")
	add("finalizers", p.loss.Finalizers, " (the deletion waits until their controllers remove them)")
	add("owner references", p.loss.Owners, "")
	add("fields that only the old object has", p.loss.Fields, "")
	var children []string
	for _, child := range p.loss.Children {
		children = append(children, child.Kind+"/"+child.Name)
	}
	add("children, deleted with their owner", children, " (kubectl delete --cascade=orphan keeps them)")
	return lines
}

func printPlansJSON(out io.Writer, plans []planned) error {
	type reason struct {
		Rule    string `json:"rule"`
		File    string `json:"file"`
		Line    int    `json:"line"`
		Column  int    `json:"column"`
		Path    string `json:"path"`
		Message string `json:"message"`
		Hint    string `json:"hint,omitempty"`
	}
	type object struct {
		Object    string        `json:"object"`
		Outcome   string        `json:"outcome"`
		Reasons   []reason      `json:"reasons"`
		Unchecked []string      `json:"uncheckedVersions,omitempty"`
		Lost      *preview.Loss `json:"lost,omitempty"`
	}
	objects := []object{}
	for _, p := range plans {
		one := object{Object: objectName(p.New), Outcome: string(p.Outcome), Reasons: []reason{}, Unchecked: p.Unchecked}
		for _, f := range p.findings() {
			one.Reasons = append(one.Reasons, reason{f.Rule, f.File, f.Line, f.Column, f.Path, f.Message, f.Fix})
		}
		if p.Outcome == preview.Replace {
			one.Lost = &p.loss
		}
		objects = append(objects, one)
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(objects)
}
