package enforcement

import (
	"context"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"holdfast.dev/holdfast/operator/api"
)

// The resources that are judged.
var (
	instances = api.GroupVersion.WithResource("instances").GroupResource()
	versions  = api.GroupVersion.WithResource("operatorversions").GroupResource()
)

// write is a write of an object, through whichever door it came.
type write struct {
	kind      schema.GroupKind
	resource  schema.GroupResource
	namespace string
	name      string
	// oldObj is what is stored, nil when the object is created.
	oldObj, newObj *unstructured.Unstructured
	requester      api.Requester
}

// outdated says that a write is about another state of the object than is stored:
// the store answers that with a conflict, which clients know how to mend. The store
// compares numbers, so what only looks different, such as 07, is not outdated.
func (w write) outdated() bool {
	if w.oldObj == nil {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(w.newObj.GetResourceVersion(), w.oldObj.GetResourceVersion())
	return err == nil && order != 0
}

// judge says what becomes of writes.
type judge struct{ versions Versions }

// complete makes of a written Instance what admission decides, or refuses it.
func (j judge) complete(ctx context.Context, w write) error {
	if w.outdated() {
		return nil
	}
	return j.decide(ctx, w, uuid.NewUUID)
}

// confirm refuses an Instance that is not what complete makes of it: somebody
// changed it afterwards.
func (j judge) confirm(ctx context.Context, w write) error {
	if w.outdated() {
		return nil
	}
	given, err := instance(w.newObj)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	run := given.Spec.PlanExecution.UID
	started := false
	again := w
	again.newObj = w.newObj.DeepCopy()
	if err := j.decide(ctx, again, func() types.UID { started = true; return run }); err != nil {
		return err
	}
	var all field.ErrorList
	for _, path := range differing(w.newObj, again.newObj) {
		all = append(all, field.Forbidden(field.NewPath(path[0], path[1:]...), "it was changed after it was judged, by another step of admission"))
	}
	if started && !fresh(w.oldObj, run) {
		all = append(all, field.Forbidden(field.NewPath("spec", "planExecution", "uid"), "a run gets its own from admission"))
	}
	if len(all) == 0 {
		return nil
	}
	return apierrors.NewInvalid(w.kind, w.name, all)
}

// fresh says that no run of an Instance had a UID before.
func fresh(oldObj *unstructured.Unstructured, uid types.UID) bool {
	if uid == "" || oldObj == nil {
		return uid != ""
	}
	stored, err := instance(oldObj)
	if err != nil || stored.Spec.PlanExecution.UID == uid {
		return false
	}
	for _, status := range stored.Status.PlanStatus {
		if status.UID == uid {
			return false
		}
	}
	return true
}

// keep refuses another spec of an OperatorVersion. The marker of the definition
// does as well; it is not there where the definition is not ours.
func (j judge) keep(w write) error {
	if w.oldObj == nil || apiequality.Semantic.DeepEqual(w.newObj.Object["spec"], w.oldObj.Object["spec"]) {
		return nil
	}
	return apierrors.NewInvalid(w.kind, w.name, field.ErrorList{
		field.Forbidden(field.NewPath("spec"), "an operator version never changes: a new version is a new object"),
	})
}
