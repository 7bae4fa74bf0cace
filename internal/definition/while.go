package definition

import (
	"context"
	"fmt"
	"sync"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/definition/escape"
	"holdfast.dev/holdfast/internal/while"
	"holdfast.dev/holdfast/schema"
	"holdfast.dev/holdfast/skeleton"
)

// validateConditions reports the conditions of rules in the annotation that do not compile, or that cost too much.
func validateConditions(crd *CustomResourceDefinition) field.ErrorList {
	var errs field.ErrorList
	marks, _ := crd.Marks()
	for _, m := range marks {
		for _, problem := range conditionErrors(crd, m) {
			errs = append(errs, field.Invalid(annotationPath(), field.OmitValueType{}, problem))
		}
	}
	return errs
}

// conditionErrors returns why the condition of a rule is wrong, for each version that has the field of the rule.
func conditionErrors(crd *CustomResourceDefinition, m immutability.Mark) []string {
	if m.While == "" {
		return nil
	}
	var wrong []string
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		s, _, err := v.DecodeSchema()
		if err != nil || !m.In(v.Name) || len(immutability.AddMarks(s, v.Name, []immutability.Mark{m}).Unknown) > 0 {
			continue
		}
		structural, err := structuralschema.NewStructural(typing{omitDocs: true, omitRules: true}.of(structuralForm(s, skeleton.Build(s))))
		if err == nil {
			_, err = while.ForCustom(structural, m.While)
		}
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("%s: in version %s, the condition is wrong: %v", m, v.Name, err))
		}
	}
	return wrong
}

// markWarnings returns the warnings about the rules of the annotation that are judged by themselves.
func markWarnings(crd *CustomResourceDefinition, r *readVersion) []Warning {
	marks, _ := crd.Marks()
	if len(marks) == 0 {
		return nil
	}
	marked, err := crd.marked(&crd.Spec.Versions[r.index])
	if err != nil {
		return nil
	}
	var found []Warning
	for _, m := range marked.Layers {
		for _, way := range escape.FindMark(marked.Schema, m) {
			found = append(found, escapeWarning(crd, r, way))
		}
		if isReplaceable(m) {
			found = append(found, annotationWarning(Escape, m, "it can be removed and then set again with another value", "write set-once"))
		}
	}
	for _, m := range append(marked.Layers, crd.noDelete(r.name)...) {
		found = append(found, unprotectedReads(marked.Schema, m)...)
	}
	return found
}

// isReplaceable reports whether a label or annotation with a rule can be removed and then set again with another value.
func isReplaceable(m immutability.Mark) bool {
	return m.IsMetadata() && m.Marker == immutability.NoModify
}

// unprotectedReads returns a warning for each optional field that a condition reads without has().
func unprotectedReads(s *schema.Schema, m immutability.Mark) []Warning {
	if m.While == "" {
		return nil
	}
	structural, err := structuralschema.NewStructural(typing{omitDocs: true, omitRules: true}.of(structuralForm(s, skeleton.Build(s))))
	if err != nil {
		return nil
	}
	fields, err := while.Fields(structural, m.While)
	if err != nil {
		return nil
	}
	var found []Warning
	for _, f := range fields {
		if !f.Protected {
			found = append(found, annotationWarning(UnprotectedRead, m, f.Path+" is optional: the rule also holds if it is absent",
				fmt.Sprintf("protect it: has(%s) && ..., or !has(%s) || ...", f.Path, f.Path)))
		}
	}
	return found
}

// annotationWarning returns a warning about a rule of the annotation.
func annotationWarning(topic Topic, m immutability.Mark, message, fix string) Warning {
	message = m.String() + ": " + message
	return Warning{
		Topic: topic, Path: annotationPath().String(), Message: message, Fix: fix,
		line: fmt.Sprintf("%s: %s; %s to prevent this", annotationPath(), message, fix),
	}
}

// conditions are the compiled conditions of one version. Each is compiled when it is first needed.
type conditions struct {
	mu    sync.Mutex
	known map[string]compiledCondition
}

type compiledCondition struct {
	*while.Condition
	err error
}

// Holds reports whether the condition of a rule is true for a stored object in this version. The error says why it cannot be
// evaluated; the rule then holds.
func (c *Compiled) Holds(ctx context.Context, expression string, stored map[string]any) (bool, error) {
	if err := c.CompileForWrites(); err != nil {
		return true, err
	}
	c.conditions.mu.Lock()
	compiled, ok := c.conditions.known[expression]
	if !ok {
		compiled.Condition, compiled.err = while.ForCustom(c.Structural, expression)
		if c.conditions.known == nil {
			c.conditions.known = map[string]compiledCondition{}
		}
		c.conditions.known[expression] = compiled
	}
	c.conditions.mu.Unlock()
	if compiled.err != nil {
		return true, compiled.err
	}
	return compiled.Condition.Holds(ctx, stored)
}
