package controller_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"holdfast.dev/holdfast/test/controller/berth"
)

const berthFinalizer = "harbour.example.com/cleared"

// harbour is a controller that keeps a ConfigMap, the sign, for each Berth.
type harbour struct{ client client.Client }

// addHarbour adds the controller to a manager.
func addHarbour(manager ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(manager).For(&berth.Berth{}).Owns(&corev1.ConfigMap{}).Complete(&harbour{client: manager.GetClient()})
}

// Reconcile implements reconcile.Reconciler.
func (h *harbour) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	b := &berth.Berth{}
	if err := h.client.Get(ctx, request.NamespacedName, b); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	sign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "sign-" + b.Name, Namespace: b.Namespace}}
	if !b.DeletionTimestamp.IsZero() {
		if err := h.client.Delete(ctx, sign); client.IgnoreNotFound(err) != nil {
			return ctrl.Result{}, err
		}
		if controllerutil.RemoveFinalizer(b, berthFinalizer) {
			return ctrl.Result{}, client.IgnoreNotFound(h.client.Update(ctx, b))
		}
		return ctrl.Result{}, nil
	}
	if controllerutil.AddFinalizer(b, berthFinalizer) {
		return ctrl.Result{}, h.client.Update(ctx, b)
	}
	_, err := controllerutil.CreateOrUpdate(ctx, h.client, sign, func() error {
		sign.Data = map[string]string{"sign": signOf(b)}
		return controllerutil.SetControllerReference(b, sign, h.client.Scheme())
	})
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("put up the sign: %w", err)
	}
	return ctrl.Result{}, h.report(ctx, b)
}

// report writes the generation of the sign to the status. The Berth may have changed since: then the sign is not that of the
// stored generation.
func (h *harbour) report(ctx context.Context, signed *berth.Berth) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		b := &berth.Berth{}
		if err := h.client.Get(ctx, client.ObjectKeyFromObject(signed), b); err != nil {
			return client.IgnoreNotFound(err)
		}
		changed := meta.SetStatusCondition(&b.Status.Conditions, metav1.Condition{
			Type: "Ready", Status: metav1.ConditionTrue, Reason: "SignIsUp", Message: signOf(signed), ObservedGeneration: signed.Generation,
		})
		if !changed && b.Status.ObservedGeneration == signed.Generation {
			return nil
		}
		b.Status.ObservedGeneration = signed.Generation
		return h.client.Status().Update(ctx, b)
	})
}

func signOf(b *berth.Berth) string {
	return fmt.Sprintf("%s, %s side, %d bollards", b.Spec.Dock, b.Spec.Side, len(b.Spec.Bollards))
}
