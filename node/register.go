package node

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/component-helpers/apimachinery/lease"
	"k8s.io/klog/v2"
)

const (
	// As in the kubelet: a lease is valid for leaseSeconds and is renewed every
	// leaseEvery; the status of the Node is updated every statusEvery.
	leaseSeconds = 40
	leaseEvery   = 10 * time.Second
	statusEvery  = 5 * time.Minute
)

// keepLease renews the Lease of the node, which tells the server that the agent is
// alive.
func (a *Agent) keepLease(ctx context.Context) {
	rejected := a.newRejectionLog(ctx, "the lease of the node is not renewed; will be tried again")
	controller := lease.NewController(a.Clock, a.Client, a.Name, leaseSeconds, nil, leaseEvery, a.Name, corev1.NamespaceNodeLease, nil)
	controller.Run(rejected.context(ctx))
}

// withoutLog returns a context for reflectors, which would log every failed attempt.
// Connect reports once that the server cannot be reached, and logWatchError logs
// other errors.
func withoutLog(ctx context.Context) context.Context {
	return klog.NewContext(ctx, klog.Logger{})
}

// keepNode registers the node and keeps its status up to date.
func (a *Agent) keepNode(ctx context.Context) {
	backoff := wait.Backoff{Duration: firstRetry, Factor: 2, Jitter: jitter, Steps: 10, Cap: lastRetry}
	retry := backoff
	rejected := a.newRejectionLog(ctx, "the node is not registered; will be tried again")
	for {
		delay := wait.Jitter(statusEvery, 0.1)
		if err := a.register(ctx); err != nil {
			rejected.add(err)
			delay = retry.Step()
		} else {
			retry = backoff
		}
		select {
		case <-ctx.Done():
			return
		case <-a.Clock.After(delay):
		}
	}
}

// register creates the Node if it is missing, and sets the condition Ready, the
// capacity and the version of the agent in its status.
func (a *Agent) register(ctx context.Context) error {
	nodes := a.Client.CoreV1().Nodes()
	node, err := nodes.Get(ctx, a.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		node, err = nodes.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: a.Name, Labels: map[string]string{
			corev1.LabelHostname: a.Name, corev1.LabelOSStable: runtime.GOOS, corev1.LabelArchStable: runtime.GOARCH,
		}}}, metav1.CreateOptions{})
	}
	if err != nil {
		return fmt.Errorf("register node %s: %w", a.Name, err)
	}
	now := metav1.NewTime(a.Clock.Now())
	ready := corev1.NodeCondition{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue,
		Reason: "AgentReady", Message: "holdfast keeps volumes here; it runs no containers",
		LastHeartbeatTime: now, LastTransitionTime: now,
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == ready.Type && condition.Status == ready.Status {
			ready.LastTransitionTime = condition.LastTransitionTime
		}
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{
		"conditions":  []corev1.NodeCondition{ready},
		"capacity":    allocatable(),
		"allocatable": allocatable(),
		"nodeInfo": map[string]string{
			"operatingSystem": runtime.GOOS, "architecture": runtime.GOARCH, "kubeletVersion": "holdfast-" + a.Version,
		},
	}})
	if err != nil {
		return err
	}
	_, err = nodes.Patch(ctx, a.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		return fmt.Errorf("status of node %s: %w", a.Name, err)
	}
	return nil
}

// allocatable returns the resources of the host that are available to pods.
func allocatable() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(int64(runtime.NumCPU()), resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(totalMemory(), resource.BinarySI),
		corev1.ResourcePods:   *resource.NewQuantity(110, resource.DecimalSI),
	}
}
