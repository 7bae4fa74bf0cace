package lifecycle

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// orphanQuarantine is how long a node must not exist before its pods are deleted, as in Kubernetes' pod
// garbage collector.
const orphanQuarantine = 40 * time.Second

// podsByNode is the name of the index of pods by their node.
const podsByNode = "node"

// watchNodes keeps the nodes, and enqueues the pods of a node that is deleted.
func (p *pods) watchNodes(
	factory informers.SharedInformerFactory, pods cache.SharedIndexInformer, enqueue func(cache.ObjectName),
) error {
	err := pods.AddIndexers(cache.Indexers{podsByNode: func(obj any) ([]string, error) {
		if pod, ok := obj.(*corev1.Pod); ok && pod.Spec.NodeName != "" {
			return []string{pod.Spec.NodeName}, nil
		}
		return nil, nil
	}})
	if err != nil {
		return err
	}
	nodes := factory.Core().V1().Nodes().Informer()
	if err := nodes.SetTransform(shrinkNode); err != nil {
		return err
	}
	p.existing = nodes.GetStore()
	_, err = nodes.AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: func(obj any) {
		node, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj)
		if err != nil {
			return
		}
		bound, err := pods.GetIndexer().ByIndex(podsByNode, node)
		if err != nil {
			return
		}
		for _, obj := range bound {
			if pod, ok := obj.(*corev1.Pod); ok {
				enqueue(cache.MetaObjectToName(pod))
			}
		}
	}})
	return err
}

// shrinkNode copies the metadata of a node.
func shrinkNode(obj any) (any, error) {
	node, ok := obj.(*corev1.Node)
	if !ok {
		return obj, nil
	}
	return &corev1.Node{ObjectMeta: shrinkMeta(node.ObjectMeta)}, nil
}

// isOrphan reports whether a pod that is not being deleted is bound to a node that does not exist, as far
// as the controller has seen.
func (p *pods) isOrphan(pod *corev1.Pod) bool {
	if pod.Spec.NodeName == "" || pod.DeletionTimestamp != nil {
		return false
	}
	_, exists, err := p.existing.GetByKey(pod.Spec.NodeName)
	return err == nil && !exists
}

// collect deletes an orphan when its node has not existed for the quarantine. The node may have been created
// a moment ago, so the controller asks the API before. As in Kubernetes, the pod has failed before it is
// deleted, so that the controller of its Job or ReplicaSet sees why.
func (p *pods) collect(ctx context.Context, name cache.ObjectName, pod *corev1.Pod) (time.Duration, error) {
	age := p.orphans.age(name.String(), string(pod.UID)+"/"+pod.Spec.NodeName)
	if left := p.quarantine - age; left > 0 {
		return left, nil
	}
	_, err := p.nodes.Get(ctx, pod.Spec.NodeName, metav1.GetOptions{})
	if err == nil {
		// The informer has not seen the node yet. If the node is deleted before it does, no event says so: look again.
		p.orphans.forget(name.String())
		return p.quarantine, nil
	}
	if !apierrors.IsNotFound(err) {
		return 0, fmt.Errorf("read node %s: %w", pod.Spec.NodeName, err)
	}
	if err := p.fail(ctx, pod); err != nil {
		return 0, err
	}
	if err := p.remove(ctx, pod); err != nil {
		return 0, err
	}
	p.orphans.forget(name.String())
	return 0, nil
}

// fail sets the phase and the condition of an orphan, with the words of Kubernetes.
func (p *pods) fail(ctx context.Context, pod *corev1.Pod) error {
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return nil
	}
	patch, err := json.Marshal(map[string]any{
		// Another pod of the same name has another UID, and the server answers 409.
		"metadata": map[string]any{"uid": pod.UID},
		"status": map[string]any{
			"phase": corev1.PodFailed,
			"conditions": []corev1.PodCondition{{
				Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now(),
				Reason: "DeletionByPodGC", Message: "PodGC: node no longer exists",
			}},
		},
	})
	if err != nil {
		return err
	}
	_, err = p.typed.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	return ignoreReplaced("fail pod", err)
}
