package definition

import (
	"slices"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/utils/ptr"
)

// findRules finds the CEL rules of the schema of a resource. It compiles none: the rules of a
// schema are compiled when the first value of it is validated, because compiling is most of
// the work of a first write, and a large schema has many fields that no object sets. It returns
// nil if the schema has rules that a ruleNode does not support: rules in allOf, and rules below
// fields that CEL cannot name.
func findRules(s *structuralschema.Structural, cached common.Schema) *ruleNode {
	b := ruleBuilder{}
	root := b.node(s, cached, resourceRoot)
	if b.unsupported {
		return nil
	}
	return root
}

// nodeKind tells whether a schema is that of a resource. Rules of a resource can read its
// apiVersion, its kind and its name.
type nodeKind int

const (
	plainValue nodeKind = iota
	resourceRoot
)

func kindOf(s *structuralschema.Structural) nodeKind {
	if s.XEmbeddedResource {
		return resourceRoot
	}
	return plainValue
}

// ruleBuilder finds the rules of one schema.
type ruleBuilder struct{ unsupported bool }

// node finds the rules of s and of the schemas below it. It returns nil if there are
// none. cached is s as a common.Schema.
func (b *ruleBuilder) node(s *structuralschema.Structural, cached common.Schema, kind nodeKind) *ruleNode {
	if b.unsupported || !hasNestedRules(s) {
		return nil
	}
	if logicHasRules(s) {
		b.unsupported = true
		return nil
	}
	n := &ruleNode{self: cached, list: cached, pairs: cel.MapIsCorrelatable(s.XMapType)}
	if kind == resourceRoot && len(s.XValidations) > 0 {
		n.self = newCorrelationSchema(model.WithTypeAndObjectMeta(s))
	}
	if len(s.XValidations) > 0 {
		n.rules = sync.OnceValues(func() ([]rule, bool) { return compileRules(s, kind) })
	}
	if hasNestedRules(s.Items) {
		n.items = b.node(s.Items, cached.Items(), kindOf(s.Items))
	}
	if s.AdditionalProperties != nil && hasNestedRules(s.AdditionalProperties.Structural) {
		values := s.AdditionalProperties.Structural
		n.additional = b.node(values, cached.AdditionalProperties().Schema(), kindOf(values))
	}
	b.properties(n, s)
	n.transitions = n.hasTransitions(s)
	return n
}

func (b *ruleBuilder) properties(n *ruleNode, s *structuralschema.Structural) {
	for name := range s.Properties {
		child := s.Properties[name]
		if !hasNestedRules(&child) {
			continue
		}
		if _, ok := apiservercel.Escape(name); !ok {
			b.unsupported = true
			return
		}
		if n.properties == nil {
			n.properties = map[string]*ruleNode{}
		}
		n.properties[name] = b.node(&child, n.list.Properties()[name], kindOf(&child))
	}
}

// hasTransitions computes the field transitions of a node with a schema from those of the nodes below. The rules are
// not compiled yet. One that reads the old value has its name in the text.
func (n *ruleNode) hasTransitions(s *structuralschema.Structural) bool {
	if slices.ContainsFunc(s.XValidations, mayBeAboutChanges) || n.items != nil && n.items.transitions ||
		n.additional != nil && n.additional.transitions {
		return true
	}
	for _, child := range n.properties {
		if child != nil && child.transitions {
			return true
		}
	}
	return false
}

// mayBeAboutChanges reports whether a rule may read the old value.
func mayBeAboutChanges(r apiextensionsv1.ValidationRule) bool {
	return ptr.Deref(r.OptionalOldSelf, false) || strings.Contains(r.Rule, cel.OldScopedVarName)
}

// compileRules compiles the rules of s itself. It returns false if one of them does not compile, or if CEL has no type
// for the values of s.
func compileRules(s *structuralschema.Structural, kind nodeKind) ([]rule, bool) {
	declared := model.SchemaDeclType(s, kind == resourceRoot)
	if declared == nil {
		return nil, false
	}
	envs := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	compiled, err := cel.Compile(s, declared, celconfig.PerCallLimit, envs, cel.StoredExpressionsEnvLoader())
	if err != nil {
		return nil, false
	}
	var out []rule
	for i, result := range compiled {
		if result.Error != nil {
			return nil, false
		}
		if result.Program != nil {
			out = append(out, rule{result, ptr.Deref(s.XValidations[i].OptionalOldSelf, false)})
		}
	}
	return out, true
}

// hasNestedRules reports whether a schema or a schema below it has rules.
func hasNestedRules(s *structuralschema.Structural) bool {
	return anyStructural(s, func(s *structuralschema.Structural) bool { return len(s.XValidations) > 0 || logicHasRules(s) })
}

// anyStructural reports whether s or a schema below it matches. It does not visit allOf,
// anyOf, oneOf and not.
func anyStructural(s *structuralschema.Structural, matches func(*structuralschema.Structural) bool) bool {
	if s == nil {
		return false
	}
	if matches(s) || anyStructural(s.Items, matches) {
		return true
	}
	if s.AdditionalProperties != nil && anyStructural(s.AdditionalProperties.Structural, matches) {
		return true
	}
	for name := range s.Properties {
		child := s.Properties[name]
		if anyStructural(&child, matches) {
			return true
		}
	}
	return false
}

// logicHasRules reports whether the allOf of a schema has rules. The other kinds of logic
// cannot have any.
func logicHasRules(s *structuralschema.Structural) bool {
	if s.ValueValidation == nil {
		return false
	}
	for i := range s.ValueValidation.AllOf {
		if nestedHasRules(&s.ValueValidation.AllOf[i]) {
			return true
		}
	}
	return false
}

func nestedHasRules(s *structuralschema.NestedValueValidation) bool {
	if s == nil {
		return false
	}
	if len(s.XValidations) > 0 || nestedHasRules(s.Items) || nestedHasRules(s.AdditionalProperties) {
		return true
	}
	for name := range s.Properties {
		child := s.Properties[name]
		if nestedHasRules(&child) {
			return true
		}
	}
	for i := range s.AllOf {
		if nestedHasRules(&s.AllOf[i]) {
			return true
		}
	}
	return false
}
