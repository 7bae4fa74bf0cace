package definition

import (
	"slices"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/utils/ptr"
)

// compileRules compiles the CEL rules of the schema of a resource. It returns nil if the
// schema has rules that a ruleNode does not support: rules that do not compile, rules in
// allOf, and rules below fields that CEL cannot name.
func compileRules(s *structuralschema.Structural) *ruleNode {
	b := ruleBuilder{envs: environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())}
	root := b.node(s, nil, model.SchemaDeclType(s, true), resourceRoot)
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

// ruleBuilder compiles the rules of one schema.
type ruleBuilder struct {
	envs        *environment.EnvSet
	unsupported bool
}

// node compiles the rules of s and of the schemas below it. It returns nil if there are
// none. cached is s as a common.Schema, or nil if node must create it.
func (b *ruleBuilder) node(
	s *structuralschema.Structural, cached common.Schema, declared *apiservercel.DeclType, kind nodeKind,
) *ruleNode {
	if b.unsupported || !hasNestedRules(s) {
		return nil
	}
	if declared == nil || logicHasRules(s) {
		b.unsupported = true
		return nil
	}
	if cached == nil {
		cached = newCorrelationSchema(s)
	}
	n := &ruleNode{self: cached, list: cached, pairs: cel.MapIsCorrelatable(s.XMapType)}
	if kind == resourceRoot && len(s.XValidations) > 0 {
		n.self = newCorrelationSchema(model.WithTypeAndObjectMeta(s))
	}
	n.rules = b.rules(s, declared)
	if s.Items != nil {
		n.items = b.node(s.Items, cached.Items(), declared.ElemType, kindOf(s.Items))
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
		values := s.AdditionalProperties.Structural
		n.additional = b.node(values, cached.AdditionalProperties().Schema(), declared.ElemType, kindOf(values))
	}
	b.properties(n, s, declared)
	n.transitions = n.hasTransitions()
	return n
}

func (b *ruleBuilder) properties(n *ruleNode, s *structuralschema.Structural, declared *apiservercel.DeclType) {
	cached := n.list.Properties()
	for name := range s.Properties {
		child := s.Properties[name]
		if !hasNestedRules(&child) {
			continue
		}
		escaped, ok := apiservercel.Escape(name)
		field := declared.Fields[escaped]
		if !ok || field == nil {
			b.unsupported = true
			return
		}
		if n.properties == nil {
			n.properties = map[string]*ruleNode{}
		}
		n.properties[name] = b.node(&child, cached[name], field.Type, kindOf(&child))
	}
}

// hasTransitions computes the field transitions of a node from those of the nodes below.
func (n *ruleNode) hasTransitions() bool {
	if slices.ContainsFunc(n.rules, rule.aboutChanges) || n.items != nil && n.items.transitions ||
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

// rules compiles the rules of s itself.
func (b *ruleBuilder) rules(s *structuralschema.Structural, declared *apiservercel.DeclType) []rule {
	compiled, err := cel.Compile(s, declared, celconfig.PerCallLimit, b.envs, cel.StoredExpressionsEnvLoader())
	if err != nil {
		b.unsupported = true
		return nil
	}
	var out []rule
	for i, result := range compiled {
		if result.Error != nil {
			b.unsupported = true
			return nil
		}
		if result.Program != nil {
			out = append(out, rule{result, ptr.Deref(s.XValidations[i].OptionalOldSelf, false)})
		}
	}
	return out
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
