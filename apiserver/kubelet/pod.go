package kubelet

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/registry/rest"
)

// getPod reads a pod from its store.
func getPod(ctx context.Context, pods rest.Getter, name string) (*corev1.Pod, error) {
	obj, err := pods.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return nil, fmt.Errorf("unexpected object %T", obj)
	}
	return pod, nil
}

// chooseContainer returns the container that a request means, with the rules and messages of
// Kubernetes: the named one, or the only one of the pod.
func chooseContainer(pod *corev1.Pod, named string) (string, error) {
	containers, init, ephemeral := containerNames(pod)
	if named == "" {
		switch len(containers) {
		case 1:
			return containers[0], nil
		case 0:
			return "", apierrors.NewBadRequest(fmt.Sprintf("a container name must be specified for pod %s", pod.Name))
		}
		message := fmt.Sprintf("a container name must be specified for pod %s, choose one of: [%s]", pod.Name, strings.Join(containers, " "))
		if len(init) > 0 {
			message += fmt.Sprintf(" or one of the init containers: [%s]", strings.Join(init, " "))
		}
		if len(ephemeral) > 0 {
			message += fmt.Sprintf(" or one of the ephemeral containers: [%s]", strings.Join(ephemeral, " "))
		}
		return "", apierrors.NewBadRequest(message)
	}
	for _, names := range [][]string{containers, init, ephemeral} {
		for _, name := range names {
			if name == named {
				return named, nil
			}
		}
	}
	return "", apierrors.NewBadRequest(fmt.Sprintf("container %s is not valid for pod %s", named, pod.Name))
}

func containerNames(pod *corev1.Pod) (containers, init, ephemeral []string) {
	for i := range pod.Spec.Containers {
		containers = append(containers, pod.Spec.Containers[i].Name)
	}
	for i := range pod.Spec.InitContainers {
		init = append(init, pod.Spec.InitContainers[i].Name)
	}
	for i := range pod.Spec.EphemeralContainers {
		ephemeral = append(ephemeral, pod.Spec.EphemeralContainers[i].Name)
	}
	return containers, init, ephemeral
}
