package lint

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/native"
	"holdfast.dev/holdfast/native/frozen"
	"holdfast.dev/holdfast/operator/api"
	"holdfast.dev/holdfast/operator/pack"
	"holdfast.dev/holdfast/operator/render"
	"holdfast.dev/holdfast/parameters"
)

// Frozen finds the parameters. The error names a template that cannot be
// rendered with the defaults.
func Frozen(ctx context.Context, p *pack.Package) (pack.Findings, error) {
	l := &linter{pkg: p, version: p.Definitions(), scheme: native.NewScheme()}
	bases, err := l.bases(ctx)
	if err != nil {
		return nil, err
	}
	var findings pack.Findings
	for i := range l.version.Definitions {
		definition := &l.version.Definitions[i]
		if definition.Immutable {
			continue
		}
		places := map[string]bool{}
		for _, base := range bases {
			l.places(ctx, definition, base, places)
		}
		for _, place := range slices.Sorted(maps.Keys(places)) {
			findings = append(findings, pack.Finding{
				Severity: pack.Warning,
				Path:     fmt.Sprintf("%s: parameters[%d]", pack.ParamsFileName, i),
				Message:  fmt.Sprintf("parameter %q flows into %s, which cannot change, but is not immutable", definition.Name, place),
			})
		}
	}
	return findings, nil
}

type linter struct {
	pkg     *pack.Package
	version *parameters.Version
	scheme  *runtime.Scheme
}

// bases are values to start from: the defaults, and the defaults with one switch
// turned, for what is only rendered then.
func (l *linter) bases(ctx context.Context) ([]map[string]string, error) {
	plain := map[string]string{}
	for i := range l.version.Definitions {
		definition := &l.version.Definitions[i]
		if definition.Default == nil {
			plain[definition.Name] = candidates(definition)[0]
		}
	}
	if _, err := l.render(ctx, plain); err != nil {
		return nil, err
	}
	all := []map[string]string{plain}
	for i := range l.version.Definitions {
		definition := &l.version.Definitions[i]
		if !isSwitch(definition) {
			continue
		}
		for _, value := range candidates(definition)[1:] {
			turned := maps.Clone(plain)
			turned[definition.Name] = value
			if _, err := l.render(ctx, turned); err == nil {
				all = append(all, turned)
			}
		}
	}
	return all, nil
}

// places adds the frozen fields that change with a parameter.
func (l *linter) places(ctx context.Context, definition *parameters.Definition, base map[string]string, places map[string]bool) {
	var rendered []map[string]runtime.Object
	for _, value := range candidates(definition) {
		values := maps.Clone(base)
		values[definition.Name] = value
		// A value that is no good for the template says nothing.
		if objects, err := l.render(ctx, values); err == nil {
			rendered = append(rendered, objects)
		}
	}
	for i, first := range rendered {
		for _, second := range rendered[i+1:] {
			for key, object := range first {
				other, found := second[key]
				if !found {
					continue
				}
				back := fields(object, other)
				for field := range fields(other, object) {
					if back[field] {
						places[field+" of "+key] = true
					}
				}
			}
		}
	}
}

// fields are the frozen ones that differ.
func fields(newObj, oldObj runtime.Object) map[string]bool {
	found := map[string]bool{}
	for _, refusal := range frozen.Check(newObj, oldObj) {
		found[refusal.Field] = true
	}
	return found
}

// render gives the built-in objects of the package, as the server would store
// them, by a name for people.
func (l *linter) render(ctx context.Context, values map[string]string) (map[string]runtime.Object, error) {
	objects := map[string]runtime.Object{}
	for _, name := range l.templates() {
		text, err := render.Template(ctx, name, l.pkg.Templates[name], render.Values{
			Name: "instance", Namespace: "default", OperatorName: l.pkg.Operator.Name,
			OperatorVersion: l.pkg.Operator.OperatorVersion, AppVersion: l.pkg.Operator.AppVersion,
			PlanName: parameters.DeployPlan, PhaseName: "phase", StepName: "step",
			Params: l.version.Effective(values), Pipes: l.pipes(),
		})
		if err != nil {
			return nil, fmt.Errorf("templates/%w", err)
		}
		found, err := render.Objects(text)
		if err != nil {
			return nil, fmt.Errorf("templates/%s: %w", name, err)
		}
		for _, object := range found {
			typed, err := l.scheme.New(object.GroupVersionKind())
			if err != nil {
				// Not a built-in kind: nothing is known of its fields.
				continue
			}
			key := fmt.Sprintf("%s %s (templates/%s)", object.GetKind(), object.GetName(), name)
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, typed); err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}
			l.scheme.Default(typed)
			objects[key] = typed
		}
	}
	return objects, nil
}

// templates are those whose objects stay and are applied again. What a plan
// deletes, such as a Job, it may make anew.
func (l *linter) templates() []string {
	applied := map[string]bool{}
	for _, task := range l.pkg.Operator.Tasks {
		if task.Kind == api.ApplyTask || task.Kind == api.ToggleTask {
			for _, name := range task.Spec.Resources {
				applied[name] = true
			}
		}
	}
	for _, task := range l.pkg.Operator.Tasks {
		if task.Kind == api.DeleteTask {
			for _, name := range task.Spec.Resources {
				delete(applied, name)
			}
		}
	}
	return slices.Sorted(maps.Keys(applied))
}

// pipes are names for what Pipe tasks would store.
func (l *linter) pipes() map[string]string {
	names := map[string]string{}
	for _, task := range l.pkg.Operator.Tasks {
		for _, file := range task.Spec.Pipe {
			names[file.Key] = "instance-" + strings.ToLower(file.Key)
		}
	}
	return names
}
