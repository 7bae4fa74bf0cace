package native

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

// Scale maps the fields of a kind to its scale subresource.
type Scale struct {
	// SpecReplicas returns the address of spec.replicas of obj.
	SpecReplicas func(obj runtime.Object) **int32
	// StatusReplicas returns status.replicas of obj.
	StatusReplicas func(obj runtime.Object) int32
	// Selector returns the label selector of the pods of obj.
	Selector func(obj runtime.Object) (string, error)
}

var deploymentScale = &Scale{
	SpecReplicas:   func(obj runtime.Object) **int32 { return &obj.(*appsv1.Deployment).Spec.Replicas },
	StatusReplicas: func(obj runtime.Object) int32 { return obj.(*appsv1.Deployment).Status.Replicas },
	Selector:       func(obj runtime.Object) (string, error) { return selector(obj.(*appsv1.Deployment).Spec.Selector) },
}

var statefulSetScale = &Scale{
	SpecReplicas:   func(obj runtime.Object) **int32 { return &obj.(*appsv1.StatefulSet).Spec.Replicas },
	StatusReplicas: func(obj runtime.Object) int32 { return obj.(*appsv1.StatefulSet).Status.Replicas },
	Selector:       func(obj runtime.Object) (string, error) { return selector(obj.(*appsv1.StatefulSet).Spec.Selector) },
}

var replicaSetScale = &Scale{
	SpecReplicas:   func(obj runtime.Object) **int32 { return &obj.(*appsv1.ReplicaSet).Spec.Replicas },
	StatusReplicas: func(obj runtime.Object) int32 { return obj.(*appsv1.ReplicaSet).Status.Replicas },
	Selector:       func(obj runtime.Object) (string, error) { return selector(obj.(*appsv1.ReplicaSet).Spec.Selector) },
}

var replicationControllerScale = &Scale{
	SpecReplicas:   func(obj runtime.Object) **int32 { return &obj.(*corev1.ReplicationController).Spec.Replicas },
	StatusReplicas: func(obj runtime.Object) int32 { return obj.(*corev1.ReplicationController).Status.Replicas },
	Selector: func(obj runtime.Object) (string, error) {
		return labels.SelectorFromSet(obj.(*corev1.ReplicationController).Spec.Selector).String(), nil
	},
}

func selector(s *metav1.LabelSelector) (string, error) {
	parsed, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return "", err
	}
	return parsed.String(), nil
}
