package definition

import (
	"fmt"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	apiservervalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/schema"
	"holdfast.dev/holdfast/skeleton"
)

// Compiled is one version of a definition, compiled for handling the objects of
// its kind. Compile makes it. It is safe for concurrent use.
type Compiled struct {
	// Kind is the group, version and kind of the objects.
	Kind runtimeschema.GroupVersionKind
	// Version is the version of the definition that was compiled. It shares memory
	// with that definition.
	Version *CustomResourceDefinitionVersion
	// Pruned is true if the server drops the fields of objects that the schema does
	// not specify.
	Pruned bool
	// Skeleton checks the types of objects, prunes and defaults them.
	Skeleton *skeleton.Skeleton
	// Policy finds forbidden changes of fields with immutability markers. It is nil
	// if the schema has no markers. Holds evaluates the conditions of its rules.
	Policy     *immutability.Policy
	conditions *conditions

	// Structural is the schema in structural form, for upstream's libraries:
	// server-side apply, embedded metadata and CEL. A set of objects is atomic in
	// it, because these libraries cannot compare items that are objects. CompileForWrites
	// sets it, and all fields below.
	Structural *structuralschema.Structural

	// compileForWrites is CompileForWrites. It does its work once.
	compileForWrites func() error
	// lists is Structural with the list types of the schema, sets of objects
	// included.
	lists  *structuralschema.Structural
	schema apiservervalidation.SchemaValidator
	// status validates .status alone. It is nil if the schema has no status, and
	// if rootLogic is true.
	status apiservervalidation.SchemaValidator
	// rootLogic is true if the root of the schema has allOf, anyOf, oneOf or not.
	// These may relate the status to other fields, so a write of the status
	// validates the whole object.
	rootLogic bool
	// correlation returns Structural in the form that correlate needs. The first
	// call builds it.
	correlation func() common.Schema
	// quickRules returns the CEL rules, which are compiled one by one when an object has
	// a value for them. The first call finds them. The result is nil if rulesHold cannot
	// evaluate them.
	quickRules func() *ruleNode
	// rules returns the CEL rules compiled for upstream's validator. The first call
	// compiles them. Only a write for which a rule may not hold needs them. It is nil
	// if the schema has no rules.
	rules func() *cel.Validator
	// embeds and keyed report whether Structural has embedded objects, and whether
	// lists has lists of type map or set.
	embeds, keyed bool
	// distinct returns the lists of type map and set. The first call builds it.
	distinct func() *keyedLists
}

// Compile compiles every version of a definition, served or not, by name. The
// result shares memory with crd, which must not change afterwards. It returns an
// error if the schema of a version cannot be decoded. A definition that passed
// Validate has no such schema.
func Compile(crd *CustomResourceDefinition) (map[string]*Compiled, error) {
	out, err := CompileBeforeWrites(crd)
	if err != nil {
		return nil, err
	}
	for _, c := range out {
		if err := c.CompileForWrites(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// CompileForReads is Compile without CompileForWrites. Its result takes much less memory, and is enough
// to prune stored objects, to set their defaults, and to find their markers.
func CompileForReads(crd *CustomResourceDefinition) (map[string]*Compiled, error) {
	return compileAll(crd, compiler{})
}

// CompileBeforeWrites is CompileForReads for a caller that calls CompileForWrites next. It keeps the decoded schemas until then.
func CompileBeforeWrites(crd *CustomResourceDefinition) (map[string]*Compiled, error) {
	return compileAll(crd, compiler{keepsDecoded: true})
}

func compileAll(crd *CustomResourceDefinition, how compiler) (map[string]*Compiled, error) {
	out := make(map[string]*Compiled, len(crd.Spec.Versions))
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		c, err := how.compile(crd, v)
		if err != nil {
			return nil, fmt.Errorf("compile version %s of %s: %w", v.Name, crd.Name, err)
		}
		c.Kind = runtimeschema.GroupVersionKind{Group: crd.Spec.Group, Version: v.Name, Kind: crd.Spec.Names.Kind}
		c.Pruned = crd.Spec.Pruned(v.Name)
		out[v.Name] = c
	}
	return out, nil
}

// compiler compiles versions.
type compiler struct {
	// keepsDecoded is set if CompileForWrites is called next. Otherwise, it decodes the schema again: a decoded schema takes much more
	// memory than its text.
	keepsDecoded bool
}

func (how compiler) compile(crd *CustomResourceDefinition, v *CustomResourceDefinitionVersion) (*Compiled, error) {
	marked, err := crd.marked(v)
	if err != nil {
		return nil, err
	}
	c := &Compiled{Version: v, Skeleton: skeleton.Build(marked.Schema), conditions: &conditions{}}
	if c.Policy, err = immutability.Compile(marked.Schema, marked.Layers...); err != nil {
		return nil, err
	}
	var decoded *schema.Schema
	if how.keepsDecoded {
		decoded = marked.Schema
	}
	c.compileForWrites = sync.OnceValue(func() (err error) {
		s := decoded
		if decoded = nil; s == nil {
			s, err = crd.MarkedSchema(v)
		}
		if err == nil {
			err = c.compileValidation(s)
		}
		if err != nil {
			return fmt.Errorf("compile the validation of version %s of %s: %w", v.Name, crd.Name, err)
		}
		return nil
	})
	return c, nil
}

// CompileForWrites compiles what only writes need: Structural and the validation. The methods that validate
// call it. Only the first call does the work.
func (c *Compiled) CompileForWrites() error { return c.compileForWrites() }

// incomplete returns the error of CompileForWrites as one of validation.
func (c *Compiled) incomplete() field.ErrorList {
	if err := c.CompileForWrites(); err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	return nil
}

func (c *Compiled) compileValidation(s *schema.Schema) error {
	if err := c.setStructural(structuralForm(s, c.Skeleton)); err != nil {
		return err
	}
	c.embeds = anyStructural(c.Structural, func(s *structuralschema.Structural) bool { return s.XEmbeddedResource })
	c.keyed = anyStructural(c.lists, func(s *structuralschema.Structural) bool { return s.XListType != nil && *s.XListType != "atomic" })
	c.distinct = sync.OnceValue(func() *keyedLists { return newKeyedLists(c.lists) })
	c.correlation = sync.OnceValue(func() common.Schema { return newCorrelationSchema(c.Structural) })
	if hasRules(s) {
		c.quickRules = sync.OnceValue(func() *ruleNode { return findRules(c.Structural, c.correlation()) })
		c.rules = sync.OnceValue(func() *cel.Validator {
			return cel.NewValidator(c.Structural, true, celconfig.PerCallLimit)
		})
	}
	if s == nil {
		return nil
	}
	_, full, err := apiservervalidation.NewSchemaValidator(typing{omitDocs: true}.of(withoutAdditionalPropertiesFalse(s)))
	if err != nil {
		return err
	}
	c.schema = newValueValidator(full)
	c.rootLogic = len(s.AllOf) > 0 || len(s.AnyOf) > 0 || len(s.OneOf) > 0 || s.Not != nil
	if status, ok := full.Properties["status"]; ok && c.HasStatus() && !c.rootLogic {
		c.status = newValueValidator(&status)
	}
	return nil
}

// setStructural sets Structural and lists from a schema in structural form. They
// are the same unless the schema has a set of objects or of lists.
func (c *Compiled) setStructural(structural *schema.Schema) error {
	var err error
	if c.lists, err = structuralschema.NewStructural(typing{omitDocs: true}.of(structural)); err != nil {
		return err
	}
	merge, changed := withAtomicSets(structural)
	if !changed {
		c.Structural = c.lists
		return nil
	}
	c.Structural, err = structuralschema.NewStructural(typing{omitDocs: true}.of(merge))
	return err
}

func hasRules(s *schema.Schema) bool {
	found := false
	schema.Walk(s, func(v *schema.Visit) bool {
		found = found || len(v.Schema.Validations) > 0
		return !found
	})
	return found
}

// Embeds reports whether the schema has embedded resources. Their metadata is checked separately. Before CompileForWrites it returns
// false.
func (c *Compiled) Embeds() bool { return c.embeds }

// HasStatus reports whether the version has the status subresource.
func (c *Compiled) HasStatus() bool {
	return c.Version.Subresources != nil && c.Version.Subresources.Status != nil
}

// Scale returns the paths of the scale subresource, or nil if the version has no
// such subresource.
func (c *Compiled) Scale() *apiextensionsv1.CustomResourceSubresourceScale {
	if c.Version.Subresources == nil {
		return nil
	}
	return c.Version.Subresources.Scale
}
