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

// The resources with the writes that this package judges.
var (
	instances = api.GroupVersion.WithResource("instances").GroupResource()
	versions  = api.GroupVersion.WithResource("operatorversions").GroupResource()
)

// write is a create or an update of an object, as the plugin or the webhook received it.
type write struct {
	kind      schema.GroupKind
	resource  schema.GroupResource
	namespace string
	name      string
	// oldObj is the stored object, nil for a create.
	oldObj, newObj *unstructured.Unstructured
	requester      api.Requester
}

// isOutdated reports whether the write has another resourceVersion than the stored
// object. Such a write is not judged: the storage refuses it with a conflict, and the
// client retries. The storage compares resourceVersions as numbers, so isOutdated does
// too: 07 equals 7.
func (w write) isOutdated() bool {
	if w.oldObj == nil {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(w.newObj.GetResourceVersion(), w.oldObj.GetResourceVersion())
	return err == nil && order != 0
}

// judge decides about writes, by the OperatorVersions that versions returns.
type judge struct {
	versions  Versions
	discloses Discloses
}

// complete changes a written Instance into what admission decides, or refuses it.
func (j judge) complete(ctx context.Context, w write) error {
	if w.isOutdated() {
		return nil
	}
	return j.decide(ctx, w, uuid.NewUUID)
}

// confirm refuses an Instance that differs from what complete would return for it. It
// differs if another step of admission changed it after complete.
func (j judge) confirm(ctx context.Context, w write) error {
	if w.isOutdated() {
		return nil
	}
	sent, err := instance(w.newObj)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	// If decide starts a run, the run gets the UID that was sent and not a new one, so that
	// the sent object and the result can be compared. started is then true.
	run := sent.Spec.PlanExecution.UID
	started := false
	again := w
	again.newObj = w.newObj.DeepCopy()
	if err := j.decide(ctx, again, func() types.UID { started = true; return run }); err != nil {
		return err
	}
	var all field.ErrorList
	for _, path := range changedFields(w.newObj, again.newObj) {
		all = append(all, field.Forbidden(field.NewPath(path[0], path[1:]...),
			"it was changed after it was judged, by another step of admission"))
	}
	if started && !isNewUID(w.oldObj, run) {
		all = append(all, field.Forbidden(field.NewPath("spec", "planExecution", "uid"), "a run gets its own from admission"))
	}
	if len(all) == 0 {
		return nil
	}
	return apierrors.NewInvalid(w.kind, w.name, all)
}

// isNewUID reports whether a UID is set and differs from that of the stored execution and
// from that of the last run of each plan.
func isNewUID(oldObj *unstructured.Unstructured, uid types.UID) bool {
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

// refuseSpecChange refuses a change of the spec of an OperatorVersion. On our own server
// the marker in the definition has the same effect. Other servers do not know the marker.
func (j judge) refuseSpecChange(w write) error {
	if w.oldObj == nil || apiequality.Semantic.DeepEqual(w.newObj.Object["spec"], w.oldObj.Object["spec"]) {
		return nil
	}
	return apierrors.NewInvalid(w.kind, w.name, field.ErrorList{
		field.Forbidden(field.NewPath("spec"), "an operator version never changes: a new version is a new object"),
	})
}
