package token

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// bind sets the object in holder that the token is bound to. The object must exist
// and have the UID in ref, if ref has one. A pod must use the holder's service
// account.
func (r *Requests) bind(ctx context.Context, holder *Holder, ref authenticationv1.BoundObjectReference) error {
	gvk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	switch gvk {
	case corev1.SchemeGroupVersion.WithKind("Pod"):
		pod, err := r.Objects.Client.Pods(holder.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if pod.Spec.ServiceAccountName != holder.ServiceAccount.Name {
			const format = "cannot bind token for serviceaccount %q to pod running with different serviceaccount name."
			return apierrors.NewBadRequest(fmt.Sprintf(format, holder.ServiceAccount.Name))
		}
		holder.Pod = &Ref{Name: pod.Name, UID: pod.UID}
		if err := r.setNode(ctx, holder, pod); err != nil {
			return err
		}
		return checkUID(gvk, ref, *holder.Pod)
	case corev1.SchemeGroupVersion.WithKind("Secret"):
		secret, err := r.Objects.Client.Secrets(holder.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		holder.Secret = &Ref{Name: secret.Name, UID: secret.UID}
		return checkUID(gvk, ref, *holder.Secret)
	case corev1.SchemeGroupVersion.WithKind("Node"):
		node, err := r.Objects.Client.Nodes().Get(ctx, ref.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		holder.Node = &Ref{Name: node.Name, UID: node.UID}
		return checkUID(gvk, ref, *holder.Node)
	}
	return apierrors.NewBadRequest(fmt.Sprintf("cannot bind token to object of type %s", gvk))
}

// setNode sets the node of the pod in holder, if the pod is bound to one. Without a
// Node object of that name, the UID stays empty.
func (r *Requests) setNode(ctx context.Context, holder *Holder, pod *corev1.Pod) error {
	if pod.Spec.NodeName == "" {
		return nil
	}
	holder.Node = &Ref{Name: pod.Spec.NodeName}
	node, err := r.Objects.Client.Nodes().Get(ctx, pod.Spec.NodeName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	holder.Node.UID = node.UID
	return nil
}

func checkUID(gvk schema.GroupVersionKind, requested authenticationv1.BoundObjectReference, found Ref) error {
	if requested.UID == "" || requested.UID == found.UID {
		return nil
	}
	return apierrors.NewConflict(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, requested.Name, fmt.Errorf(
		"the UID in the bound object reference (%s) does not match the UID in record. "+
			"The object might have been deleted and then recreated", requested.UID))
}
