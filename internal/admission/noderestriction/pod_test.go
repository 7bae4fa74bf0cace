package noderestriction_test

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/admission"
)

// TestAdmissionOfPods checks which pods a node may create, change and delete.
func TestAdmissionOfPods(t *testing.T) {
	const (
		prefix     = `pods "web" is forbidden: node "n1" `
		onlyStatus = prefix + "may only write the status of pods, create mirror pods, and delete and evict pods"
		notOwn     = prefix + "can only write pods with spec.nodeName set to itself"
		metadata   = prefix + "may not change the metadata of a pod"
		ownPod     = `{metadata: {name: web, namespace: a, labels: {x: y}}, spec: {nodeName: n1}}`
		otherPod   = `{metadata: {name: web, namespace: a}, spec: {nodeName: n2}}`
		unboundPod = `{metadata: {name: web, namespace: a}}`

		notItself = `node "n1" can only create pods with spec.nodeName set to itself`
		ownNode   = `{apiVersion: v1, kind: Node, name: n1, uid: n1-uid, controller: true}`
		cannot    = `node "n1" can not create pods that reference `
		oneOwner  = `node "n1" can only create pods with a single owner reference set to itself`
	)
	create, update, remove := admission.Create, admission.Update, admission.Delete
	mirror := func(spec, owner, want string) write {
		if want != "" {
			want = `pods "web" is forbidden: ` + want
		}
		return write{operation: create, resource: podsResource, want: want, newObj: `{metadata: {name: web, namespace: a, ` +
			`annotations: {kubernetes.io/config.mirror: x}, ownerReferences: [` + owner + `]}, spec: {` + spec + `}}`}
	}
	podStatus := func(old, newObj, want string) write {
		return write{operation: update, resource: podsResource, subresource: "status", old: old, newObj: newObj, want: want}
	}
	validate(t, map[string]write{
		"create a pod": {
			operation: create, resource: podsResource, newObj: ownPod,
			want: `pods "web" is forbidden: pod does not have "kubernetes.io/config.mirror" annotation, ` +
				`node "n1" can only create mirror pods`,
		},
		"create a mirror pod":                 mirror(`nodeName: n1`, ownNode, ""),
		"create a mirror pod on another node": mirror(`nodeName: n2`, ownNode, notItself),
		"create a mirror pod with a secret":   mirror(`nodeName: n1, imagePullSecrets: [{name: s}]`, ownNode, cannot+"secrets"),
		"create a mirror pod with an account": mirror(`nodeName: n1, serviceAccountName: robot`, ownNode, cannot+"serviceaccounts"),
		"create a mirror pod with a claim": mirror(
			`nodeName: n1, volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]`, ownNode, cannot+"persistentvolumeclaims"),
		"create a mirror pod without owner":    mirror(`nodeName: n1`, "", oneOwner),
		"create a mirror pod of another owner": mirror(`nodeName: n1`, strings.Replace(ownNode, "n1,", "n2,", 1), oneOwner),
		"create a mirror pod of another UID": mirror(
			`nodeName: n1`, strings.Replace(ownNode, "n1-uid", "x", 1), `node "n1" has another UID than the owner reference`),
		"create a mirror pod that blocks deletes": mirror(
			`nodeName: n1`, strings.Replace(ownNode, "controller", "blockOwnerDeletion: true, controller", 1),
			`node "n1" must not set blockOwnerDeletion on an owner reference`),

		"evict its pod": {
			operation: create, resource: podsResource, subresource: "eviction", newObj: `{metadata: {name: web, namespace: a}}`,
		},
		"evict another node's pod": {
			operation: create, resource: podsResource, subresource: "eviction", newObj: `{metadata: {name: theirs, namespace: a}}`,
			want: `pods "theirs" is forbidden: node "n1" can only write pods with spec.nodeName set to itself`,
		},
		"update the claims of its pod": podStatus(ownPod,
			`{metadata: {name: web, namespace: a, labels: {x: y}}, spec: {nodeName: n1}, status: {resourceClaimStatuses: [{name: a}]}}`,
			prefix+"cannot update resource claim statuses"),
		"update a pod": {operation: update, resource: podsResource, newObj: ownPod, old: ownPod, want: onlyStatus},
		"bind a pod":   {operation: create, resource: podsResource, subresource: "binding", newObj: ownPod, want: onlyStatus},
		"update the status of its pod": podStatus(ownPod,
			`{metadata: {name: web, namespace: a, labels: {x: y}}, spec: {nodeName: n1}, status: {phase: Running}}`, ""),
		"update the status of another node's pod":      podStatus(otherPod, otherPod, notOwn),
		"update the status and move the pod to itself": podStatus(otherPod, ownPod, notOwn),
		"update the status and bind the pod to itself": podStatus(unboundPod, ownPod, notOwn),
		"update the status and change a label": podStatus(ownPod,
			`{metadata: {name: web, namespace: a, labels: {x: z}}, spec: {nodeName: n1}}`, metadata),
		"update the status and add an annotation": podStatus(ownPod,
			`{metadata: {name: web, namespace: a, labels: {x: y}, annotations: {a: b}}, spec: {nodeName: n1}}`, metadata),
		"update the status and add a finalizer": podStatus(ownPod,
			`{metadata: {name: web, namespace: a, labels: {x: y}, finalizers: [a/b]}, spec: {nodeName: n1}}`, metadata),
		"update the status and add an owner": podStatus(ownPod,
			`{metadata: {name: web, namespace: a, labels: {x: y}, ownerReferences: [{name: o}]}, spec: {nodeName: n1}}`, metadata),
		"delete its pod":                          {operation: remove, resource: podsResource, old: ownPod},
		"delete another node's pod":               {operation: remove, resource: podsResource, old: otherPod, want: notOwn},
		"delete a pod that is not in the request": {operation: remove, resource: podsResource, name: "web", want: notOwn},
	})
}

// TestAdmitRefusesMetadataInStatus checks that Admit, not only Validate, refuses an
// update of the status that changes metadata. The registry drops some of these changes
// before it calls Validate.
func TestAdmitRefusesMetadataInStatus(t *testing.T) {
	plugin := newAdmission(t)
	labelled := write{
		operation: admission.Update, resource: podsResource, subresource: "status",
		old:    `{metadata: {name: web, namespace: a, resourceVersion: "2"}, spec: {nodeName: n1}}`,
		newObj: `{metadata: {name: web, namespace: a, resourceVersion: "2", labels: {x: y}}, spec: {nodeName: n1}}`,
	}
	if err := plugin.Admit(t.Context(), labelled.attributes(t), nil); !apierrors.IsForbidden(err) {
		t.Errorf("label added: %v", err)
	}
	labelled.newObj = `{metadata: {name: web, namespace: a, resourceVersion: "1", labels: {x: y}}, spec: {nodeName: n1}}`
	if err := plugin.Admit(t.Context(), labelled.attributes(t), nil); err != nil {
		t.Errorf("outdated resourceVersion, left to the registry: %v", err)
	}
	labelled.newObj = `{metadata: {name: web, namespace: a, resourceVersion: "02", labels: {x: y}}, spec: {nodeName: n1}}`
	if err := plugin.Admit(t.Context(), labelled.attributes(t), nil); !apierrors.IsForbidden(err) {
		t.Errorf("label added, same resourceVersion with a leading zero: %v", err)
	}
	creation := write{operation: admission.Create, resource: podsResource, newObj: `{metadata: {name: web, namespace: a}}`}
	if err := plugin.Admit(t.Context(), creation.attributes(t), nil); err != nil {
		t.Errorf("not a status, left to Validate: %v", err)
	}
}
