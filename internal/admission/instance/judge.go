package instance

import (
	"cmp"
	"context"
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/operator/authorship"
	"holdfast.dev/holdfast/internal/operator/deletion"
)

// The resources with the writes that this package judges.
var (
	instances = api.GroupVersion.WithResource("instances").GroupResource()
	versions  = api.GroupVersion.WithResource("operatorversions").GroupResource()
)

// Write is a create, an update or a delete of an object, as the plugin or the webhook
// received it.
type Write struct {
	Kind      schema.GroupKind
	Resource  schema.GroupResource
	Namespace string
	Name      string
	// Old is the stored object, nil for a create. New is nil for a delete.
	Old, New  *unstructured.Unstructured
	Requester authorship.User
	DryRun    bool
}

// isOutdated reports whether the write has another resourceVersion than the stored
// object. Such a write is not judged: the storage refuses it with a conflict, and the
// client retries. The storage compares resourceVersions as numbers, so isOutdated does
// too: 07 equals 7.
func (w Write) isOutdated() bool {
	if w.Old == nil {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(w.New.GetResourceVersion(), w.Old.GetResourceVersion())
	return err == nil && order != 0
}

// Config is what the judgement of a write depends on.
type Config struct {
	// Versions returns OperatorVersions.
	Versions Versions
	// Controller is the user name of the operator controller, which alone is trusted to act for
	// other users. The default is the controller of our own server. That server must not trust
	// the service account of a manager, because any user may own a namespace with the name of
	// the manager's namespace.
	Controller string
	// Keys seal the records of requesters and authors.
	Keys *authorship.Keyring
	// Deletions records the users that delete Instances.
	Deletions *deletion.Store
	// MayGet reports whether a user may use an OperatorVersion of another namespace.
	MayGet MayGet
	// Discloses reports whether a refusal may show what the stored Instance contains.
	Discloses Discloses
	// Instances returns the Instances that use an OperatorVersion.
	Instances Instances
	// MayRead reports whether a user may get an Instance. A refusal names only Instances that
	// the user may get.
	MayRead Discloses
}

// Judge decides about writes.
type Judge struct{ Config }

// controller returns the user name of the operator controller.
func (j Judge) controller() string { return cmp.Or(j.Controller, authorship.ControllerUser) }

// complete changes a written Instance into what admission decides, or refuses it.
func (j Judge) complete(ctx context.Context, w Write) error {
	if w.isOutdated() {
		return nil
	}
	return j.decide(ctx, w, uuid.NewUUID)
}

// confirm refuses an Instance that differs from what complete would return for it. It
// differs if another step of admission changed it after complete.
func (j Judge) confirm(ctx context.Context, w Write) error {
	if w.isOutdated() {
		return nil
	}
	sent, err := instance(w.New)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	// If decide starts a run, the run gets the UID that was sent and not a new one, so that
	// the sent object and the result can be compared. started is then true.
	run := sent.Spec.PlanExecution.UID
	started := false
	again := w
	again.New = w.New.DeepCopy()
	if err := j.decide(ctx, again, func() types.UID { started = true; return run }); err != nil {
		return err
	}
	before := w.New.DeepCopy()
	if err := j.adoptSealed(ctx, before, again.New); err != nil {
		return err
	}
	var all field.ErrorList
	for _, path := range changedFields(before, again.New) {
		all = append(all, field.Forbidden(field.NewPath(path[0], path[1:]...),
			"it was changed after it was judged, by another step of admission"))
	}
	if started && !isNewUID(w.Old, run) {
		all = append(all, field.Forbidden(field.NewPath("spec", "planExecution", "uid"), "a run gets its own from admission"))
	}
	if len(all) == 0 {
		return nil
	}
	return apierrors.NewInvalid(w.Kind, w.Name, all)
}

// adoptSealed copies the sealed annotations of decided to sent if both hold the same records.
// Their texts differ if another replica has sealed them with another key.
func (j Judge) adoptSealed(ctx context.Context, sent, decided *unstructured.Unstructured) error {
	var both [2]*api.Instance
	for i, obj := range []*unstructured.Unstructured{sent, decided} {
		var err error
		if both[i], err = instance(obj); err != nil {
			return err
		}
	}
	annotations := sent.GetAnnotations()
	adopt := func(name string, same bool) {
		if _, found := annotations[name]; found && same {
			annotations[name] = both[1].Annotations[name]
		}
	}
	one, errOne := j.Keys.Record(ctx, both[0])
	other, errOther := j.Keys.Record(ctx, both[1])
	adopt(api.SealedRecordAnnotation, errOne == nil && errOther == nil && apiequality.Semantic.DeepEqual(one, other))
	before, errBefore := j.Keys.History(ctx, both[0])
	after, errAfter := j.Keys.History(ctx, both[1])
	adopt(api.SealedHistoryAnnotation, errBefore == nil && errAfter == nil && apiequality.Semantic.DeepEqual(before, after))
	if len(annotations) > 0 {
		sent.SetAnnotations(annotations)
	}
	return nil
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

// recordDeletion records the user that deletes an Instance, if its deletion has work to do.
func (j Judge) recordDeletion(ctx context.Context, oldObj *unstructured.Unstructured, deleter authorship.User) error {
	deleted, err := instance(oldObj)
	if err != nil {
		return err
	}
	if !slices.Contains(deleted.Finalizers, api.CleanupFinalizer) && deleted.RunningPlan() == "" {
		return nil
	}
	return j.Deletions.Record(ctx, deleted, deleter)
}

// refuseSpecChange refuses a change of the spec of an OperatorVersion. On our own server
// the marker in the definition has the same effect. Other servers do not know the marker.
func (j Judge) refuseSpecChange(w Write) error {
	if w.Old == nil || apiequality.Semantic.DeepEqual(w.New.Object["spec"], w.Old.Object["spec"]) {
		return nil
	}
	return apierrors.NewInvalid(w.Kind, w.Name, field.ErrorList{
		field.Forbidden(field.NewPath("spec"), "an operator version never changes: a new version is a new object"),
	})
}
