package stock

import (
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"slices"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/types"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	utilversion "k8s.io/apimachinery/pkg/util/version"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"

	"holdfast.dev/holdfast/internal/while"
	"holdfast.dev/holdfast/schema"
)

// limit is the cost of the most expensive rule that Kubernetes allows in a schema. It has no such
// limit for policies, but stops them at about the same cost when they run.
const limit = validation.StaticEstimatedCostLimit

// structural returns a node in the form of upstream's libraries.
func structural(n *node) (*structuralschema.Structural, error) {
	data, err := json.Marshal(n.Schema)
	if err != nil {
		return nil, err
	}
	var props apiextensionsv1.JSONSchemaProps
	if err := json.Unmarshal(data, &props); err != nil {
		return nil, err
	}
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&props, &internal, nil); err != nil {
		return nil, err
	}
	return structuralschema.NewStructural(&internal)
}

// ruleCost estimates the cost of a rule in a schema, as Kubernetes does when a definition is
// created: the cost for the largest value, times the largest number of values in an object.
func ruleCost(r rule) (uint64, error) {
	s, err := structural(r.at)
	if err != nil {
		return 0, err
	}
	s.XValidations = apiextensionsv1.ValidationRules{{Rule: r.expression}}
	declared := model.SchemaDeclType(s, r.at.parent == nil || r.at.Schema.EmbeddedResource)
	results, err := cel.Compile(s, declared, celconfig.PerCallLimit,
		environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()), cel.NewExpressionsEnvLoader())
	if err != nil {
		return 0, err
	}
	result := results[0]
	if result.Error != nil {
		return 0, fmt.Errorf("%s: %w", r.expression, result.Error)
	}
	cardinality, isBounded := r.at.cardinality()
	if !isBounded {
		cardinality = result.MaxCardinality
	}
	return multiply(result.MaxCost, cardinality), nil
}

// cardinality returns the largest number of values of n in an object. isBounded is false if a list
// or map around it has no bound.
func (n *node) cardinality() (count uint64, isBounded bool) {
	count = 1
	for ; n.parent != nil; n = n.parent {
		bound := n.parent.Schema.MaxProperties
		switch n.Edge {
		case schema.Property:
			continue
		case schema.Item:
			bound = n.parent.Schema.MaxItems
		}
		if bound == nil {
			return 0, false
		}
		count = multiply(count, uint64(max(0, *bound)))
	}
	return count, true
}

// multiply returns a product, the largest number if it overflows.
func multiply(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	if high > 0 {
		return math.MaxUint64
	}
	return low
}

// policyCost estimates the cost of an expression in a policy. It compiles it with the types of the
// schema, so an error is one that Kubernetes reports in the status of the policy.
func policyCost(r rule) (uint64, error) {
	s, err := structural(r.at)
	if err != nil {
		return 0, err
	}
	declared := while.Declared(s).MaybeAssignTypeName("Resource")
	set, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Extend(environment.VersionedOptions{
		IntroducedVersion: utilversion.MajorMinor(1, 0),
		EnvOptions: []celgo.EnvOption{
			celgo.Variable("object", declared.CelType()), celgo.Variable("oldObject", declared.CelType()),
			celgo.Variable("authorizer", library.AuthorizerType),
		},
		DeclTypes: []*apiservercel.DeclType{declared},
	})
	if err != nil {
		return 0, err
	}
	env := set.NewExpressionsEnv()
	var ast *celgo.Ast
	for _, expression := range slices.Compact([]string{r.expression, r.estimated}) {
		compiled, issues := env.Compile(expression)
		if issues.Err() != nil {
			return 0, fmt.Errorf("%s: %w", expression, issues.Err())
		}
		ast = compiled
	}
	cost, err := env.EstimateCost(ast, &library.CostEstimator{SizeEstimator: sizes{declared}})
	return cost.Max, err
}

// sizes estimates the sizes of values in a policy.
type sizes struct{ root *apiservercel.DeclType }

// EstimateSize implements checker.CostEstimator. A value without type may be as large as a request.
func (s sizes) EstimateSize(element checker.AstNode) *checker.SizeEstimate {
	switch element.Type().Kind() {
	case types.StringKind, types.BytesKind, types.DynKind, types.ListKind, types.MapKind, types.StructKind, types.OpaqueKind:
	default:
		return nil
	}
	largest := &checker.SizeEstimate{Max: uint64(celconfig.MaxRequestSizeBytes)}
	if len(element.Path()) == 0 {
		return largest
	}
	at := s.root
	for _, name := range element.Path()[1:] {
		switch name {
		case "@items", "@values":
			at = at.ElemType
		case "@keys":
			at = at.KeyType
		default:
			field := at.Fields[name]
			if field == nil {
				return largest
			}
			at = field.Type
		}
		if at == nil {
			return largest
		}
	}
	return &checker.SizeEstimate{Max: uint64(max(0, at.MaxElements))}
}

// EstimateCallCost implements checker.CostEstimator.
func (sizes) EstimateCallCost(string, string, *checker.AstNode, []checker.AstNode) *checker.CallEstimate {
	return nil
}
