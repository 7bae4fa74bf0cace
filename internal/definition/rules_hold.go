package definition

import (
	"context"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/metrics"
)

// quickBudget is the cost that ruleNode.hold may spend on one object: a tenth of the
// budget of Kubernetes. An object with higher costs goes to upstream's validator.
const quickBudget = celconfig.RuntimeCELCostBudget / 10

// ruleNode holds the CEL rules of one schema and of the schemas below it. It finds out
// quickly that all rules hold. Upstream's validator builds a map of all properties at
// each access to a field; a ruleNode has a schema with these maps in it. A ruleNode makes
// no error messages: if a rule does not hold, upstream's validator decides.
//
// A ruleNode is safe for concurrent use. The nil ruleNode has no rules.
type ruleNode struct {
	// rules returns the compiled rules of the schema itself. The first call compiles them. It returns false if a rule
	// cannot be evaluated here. rules is nil if the schema itself has no rules.
	rules func() ([]rule, bool)
	// self is the schema of the variable self in rules. At a resource it also has the
	// apiVersion, the kind and the metadata. list is the schema without these; itemsHold
	// needs it to find the old item of a list.
	self, list common.Schema
	// pairs reports whether the values of a map are compared with those of the old map.
	pairs      bool
	items      *ruleNode
	additional *ruleNode
	properties map[string]*ruleNode
	// transitions reports whether this node or a node below it may have rules about changes.
	transitions bool
}

// rule is one compiled CEL rule.
type rule struct {
	cel.CompilationResult
	// optional reports whether oldSelf is an optional value. Such a rule runs without an
	// old value too.
	optional bool
}

// aboutChanges reports whether a rule reads the old value. It may fail for a value that does not
// change.
func (r rule) aboutChanges() bool { return r.optional || r.UsesOldSelf }

// evaluation is the evaluation of the rules for one object.
type evaluation struct {
	ctx context.Context //nolint:containedctx // of one call
	// budget is the cost that the rules may still have.
	budget int64
	// heldBefore reports whether all rules are known to hold for the old object.
	heldBefore bool
}

// rulesHold reports whether all CEL rules surely hold for an object.
func (c *Compiled) rulesHold(ctx context.Context, newObj map[string]any, old Stored) bool {
	root := c.quickRules()
	if root == nil {
		return false
	}
	start := time.Now()
	defer func() { metrics.Metrics.ObserveEvaluation(time.Since(start)) }()
	e := &evaluation{ctx: ctx, budget: quickBudget, heldBefore: old.Valid}
	if old.Object == nil {
		return e.hold(root, newObj, nil)
	}
	return e.hold(root, newObj, old.Object)
}

// hold reports whether all rules of n hold for a value.
func (e *evaluation) hold(n *ruleNode, newValue, oldValue any) bool {
	if n == nil || newValue == nil {
		return true
	}
	held := e.heldBefore && same(newValue, oldValue)
	if held && !n.transitions {
		return true
	}
	if n.rules != nil && !e.ownHold(n, newValue, oldValue, held) {
		return false
	}
	switch newValue := newValue.(type) {
	case []any:
		oldList, _ := oldValue.([]any)
		return e.itemsHold(n, newValue, oldList)
	case map[string]any:
		oldMap, _ := oldValue.(map[string]any)
		return e.fieldsHold(n, newValue, oldMap)
	}
	return true
}

func (e *evaluation) itemsHold(n *ruleNode, newList, oldList []any) bool {
	if n.items == nil {
		return true
	}
	old := common.MakeMapList(n.list, oldList)
	for _, item := range newList {
		if !e.hold(n.items, item, old.Get(item)) {
			return false
		}
	}
	return true
}

func (e *evaluation) fieldsHold(n *ruleNode, newMap, oldMap map[string]any) bool {
	if n.additional == nil && n.properties == nil {
		return true
	}
	for name, v := range newMap {
		var old any
		if n.pairs {
			old = oldMap[name]
		}
		if !e.hold(n.additional, v, old) || !e.hold(n.properties[name], v, old) {
			return false
		}
	}
	return true
}

// ownHold evaluates the rules of n itself. If all held before for this value, only rules about changes
// can fail.
func (e *evaluation) ownHold(n *ruleNode, newValue, oldValue any, held bool) bool {
	rules, ok := n.rules()
	if !ok {
		return false
	}
	plain := &variables{self: common.UnstructuredToVal(newValue, n.self)}
	optional := &variables{self: plain.self, oldSelf: types.OptionalNone}
	if oldValue != nil {
		plain.oldSelf = common.UnstructuredToVal(oldValue, n.self)
		optional.oldSelf = types.OptionalOf(plain.oldSelf)
	}
	for _, r := range rules {
		if held && !r.aboutChanges() {
			continue
		}
		in := plain
		if r.optional {
			in = optional
		} else if r.UsesOldSelf && oldValue == nil {
			continue
		}
		result, details, err := r.Program.ContextEval(e.ctx, in)
		if err != nil || result != types.True || details == nil {
			return false
		}
		cost := details.ActualCost()
		if cost == nil || *cost > uint64(max(e.budget, 0)) {
			return false
		}
		e.budget -= int64(*cost)
	}
	return true
}

// variables are the variables of a rule.
type variables struct{ self, oldSelf ref.Val }

var _ interpreter.Activation = &variables{}

// ResolveName implements interpreter.Activation.
func (v *variables) ResolveName(name string) (any, bool) {
	switch name {
	case cel.ScopedVarName:
		return v.self, true
	case cel.OldScopedVarName:
		return v.oldSelf, v.oldSelf != nil
	}
	return nil, false
}

// Parent implements interpreter.Activation.
func (*variables) Parent() interpreter.Activation { return nil }
