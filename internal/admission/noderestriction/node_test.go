package noderestriction_test

import (
	"testing"

	"k8s.io/apiserver/pkg/admission"
)

// TestAdmissionOfNodes checks how a node may write its Node and its Lease.
func TestAdmissionOfNodes(t *testing.T) {
	const (
		notModify  = `nodes "n1" is forbidden: node "n1" is not allowed to modify `
		otherNode  = `nodes "n2" is forbidden: node "n1" is not allowed to modify node "n2"`
		restricted = `{metadata: {name: n1, labels: {node-restriction.kubernetes.io/a: b}}}`
		tainted    = `{metadata: {name: n1}, spec: {taints: [{key: k, effect: NoSchedule}]}}`

		ownLease   = `{metadata: {name: n1, namespace: kube-node-lease}}`
		otherLease = `{metadata: {name: n2, namespace: kube-node-lease}}`
		onlyLease  = ` is forbidden: node "n1" can only access the lease in namespace "kube-node-lease" with the same name`
		ownNode    = `{apiVersion: v1, kind: Node, name: n1, uid: n1-uid, controller: true}`
	)
	create, update := admission.Create, admission.Update
	createNode := func(newObj, want string) write {
		return write{operation: create, resource: nodesResource, newObj: newObj, want: want}
	}
	updateNode := func(subresource, old, newObj, want string) write {
		return write{operation: update, resource: nodesResource, subresource: subresource, old: old, newObj: newObj, want: want}
	}
	updateLease := func(old, newObj, want string) write {
		return write{operation: update, resource: leasesResource, old: old, newObj: newObj, want: want}
	}
	validate(t, map[string]write{
		"register itself": createNode(
			`{metadata: {name: n1, labels: {kubernetes.io/hostname: n1, my: label, node.kubernetes.io/x: y}}}`, ""),
		"register another node": createNode(`{metadata: {name: n2}}`, otherNode),
		"register with protected labels": createNode(
			`{metadata: {name: n1, labels: {node-restriction.kubernetes.io/a: b, x.node-restriction.kubernetes.io/a: b, `+
				`node-role.kubernetes.io/control: ""}}}`,
			notModify+`labels: node-restriction.kubernetes.io/a, node-role.kubernetes.io/control, x.node-restriction.kubernetes.io/a`),
		"register with a taint":  createNode(tainted, ""),
		"add a taint":            updateNode("", `{metadata: {name: n1}}`, tainted, notModify+`taints`),
		"register with an owner": createNode(`{metadata: {name: n1, ownerReferences: [{name: o}]}}`, notModify+`owner references`),
		"update its node":        updateNode("", `{metadata: {name: n1}}`, `{metadata: {name: n1, labels: {my: label}}}`, ""),
		"update another node":    updateNode("", `{metadata: {name: n2}}`, `{metadata: {name: n2}}`, otherNode),
		"keep a protected label": updateNode("status",
			`{metadata: {name: n1, labels: {node-restriction.kubernetes.io/a: b}}, spec: {taints: [{key: k, effect: NoSchedule}]}}`,
			restricted, ""),
		"remove a protected label": updateNode("", restricted, `{metadata: {name: n1}}`,
			notModify+`labels: node-restriction.kubernetes.io/a`),
		"add a protected label with the status": updateNode("status", `{metadata: {name: n1}}`, restricted,
			notModify+`labels: node-restriction.kubernetes.io/a`),
		"remove a taint": updateNode("", tainted, `{metadata: {name: n1}}`, notModify+`taints`),
		"use another subresource of its node": {
			operation: update, resource: nodesResource, subresource: "proxy", name: "n1",
			want: `nodes "n1" is forbidden: node "n1" may not use the subresource proxy of nodes`,
		},

		"create its lease": {operation: create, resource: leasesResource, newObj: ownLease},
		"renew its lease":  updateLease(ownLease, ownLease, ""),
		"own its lease": updateLease(ownLease,
			`{metadata: {name: n1, namespace: kube-node-lease, ownerReferences: [`+ownNode+`]}}`, ""),
		"add an owner to its lease": updateLease(ownLease,
			`{metadata: {name: n1, namespace: kube-node-lease, ownerReferences: [{name: o}]}}`,
			`leases.coordination.k8s.io "n1" is forbidden: node "n1" is not allowed to modify owner references`),
		"update another node's lease": updateLease(otherLease, otherLease, `leases.coordination.k8s.io "n2"`+onlyLease),
		"create a lease in another namespace": {
			operation: create, resource: leasesResource, newObj: `{metadata: {name: n1, namespace: kube-system}}`,
			want: `leases.coordination.k8s.io "n1"` + onlyLease,
		},
	})
}

// TestAdmissionOfVolumesAndDevices checks how a node may write its CSINode, the claims of its
// pods and its ResourceSlices.
func TestAdmissionOfVolumesAndDevices(t *testing.T) {
	const (
		slice = `resourceslices.resource.k8s.io "s" is forbidden: `
	)
	create, update, remove := admission.Create, admission.Update, admission.Delete
	validate(t, map[string]write{
		"create its CSINode": {operation: create, resource: csiNodesResource, newObj: `{metadata: {name: n1}}`},
		"create another CSINode": {
			operation: create, resource: csiNodesResource, newObj: `{metadata: {name: n2}}`,
			want: `csinodes.storage.k8s.io "n2" is forbidden: node "n1" can only access the CSINode with the same name`,
		},
		"grow a claim": {
			operation: update, resource: claimsResource, subresource: "status", old: `{metadata: {name: data, namespace: a}}`,
			newObj: `{metadata: {name: data, namespace: a}, status: {capacity: {storage: 2Gi}}}`,
		},
		"label a claim": {
			operation: update, resource: claimsResource, subresource: "status", old: `{metadata: {name: data, namespace: a}}`,
			newObj: `{metadata: {name: data, namespace: a, labels: {a: b}}}`,
			want: `persistentvolumeclaims "data" is forbidden: node "n1" is not allowed to update fields other than ` +
				`the capacity and the conditions of a claim`,
		},
		"create its slice": {operation: create, resource: slicesResource, newObj: `{metadata: {name: s}, spec: {nodeName: n1}}`},
		"create another node's slice": {
			operation: create, resource: slicesResource, newObj: `{metadata: {name: s}, spec: {nodeName: n2}}`,
			want: slice + `can only create ResourceSlice with the same NodeName as the requesting node`,
		},
		"delete another node's slice": {
			operation: remove, resource: slicesResource, old: `{metadata: {name: s}, spec: {nodeName: n2}}`,
			want: slice + `can only delete ResourceSlice with the same NodeName as the requesting node`,
		},
	})
}
