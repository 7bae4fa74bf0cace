package lint

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/internal/operator/pack"
	"holdfast.dev/holdfast/internal/operator/render"
)

// Kinds returns a warning for each object with an API version that Kubernetes has removed, and
// for each object with fields that its kind does not have, in the package and in the packages
// bundled with it. It skips templates that cannot be rendered: Frozen reports them.
func Kinds(ctx context.Context, p *pack.Package) pack.Findings {
	var all pack.Findings
	for folder, each := range p.All() {
		var findings pack.Findings
		l := newLinter(each)
		for _, template := range l.rendered() {
			for _, object := range l.objectsOf(ctx, template) {
				for _, message := range problems(object) {
					findings = append(findings, pack.Finding{Severity: pack.Warning, Path: "templates/" + template, Message: message})
				}
			}
		}
		all = append(all, findings.In(folder)...)
	}
	return all
}

// problems returns what is wrong with the API version and the fields of an object.
func problems(object *unstructured.Unstructured) []string {
	var all []string
	title := object.GetKind() + " " + object.GetName()
	if removed := removedIn(object); removed != nil {
		all = append(all, fmt.Sprintf("%s: %s", title, removed.describe(object.GetAPIVersion())))
	}
	if dropped := render.DropUnknown(object.DeepCopy()); len(dropped) > 0 {
		all = append(all, fmt.Sprintf("%s: %s has no such fields, plans leave them out: %s",
			title, object.GetAPIVersion(), strings.Join(dropped, ", ")))
	}
	return all
}

// Removed says in which release Kubernetes removed the API version of an object, and what to use
// instead. It is empty for an API version that Kubernetes serves.
func Removed(object *unstructured.Unstructured) string {
	if removed := removedIn(object); removed != nil {
		return removed.describe(object.GetAPIVersion())
	}
	return ""
}

// describe says what to use instead of a removed API version.
func (r *removal) describe(version string) string {
	text := fmt.Sprintf("%s was removed in Kubernetes %s", version, r.release)
	switch {
	case r.successor.Version == "":
		return text + ": " + r.advice
	case r.advice != "":
		return fmt.Sprintf("%s: use %s, where %s", text, r.successor, r.advice)
	}
	return fmt.Sprintf("%s: use %s, for example with \"holdfast kudo package migrate\"", text, r.successor)
}

// rendered returns the templates of the objects that tasks apply or delete.
func (l *linter) rendered() []string {
	var all []string
	seen := map[string]bool{}
	for _, task := range l.pkg.Operator.Tasks {
		names := task.Spec.Resources
		if task.Spec.Pod != "" {
			names = append([]string{task.Spec.Pod}, names...)
		}
		for _, name := range names {
			if !seen[name] {
				seen[name] = true
				all = append(all, name)
			}
		}
	}
	return all
}

// objectsOf returns the objects of a template, each once, with the values of all bases. Some
// objects are only rendered with another value of a switch.
func (l *linter) objectsOf(ctx context.Context, template string) []*unstructured.Unstructured {
	refs, err := l.pkg.References(template)
	if err != nil {
		return nil
	}
	var all []*unstructured.Unstructured
	seen := map[string]bool{}
	for _, base := range l.bases(refs) {
		objects, err := l.objects(ctx, template, base)
		if err != nil {
			continue
		}
		for _, object := range objects {
			key := strings.Join(append([]string{object.GetAPIVersion(), object.GetKind(), object.GetName()}, problems(object)...), " ")
			if !seen[key] {
				seen[key] = true
				all = append(all, object)
			}
		}
	}
	return all
}
