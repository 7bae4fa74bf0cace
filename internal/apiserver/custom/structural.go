package custom

import (
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/apiserver/custom/kind"
	"holdfast.dev/holdfast/internal/definition"
)

// verdicts remembers the condition NonStructuralSchema of each definition. To compute it, the server decodes all
// schemas, and it depends on nothing but the spec.
type verdicts struct {
	// compute is definition.NonStructural.
	compute func(*definition.CustomResourceDefinition) (apiextensionsv1.CustomResourceDefinitionCondition, bool)

	mu     sync.Mutex
	byName map[string]verdict
}

// verdict is the condition of one state of a spec. The condition is nil if the definition has none.
type verdict struct {
	uid        types.UID
	generation int64
	condition  *apiextensionsv1.CustomResourceDefinitionCondition
}

func newVerdicts() *verdicts {
	return &verdicts{compute: definition.NonStructural, byName: map[string]verdict{}}
}

// believe takes the condition from the status of a definition. The server believes what was stored before it started: the
// condition informs authors and has no other effect.
func (v *verdicts) believe(crd *definition.CustomResourceDefinition) {
	if !kind.IsEstablished(crd) {
		return // the server that stored it may not have come to its condition
	}
	stored := verdict{uid: crd.UID, generation: crd.Generation}
	if condition := definition.FindCondition(crd, apiextensionsv1.NonStructuralSchema); condition != nil {
		copied := *condition
		stored.condition = &copied
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.byName[crd.Name] = stored
}

// forget drops the condition of a definition that was deleted.
func (v *verdicts) forget(name string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.byName, name)
}

// set sets the condition in the status of a definition, or removes it.
func (v *verdicts) set(crd *definition.CustomResourceDefinition, now metav1.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	known, ok := v.byName[crd.Name]
	if !ok || known.uid != crd.UID || known.generation != crd.Generation {
		known = verdict{uid: crd.UID, generation: crd.Generation}
		if condition, ok := v.compute(crd); ok {
			known.condition = &condition
		}
		v.byName[crd.Name] = known
	}
	if known.condition == nil {
		definition.RemoveCondition(crd, apiextensionsv1.NonStructuralSchema)
		return
	}
	definition.SetCondition(crd, *known.condition, now)
}
