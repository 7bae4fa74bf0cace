package lint

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/native"
	"holdfast.dev/holdfast/internal/native/frozen"
	"holdfast.dev/holdfast/internal/operator/pack"
	"holdfast.dev/holdfast/internal/operator/render"
	"holdfast.dev/holdfast/parameters"
)

// Frozen returns a warning for each parameter that goes into an immutable field and is
// not marked immutable, in the package and in the packages bundled with it. It returns an
// error if a template cannot be rendered with the default values.
func Frozen(ctx context.Context, p *pack.Package) (pack.Findings, error) {
	var all pack.Findings
	for folder, each := range p.All() {
		findings, err := frozenIn(ctx, each)
		if err != nil && folder != "." {
			err = fmt.Errorf("%s: %w", folder, err)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, findings.In(folder)...)
	}
	return all, nil
}

// frozenIn lints one package.
func frozenIn(ctx context.Context, p *pack.Package) (pack.Findings, error) {
	return newLinter(p).frozen(ctx)
}

// frozen returns a warning for each parameter that goes into an immutable field.
func (l *linter) frozen(ctx context.Context) (pack.Findings, error) {
	places := map[string]map[string]bool{}
	for _, template := range l.templates() {
		if err := l.template(ctx, template, places); err != nil {
			return nil, err
		}
	}
	findings := l.warnings
	for i, definition := range l.version.Definitions {
		for _, place := range slices.Sorted(maps.Keys(places[definition.Name])) {
			findings = append(findings, pack.Finding{
				Severity: pack.Warning,
				Path:     fmt.Sprintf("%s: parameters[%d]", pack.ParamsFileName, i),
				Message:  fmt.Sprintf("parameter %q flows into %s, which cannot change, but is not immutable", definition.Name, place),
			})
		}
	}
	return findings, nil
}

// linter renders the templates of one package with different values.
type linter struct {
	pkg     *pack.Package
	version *parameters.Version
	scheme  *runtime.Scheme
	// examples holds a value for each parameter that has no default.
	examples map[string]string
	// filled holds in addition a value for each array and map with the default null.
	filled   map[string]string
	warnings pack.Findings
	// exhaustive makes narrow return all parameters. Only tests set it.
	exhaustive bool
}

func newLinter(p *pack.Package) *linter {
	l := &linter{
		pkg: p, version: p.Definitions(), scheme: native.NewScheme(),
		examples: map[string]string{}, filled: map[string]string{},
	}
	for i := range l.version.Definitions {
		definition := &l.version.Definitions[i]
		if text, found := definition.DefaultText(); found && text != parameters.Null {
			continue
		}
		l.filled[definition.Name] = candidates(definition)[0]
		if _, found := definition.DefaultText(); !found {
			l.examples[definition.Name] = l.filled[definition.Name]
		}
	}
	return l
}

// template adds the immutable fields of one template that depend on a parameter to
// places, by the name of the parameter.
func (l *linter) template(ctx context.Context, name string, places map[string]map[string]bool) error {
	if _, err := l.render(ctx, name, l.examples); err != nil {
		if _, other := l.render(ctx, name, l.filled); other != nil {
			return err
		}
		l.warnings = append(l.warnings, pack.Finding{
			Severity: pack.Warning, Path: "templates/" + name,
			Message: fmt.Sprintf("cannot be rendered while an array or map without a default has no value: %s", err),
		})
	}
	refs, err := l.pkg.References(name)
	if err != nil {
		return fmt.Errorf("templates/%w", err)
	}
	used := l.mutable(refs)
	for _, base := range l.bases(refs) {
		objects, err := l.render(ctx, name, base)
		if err != nil || len(objects) == 0 {
			continue
		}
		for _, definition := range l.narrow(ctx, rendered{name, base, objects}, used) {
			if places[definition.Name] == nil {
				places[definition.Name] = map[string]bool{}
			}
			l.places(ctx, name, definition, base, places[definition.Name])
		}
	}
	return nil
}

// mutable returns the parameters among the references of a template that are not immutable.
func (l *linter) mutable(refs render.References) []*parameters.Definition {
	named := map[string]bool{}
	for _, name := range refs.Names {
		named[name] = true
	}
	var all []*parameters.Definition
	for i := range l.version.Definitions {
		if definition := &l.version.Definitions[i]; !definition.Immutable && (refs.All || named[definition.Name]) {
			all = append(all, definition)
		}
	}
	return all
}

// bases returns the sets of values with which places renders a template: the defaults, the
// defaults with examples in place of null, and for each switch of the template the defaults
// with another value of that switch. Some parts of a template are only rendered with a list,
// or with another value of a switch.
func (l *linter) bases(refs render.References) []map[string]string {
	all := []map[string]string{l.examples}
	if len(l.filled) > len(l.examples) {
		all = append(all, l.filled)
	}
	for i := range l.version.Definitions {
		definition := &l.version.Definitions[i]
		if !isSwitch(definition) || !slices.Contains(refs.Names, definition.Name) {
			continue
		}
		for _, value := range candidates(definition)[1:] {
			switched := maps.Clone(l.examples)
			switched[definition.Name] = value
			all = append(all, switched)
		}
	}
	return all
}

// places adds the immutable fields of a template that change with a parameter.
func (l *linter) places(
	ctx context.Context, name string, definition *parameters.Definition, base map[string]string, places map[string]bool,
) {
	var rendered []map[string]runtime.Object
	for _, value := range candidates(definition) {
		values := maps.Clone(base)
		values[definition.Name] = value
		// A template may reject a value; the value is then skipped.
		if objects, err := l.render(ctx, name, values); err == nil {
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

// fields returns the immutable fields for which the update from oldObj to newObj is
// refused.
func fields(newObj, oldObj runtime.Object) map[string]bool {
	found := map[string]bool{}
	for _, refusal := range frozen.Check(newObj, oldObj) {
		found[refusal.Field] = true
	}
	return found
}

// render returns the objects of a template that have immutable fields, with defaults as
// the server would store them. The key describes the object in a finding.
func (l *linter) render(ctx context.Context, name string, values map[string]string) (map[string]runtime.Object, error) {
	found, err := l.objects(ctx, name, values)
	if err != nil {
		return nil, err
	}
	objects := map[string]runtime.Object{}
	for _, object := range found {
		typed, err := l.scheme.New(object.GroupVersionKind())
		if err != nil {
			// Only built-in kinds are in native/frozen.
			continue
		}
		key := fmt.Sprintf("%s %s (templates/%s)", object.GetKind(), object.GetName(), name)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, typed); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		l.scheme.Default(typed)
		if frozen.CanReject(typed) {
			objects[key] = typed
		}
	}
	return objects, nil
}

// objects returns the objects of a template.
func (l *linter) objects(ctx context.Context, name string, values map[string]string) ([]*unstructured.Unstructured, error) {
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
	return found, nil
}

// templates returns the templates of the objects that later runs update. It omits the
// templates that a Delete task names, such as that of a Job: a plan deletes these objects
// and creates them again, so their immutable fields may change.
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

// pipes returns example names for the objects that Pipe tasks would create.
func (l *linter) pipes() map[string]string {
	names := map[string]string{}
	for _, task := range l.pkg.Operator.Tasks {
		for _, file := range task.Spec.Pipe {
			names[file.Key] = "instance-" + strings.ToLower(file.Key)
		}
	}
	return names
}
