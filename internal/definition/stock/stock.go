package stock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/definition/source"
	"holdfast.dev/holdfast/internal/manifest"
	"holdfast.dev/holdfast/value"
)

// Target is the form of the compiled rules.
type Target string

// The targets.
const (
	// CEL is transition rules in the schemas of the definition.
	CEL Target = "cel"
	// Policy is a ValidatingAdmissionPolicy with a binding for each version with markers.
	Policy Target = "policy"
	// Annotation is the annotation alone, for a server that reads it, or a cluster with the guard.
	Annotation Target = "annotation"
	// Markers is the reverse of all others: the definition with its markers in the schemas, and
	// without annotation and compiled rules.
	Markers Target = "markers"
)

// Options are the options of Compile.
type Options struct {
	Target Target
	// CloseEscapes also forbids to remove an optional parent of a field with a marker, and to set
	// it again. An absent parent counts as one without fields.
	CloseEscapes bool
}

// Refusal is a reason for which a definition cannot be compiled.
type Refusal struct {
	// Path is the field of the definition.
	Path    string
	Message string
	// Fix says what the author can do; empty if the message says so.
	Fix string

	at *node
}

// Result is a compiled definition, or the refusals.
type Result struct {
	// Name is the name of the definition.
	Name string
	// Objects are the definition and, for Policy, the policies and bindings.
	Objects []map[string]any
	// Rules is the number of compiled rules.
	Rules    int
	Refusals []Refusal
	// Notes say where the compiled rules differ from the server.
	Notes []Note
}

// Note is a difference between a compiled rule and the rule of the server.
type Note struct {
	// Rule is the rule as the annotation has it.
	Rule, Message string
}

// Compile compiles a definition in a file. It does not change the file. Compiling the definition
// of the result again gives the same result.
func Compile(ctx context.Context, o manifest.Object, options Options) Result {
	c := &compilation{options: options}
	c.compile(ctx, o)
	if len(c.result.Refusals) > 0 {
		c.result.Objects, c.result.Notes = nil, nil
	}
	return c.result
}

// compilation is one run of Compile.
type compilation struct {
	options Options
	result  Result
	// raw is the definition as JSON decoding gives it.
	raw map[string]any
	// def is the definition with its markers.
	def *source.Definition
	// marks are the lines of the annotation that no schema can have.
	marks []immutability.Mark
}

// refuse adds a refusal.
func (c *compilation) refuse(path, fix, format string, args ...any) {
	c.result.Refusals = append(c.result.Refusals, Refusal{Path: path, Message: fmt.Sprintf(format, args...), Fix: fix})
}

// note adds a note about a rule, once for all versions.
func (c *compilation) note(t target, format string, args ...any) {
	n := Note{t.String(), fmt.Sprintf(format, args...)}
	if !slices.Contains(c.result.Notes, n) {
		c.result.Notes = append(c.result.Notes, n)
	}
}

// refuseAt adds refusals about the schema of a version.
func (c *compilation) refuseAt(version int, refusals []Refusal) {
	for _, r := range refusals {
		r.Path = schemaPath(version, r.at.path)
		c.result.Refusals = append(c.result.Refusals, r)
	}
}

func (c *compilation) failed() bool { return len(c.result.Refusals) > 0 }

func (c *compilation) compile(ctx context.Context, o manifest.Object) {
	if c.read(ctx, o); c.failed() {
		return
	}
	c.result.Objects = []map[string]any{c.raw}
	if c.options.Target == Markers {
		c.annotate(c.marks)
		return
	}
	versions := c.versions()
	c.move(versions)
	switch c.options.Target {
	case Policy:
		c.compilePolicies(versions)
	case CEL:
		c.compileRules(versions)
	}
	c.verify(ctx, versions)
}

// read decodes the definition, puts the markers of the annotation into its schemas, and validates
// it as the server does.
func (c *compilation) read(ctx context.Context, o manifest.Object) {
	if err := utiljson.Unmarshal(o.JSON, &c.raw); err != nil {
		c.refuse("", "", "%v", err)
		return
	}
	if o.APIVersion != definition.GroupName+"/"+definition.V1 {
		c.refuse("apiVersion", "convert the definition to apiextensions.k8s.io/v1", "%s: Kubernetes does not serve this version", o.APIVersion)
		return
	}
	c.restore()
	def, err := decode(o, c.raw)
	if err != nil {
		var at *source.FieldError
		if errors.As(err, &at) {
			c.refuse(at.Path, "", "%s", at.Detail)
			return
		}
		c.refuse("", "", "%v", err)
		return
	}
	c.def, c.result.Name = def, def.Name
	for _, path := range def.Unknown {
		c.refuse(path, "", "is no field")
	}
	c.refuseErrors(def.Write.Validate(ctx, def.CustomResourceDefinition))
}

// decode decodes a definition that was changed after it was read from a file.
func decode(o manifest.Object, raw map[string]any) (*source.Definition, error) {
	data, err := json.Marshal(raw)
	if err != nil {
		return nil, err
	}
	o.JSON = data
	return source.Decode(o)
}

func (c *compilation) refuseErrors(errs field.ErrorList) {
	for _, err := range errs {
		c.refuse(err.Field, "", "%s", err.ErrorBody())
	}
}

// schemaPath returns the path of a schema node in the definition.
func schemaPath(version int, path *value.Path) string {
	root := field.NewPath("spec", "versions").Index(version).Child("schema", "openAPIV3Schema")
	if path == nil {
		return root.String()
	}
	return root.Child(value.Notation{Kubernetes: true}.Path(path)).String()
}
