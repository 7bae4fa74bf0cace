package controller_test

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	applymetav1 "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/retry"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

const (
	fieldOwner = client.FieldOwner("publisher")
	finalizer  = "example.com/publisher"
	imageIndex = "image"
)

// publisher is a controller that keeps a ConfigMap with the image of each
// Deployment.
type publisher struct {
	client   client.Client
	recorder events.EventRecorder
	// beforeStatus is called after the read of a Deployment and before the write
	// of its status.
	beforeStatus func(ctx context.Context, name client.ObjectKey) error
}

// addPublisher adds the controller to a manager.
func addPublisher(manager ctrl.Manager, beforeStatus func(context.Context, client.ObjectKey) error) error {
	p := &publisher{
		client:       manager.GetClient(),
		recorder:     manager.GetEventRecorder("publisher"),
		beforeStatus: beforeStatus,
	}
	err := manager.GetFieldIndexer().IndexField(context.Background(), &appsv1.Deployment{}, imageIndex, func(obj client.Object) []string {
		return []string{image(obj.(*appsv1.Deployment))}
	})
	if err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(manager).For(&appsv1.Deployment{}).Owns(&corev1.ConfigMap{}).Complete(p)
}

// Reconcile implements reconcile.Reconciler.
func (p *publisher) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	deployment := &appsv1.Deployment{}
	if err := p.client.Get(ctx, request.NamespacedName, deployment); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !deployment.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, p.withdraw(ctx, deployment)
	}
	if controllerutil.AddFinalizer(deployment, finalizer) {
		// The watch reports the update, and the controller reconciles again.
		return ctrl.Result{}, p.client.Update(ctx, deployment)
	}
	if err := p.publish(ctx, deployment); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, p.report(ctx, request.NamespacedName)
}

// publish applies the ConfigMap of a Deployment.
func (p *publisher) publish(ctx context.Context, deployment *appsv1.Deployment) error {
	owner := applymetav1.OwnerReference().
		WithAPIVersion("apps/v1").WithKind("Deployment").
		WithName(deployment.Name).WithUID(deployment.UID).
		WithController(true).WithBlockOwnerDeletion(true)
	published := applycorev1.ConfigMap(deployment.Name, deployment.Namespace).
		WithOwnerReferences(owner).
		WithData(map[string]string{"image": image(deployment)})
	if err := p.client.Apply(ctx, published, fieldOwner, client.ForceOwnership); err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	return nil
}

// report writes the published generation to the status.
func (p *publisher) report(ctx context.Context, name client.ObjectKey) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		deployment := &appsv1.Deployment{}
		if err := p.client.Get(ctx, name, deployment); err != nil {
			return err
		}
		if deployment.Status.ObservedGeneration == deployment.Generation {
			return nil
		}
		if err := p.beforeStatus(ctx, name); err != nil {
			return err
		}
		deployment.Status.ObservedGeneration = deployment.Generation
		deployment.Status.Conditions = []appsv1.DeploymentCondition{
			{Type: "Published", Status: corev1.ConditionTrue, Reason: "Applied", Message: image(deployment)},
		}
		if err := p.client.Status().Update(ctx, deployment); err != nil {
			return err
		}
		p.recorder.Eventf(deployment, nil, corev1.EventTypeNormal, "Published", "Publish", "published %s", image(deployment))
		return nil
	})
}

// withdraw deletes the ConfigMap and removes the finalizer of the Deployment.
func (p *publisher) withdraw(ctx context.Context, deployment *appsv1.Deployment) error {
	published := &corev1.ConfigMap{}
	published.Name, published.Namespace = deployment.Name, deployment.Namespace
	if err := p.client.Delete(ctx, published); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("withdraw: %w", err)
	}
	if !controllerutil.RemoveFinalizer(deployment, finalizer) {
		return nil
	}
	return client.IgnoreNotFound(p.client.Update(ctx, deployment))
}

func image(deployment *appsv1.Deployment) string {
	return deployment.Spec.Template.Spec.Containers[0].Image
}
