package node

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
)

const (
	// agentLabel is the label of a Node that an agent created. The taint of such a Node
	// has the same key: the agent runs no containers.
	agentLabel = "node.holdfast.dev/agent"
	// versionPrefix begins the version in the status of a Node that an agent wrote.
	versionPrefix = "holdfast-"

	// As in the kubelet: the Lease is renewed every leaseEvery, and the status of the
	// Node is updated every statusEvery.
	leaseEvery  = 10 * time.Second
	statusEvery = 5 * time.Minute
)

// nodeOwner says to which process a Node and its Lease belong.
type nodeOwner int32

const (
	// ownerUnknown means that the agent has not read the Node yet.
	ownerUnknown nodeOwner = iota
	// ownedHere means that the Node belongs to this agent.
	ownedHere
	// ownedElsewhere means that the Node belongs to a kubelet. The agent then writes
	// neither the Node nor its Lease, and deletes no pods.
	ownedElsewhere
)

func (a *Agent) nodeOwner() nodeOwner { return nodeOwner(a.ownership.Load()) }

// setOwner records the owner of the Node and logs each change.
func (a *Agent) setOwner(ctx context.Context, owner nodeOwner) {
	before := nodeOwner(a.ownership.Swap(int32(owner)))
	switch {
	case before == owner:
	case owner == ownedElsewhere:
		klog.FromContext(ctx).Info("the node belongs to a kubelet; the agent writes neither the Node nor its Lease, "+
			"and deletes no pods", "node", a.Name)
	default:
		klog.FromContext(ctx).Info("the node belongs to this agent", "node", a.Name)
	}
}

// withoutLog returns a context for reflectors, which would log every failed attempt.
// Connect reports once that the server cannot be reached, and logWatchError logs
// other errors.
func withoutLog(ctx context.Context) context.Context {
	return klog.NewContext(ctx, klog.Logger{})
}

// keepNode registers the Node and keeps its status and its Lease up to date, unless the
// Node belongs to a kubelet. It ends the agent if another agent of the same name was there first.
func (a *Agent) keepNode(ctx context.Context) {
	backoff := wait.Backoff{Duration: firstRetry, Factor: 2, Jitter: jitter, Steps: 10, Cap: leaseEvery}
	retry := backoff
	registration := &registration{
		agent:         a,
		nodeRejected:  a.newRejectionLog(ctx, "the node is not registered; will be tried again"),
		leaseRejected: a.newRejectionLog(ctx, "the lease of the node is not renewed; will be tried again"),
	}
	for {
		delay, err := registration.renew(ctx)
		switch {
		case isOtherAgent(err) && !registration.lease.held:
			a.fail(err)
			return
		case isOtherAgent(err):
		case err != nil:
			delay = retry.Step()
		default:
			retry = backoff
		}
		select {
		case <-ctx.Done():
			return
		case <-a.Clock.After(delay):
		}
	}
}

// registration keeps the Node and the Lease of an agent.
type registration struct {
	agent *Agent
	// nextStatus is when the Node has to be read and its status written again.
	nextStatus time.Time
	lease      nodeLease

	nodeRejected, leaseRejected *rejectionLog
}

// renew writes what is due and returns the time until something is due again. It logs
// its error, unless the agent ends with it.
func (r *registration) renew(ctx context.Context) (time.Duration, error) {
	a := r.agent
	ctx, cancel := context.WithTimeout(ctx, leaseEvery)
	defer cancel()
	if !a.Clock.Now().Before(r.nextStatus) {
		owner, err := r.register(ctx)
		if err != nil {
			r.nodeRejected.add(err)
			return 0, err
		}
		a.setOwner(ctx, owner)
		r.nextStatus = a.Clock.Now().Add(wait.Jitter(statusEvery, 0.1))
	}
	if a.nodeOwner() != ownedHere {
		return r.nextStatus.Sub(a.Clock.Now()), nil
	}
	delay, err := r.lease.renew(ctx, a)
	if r.lease.held || !isOtherAgent(err) {
		r.leaseRejected.add(err)
	}
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		// Another process wrote or deleted the Lease. Find out whether the Node exists and is still ours.
		r.nextStatus = time.Time{}
	}
	return wait.Jitter(delay, 0.04), err
}

// register creates the Node if it is missing, and sets the condition Ready, the
// capacity and the version of the agent in its status. It writes nothing if the Node
// belongs to a kubelet.
func (r *registration) register(ctx context.Context) (nodeOwner, error) {
	a := r.agent
	nodes := a.Client.CoreV1().Nodes()
	node, err := nodes.Get(ctx, a.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		node, err = nodes.Create(ctx, a.newNode(), metav1.CreateOptions{})
	}
	if err != nil {
		return ownerUnknown, fmt.Errorf("register node %s: %w", a.Name, err)
	}
	r.lease.node = node.UID
	if !isAgentNode(node) {
		return ownedElsewhere, nil
	}
	patch, err := a.nodeStatus(node)
	if err != nil {
		return ownerUnknown, err
	}
	if _, err := nodes.Patch(ctx, a.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
		return ownerUnknown, fmt.Errorf("status of node %s: %w", a.Name, err)
	}
	return ownedHere, nil
}

// newNode returns the Node of an agent. Schedulers place no pods on it, because the agent
// runs no containers. A node can set its taints only in this request.
func (a *Agent) newNode() *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: a.Name, Labels: map[string]string{
			corev1.LabelHostname: a.Name, corev1.LabelOSStable: runtime.GOOS, corev1.LabelArchStable: runtime.GOARCH,
			agentLabel: "true",
		}},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: agentLabel, Effect: corev1.TaintEffectNoSchedule}}},
	}
}

// isAgentNode reports whether an agent may write a Node. The version in its status is that of
// the process that wrote the status last; a kubelet sets it when it creates the Node. A Node
// without a version was created by an administrator, for example to set labels that a node may
// not set.
func isAgentNode(node *corev1.Node) bool {
	version := node.Status.NodeInfo.KubeletVersion
	return version == "" || strings.HasPrefix(version, versionPrefix)
}

// nodeStatus returns the patch for the status of the Node.
func (a *Agent) nodeStatus(node *corev1.Node) ([]byte, error) {
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
	return json.Marshal(map[string]any{
		// The server refuses the patch if a kubelet has written the Node since it was read.
		"metadata": map[string]any{"uid": node.UID, "resourceVersion": node.ResourceVersion},
		"status": map[string]any{
			"conditions":  []corev1.NodeCondition{ready},
			"capacity":    allocatable(),
			"allocatable": allocatable(),
			"nodeInfo": map[string]string{
				"operatingSystem": runtime.GOOS, "architecture": runtime.GOARCH, "kubeletVersion": versionPrefix + a.Version,
			},
		},
	})
}

// allocatable returns the resources of the host that are available to pods.
func allocatable() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(int64(runtime.NumCPU()), resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(totalMemory(), resource.BinarySI),
		corev1.ResourcePods:   *resource.NewQuantity(110, resource.DecimalSI),
	}
}
