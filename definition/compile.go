package definition

import (
	"fmt"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	apiservervalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/schema"
	"holdfast.dev/holdfast/skeleton"
)

// Compiled is what one version of a definition means for the objects of its
// kind. It is made by Compile, never changes its answers, and is safe for
// concurrent use.
type Compiled struct {
	// Kind is what objects of this version are.
	Kind runtimeschema.GroupVersionKind
	// Version is the version as it stands in the definition that was compiled,
	// whose memory it shares.
	Version *CustomResourceDefinitionVersion
	// Pruned says whether objects lose the fields that the schema does not
	// specify.
	Pruned bool
	// Skeleton checks the types of objects, prunes and defaults them.
	Skeleton *skeleton.Skeleton
	// Policy finds changes of fields that are marked; nil without markers.
	Policy *immutability.Policy
	// Structural is the shape of objects as upstream's libraries take it, for
	// server-side apply, embedded metadata and CEL. A set of objects is atomic
	// in it, because neither of them can look inside.
	Structural *structuralschema.Structural

	// lists is Structural with the list types that were given.
	lists  *structuralschema.Structural
	schema apiservervalidation.SchemaValidator
	// status is for .status alone. It is nil where there is no schema for it,
	// and where logic at the root may tie the status to the rest.
	status apiservervalidation.SchemaValidator
	tied   bool
	// shape makes Structural what an update is tied to the old object by, when it
	// is first called.
	shape func() common.Schema
	// rules compiles the CEL rules when it is first called, because they take
	// most of the time and memory, and many definitions never see a write. It is
	// nil without rules.
	rules func() *cel.Validator
}

// Compile compiles every version of a definition, served or not. It shares
// memory with crd, which must not change afterwards. The error names a version
// whose schema cannot be read; no definition that passed Validate has one.
func Compile(crd *CustomResourceDefinition) (map[string]*Compiled, error) {
	out := make(map[string]*Compiled, len(crd.Spec.Versions))
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		c, err := compile(v)
		if err != nil {
			return nil, fmt.Errorf("compile version %s of %s: %w", v.Name, crd.Name, err)
		}
		c.Kind = runtimeschema.GroupVersionKind{Group: crd.Spec.Group, Version: v.Name, Kind: crd.Spec.Names.Kind}
		c.Pruned = crd.Spec.Pruned(v.Name)
		out[v.Name] = c
	}
	return out, nil
}

func compile(v *CustomResourceDefinitionVersion) (*Compiled, error) {
	s, _, err := v.DecodeSchema()
	if err != nil {
		return nil, err
	}
	c := &Compiled{Version: v, Skeleton: skeleton.Build(s)}
	if c.Policy, err = immutability.Compile(orEmpty(s)); err != nil {
		return nil, err
	}
	if err := c.structure(standIn(s, c.Skeleton)); err != nil {
		return nil, err
	}
	c.shape = sync.OnceValue(func() common.Schema { return newShape(c.Structural) })
	if hasRules(s) {
		c.rules = sync.OnceValue(func() *cel.Validator {
			return cel.NewValidator(c.Structural, true, celconfig.PerCallLimit)
		})
	}
	if s == nil {
		return c, nil
	}
	var full *spec.Schema
	if _, full, err = apiservervalidation.NewSchemaValidator(typing{undocumented: true}.of(withoutFalse(s))); err != nil {
		return nil, err
	}
	c.schema = valueValidator{full}
	c.tied = len(s.AllOf) > 0 || len(s.AnyOf) > 0 || len(s.OneOf) > 0 || s.Not != nil
	if status, ok := full.Properties["status"]; ok && c.HasStatus() && !c.tied {
		c.status = valueValidator{&status}
	}
	return c, nil
}

// structure makes the structural schemas from a stand-in. They are one and the
// same unless there is a set of objects or lists.
func (c *Compiled) structure(shape *schema.Schema) error {
	var err error
	if c.lists, err = structuralschema.NewStructural(typing{undocumented: true}.of(shape)); err != nil {
		return err
	}
	merge, changed := withAtomicSets(shape)
	if !changed {
		c.Structural = c.lists
		return nil
	}
	c.Structural, err = structuralschema.NewStructural(typing{undocumented: true}.of(merge))
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

func orEmpty(s *schema.Schema) *schema.Schema {
	if s == nil {
		return &schema.Schema{}
	}
	return s
}

// HasStatus says whether the version has the status subresource.
func (c *Compiled) HasStatus() bool {
	return c.Version.Subresources != nil && c.Version.Subresources.Status != nil
}

// Scale is where the scale subresource finds its values, nil without one.
func (c *Compiled) Scale() *apiextensionsv1.CustomResourceSubresourceScale {
	if c.Version.Subresources == nil {
		return nil
	}
	return c.Version.Subresources.Scale
}
