package node_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/access/node"
)

// write is a write request and the error that the plugin is expected to return.
type write struct {
	operation   admission.Operation
	resource    schema.GroupVersionResource
	subresource string
	// newObj and old are YAML.
	newObj, old string
	// name is the name in the request, if it is not that of the object.
	name string
	// user is the node n1 if it is nil.
	user user.Info
	want string
}

var (
	podsResource   = corev1.SchemeGroupVersion.WithResource("pods")
	nodesResource  = corev1.SchemeGroupVersion.WithResource("nodes")
	saResource     = corev1.SchemeGroupVersion.WithResource("serviceaccounts")
	leasesResource = coordinationv1.SchemeGroupVersion.WithResource("leases")
	csrResource    = certificatesv1.SchemeGroupVersion.WithResource("certificatesigningrequests")

	claimsResource   = corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims")
	csiNodesResource = storagev1.SchemeGroupVersion.WithResource("csinodes")
	slicesResource   = resourcev1.SchemeGroupVersion.WithResource("resourceslices")
)

func newAdmission(t *testing.T) *node.Admission {
	t.Helper()
	store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	var items []*corev1.Pod
	decode(t, pods, &items)
	for _, pod := range items {
		if err := store.Add(pod); err != nil {
			t.Fatal(err)
		}
	}
	// late is on the server, but not yet in the lister.
	late := items[0].DeepCopy()
	late.Name, late.UID = "late", "late-uid"
	own := items[0].DeepCopy()
	own.Spec.NodeName = "n1"
	theirs := own.DeepCopy()
	theirs.Name, theirs.Spec.NodeName = "theirs", "n2"
	self := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", UID: "n1-uid"}}
	return node.NewAdmission(node.AdmissionConfig{
		Pods: corelisters.NewPodLister(store), Client: fake.NewClientset(late, own, theirs, self).CoreV1(),
		APIAudiences: authenticator.Audiences{"api"}, Relations: newRelations(t),
	})
}

func (w write) attributes(t *testing.T) admission.Attributes {
	t.Helper()
	parse := func(document string) runtime.Object {
		if document == "" {
			return nil
		}
		var obj runtime.Object
		switch {
		case w.subresource == "token":
			obj = &authenticationv1.TokenRequest{}
		case w.subresource == "eviction":
			obj = &policyv1.Eviction{}
		case w.resource == podsResource:
			obj = &corev1.Pod{}
		case w.resource == claimsResource:
			obj = &corev1.PersistentVolumeClaim{}
		case w.resource == csiNodesResource:
			obj = &storagev1.CSINode{}
		case w.resource == slicesResource:
			obj = &resourcev1.ResourceSlice{}
		case w.resource == nodesResource:
			obj = &corev1.Node{}
		case w.resource == leasesResource:
			obj = &coordinationv1.Lease{}
		default:
			obj = &certificatesv1.CertificateSigningRequest{}
		}
		decode(t, document, obj)
		return obj
	}
	newObj, oldObj := parse(w.newObj), parse(w.old)
	namespace, name := "", w.name
	for _, obj := range []runtime.Object{newObj, oldObj} {
		if accessor, ok := obj.(metav1.Object); ok && obj != nil {
			namespace = accessor.GetNamespace()
			if name == "" {
				name = accessor.GetName()
			}
		}
	}
	u := w.user
	if u == nil {
		u = userOf("n1")
	}
	return admission.NewAttributesRecord(newObj, oldObj, schema.GroupVersionKind{}, namespace, name,
		w.resource, w.subresource, w.operation, nil, false, u)
}

func TestAdmission(t *testing.T) {
	const (
		prefix     = `pods "web" is forbidden: node "n1" `
		onlyStatus = prefix + "may only write the status of pods, create mirror pods, and delete and evict pods"
		notOwn     = prefix + "can only write pods with spec.nodeName set to itself"
		metadata   = prefix + "may not change the metadata of a pod"
		ownPod     = `{metadata: {name: web, namespace: a, labels: {x: y}}, spec: {nodeName: n1}}`
		otherPod   = `{metadata: {name: web, namespace: a}, spec: {nodeName: n2}}`
		unboundPod = `{metadata: {name: web, namespace: a}}`

		notModify  = `nodes "n1" is forbidden: node "n1" is not allowed to modify `
		otherNode  = `nodes "n2" is forbidden: node "n1" is not allowed to modify node "n2"`
		restricted = `{metadata: {name: n1, labels: {node-restriction.kubernetes.io/a: b}}}`
		tainted    = `{metadata: {name: n1}, spec: {taints: [{key: k, effect: NoSchedule}]}}`

		ownLease   = `{metadata: {name: n1, namespace: kube-node-lease}}`
		otherLease = `{metadata: {name: n2, namespace: kube-node-lease}}`
		onlyLease  = ` is forbidden: node "n1" can only access the lease in namespace "kube-node-lease" with the same name`

		notItself = `node "n1" can only create pods with spec.nodeName set to itself`
		slice     = `resourceslices.resource.k8s.io "s" is forbidden: `
		ownNode   = `{apiVersion: v1, kind: Node, name: n1, uid: n1-uid, controller: true}`
		cannot    = `node "n1" can not create pods that reference `
		oneOwner  = `node "n1" can only create pods with a single owner reference set to itself`

		kubelet = certificatesv1.KubeAPIServerClientKubeletSignerName
		noCSR   = `certificatesigningrequests.certificates.k8s.io "csr" is forbidden: node "n1" may only `
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
	createNode := func(newObj, want string) write {
		return write{operation: create, resource: nodesResource, newObj: newObj, want: want}
	}
	updateNode := func(subresource, old, newObj, want string) write {
		return write{operation: update, resource: nodesResource, subresource: subresource, old: old, newObj: newObj, want: want}
	}
	updateLease := func(old, newObj, want string) write {
		return write{operation: update, resource: leasesResource, old: old, newObj: newObj, want: want}
	}
	tokenFor := func(spec, want string) write {
		if want != "" {
			want = `serviceaccounts "robot" is forbidden: ` + want
		}
		return write{
			operation: create, resource: saResource, subresource: "token", name: "robot",
			newObj: `{metadata: {namespace: a}, spec: ` + spec + `}`, want: want,
		}
	}
	const boundToWeb = `boundObjectRef: {apiVersion: v1, kind: Pod, name: web, uid: web-uid}`
	tokenOfOtherNode := tokenFor(`{audiences: [api], `+boundToWeb+`}`, "node requested token bound to a pod scheduled on a different node")
	tokenOfOtherNode.user = userOf("n2")
	tokenOfOtherAccount := tokenFor(`{audiences: [api], `+boundToWeb+`}`, "")
	tokenOfOtherAccount.name = "theirs"
	tokenOfOtherAccount.want = `serviceaccounts "theirs" is forbidden: node requested token for another service account than the pod's`

	tests := map[string]write{
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

		"token for its pod": tokenFor(`{audiences: [api], `+boundToWeb+`}`, ""),
		"token for a pod that the lister does not have": tokenFor(
			`{boundObjectRef: {apiVersion: v1, kind: Pod, name: late, uid: late-uid}}`, ""),
		"token for the audience of a volume": tokenFor(`{audiences: [vault], `+boundToWeb+`}`, ""),
		"token for the audience of a driver": tokenFor(`{audiences: [storage], `+boundToWeb+`}`, ""),
		"token for an audience of no volume": tokenFor(`{audiences: [vault, bank], `+boundToWeb+`}`,
			`audience "bank" not found in pod spec volume`),
		"token that is not bound": tokenFor(`{}`, "node requested token not bound to a pod"),
		"token bound to a secret": tokenFor(`{boundObjectRef: {apiVersion: v1, kind: Secret, name: web, uid: x}}`,
			"node requested token not bound to a pod"),
		"token bound to a pod without UID": tokenFor(`{boundObjectRef: {apiVersion: v1, kind: Pod, name: web}}`,
			"node requested token with a pod binding without a uid"),
		"token bound to a deleted pod": tokenFor(`{boundObjectRef: {apiVersion: v1, kind: Pod, name: web, uid: old}}`,
			"node requested token bound to a pod that does not exist"),
		"token for another node's pod": tokenOfOtherNode,
		"token for another account":    tokenOfOtherAccount,

		"certificate for itself": {operation: create, resource: csrResource, newObj: csr(t, "system:node:n1", kubelet)},
		"serving certificate": {
			operation: create, resource: csrResource, newObj: csr(t, "system:node:n1", certificatesv1.KubeletServingSignerName),
		},
		"certificate for another node": {
			operation: create, resource: csrResource, newObj: csr(t, "system:node:n2", kubelet),
			want: noCSR + `ask for a certificate of its own name`,
		},
		"certificate from another signer": {
			operation: create, resource: csrResource, newObj: csr(t, "ann", certificatesv1.KubeAPIServerClientSignerName),
			want: noCSR + `ask the signers kubernetes.io/kube-apiserver-client-kubelet and kubernetes.io/kubelet-serving`,
		},
		"approve a certificate": {
			operation: update, resource: csrResource, subresource: "approval", newObj: csr(t, "system:node:n1", kubelet),
			want: noCSR + `create certificate signing requests`,
		},

		"user in system:nodes without the name of a node": {
			operation: remove, resource: podsResource, old: unboundPod,
			user: &user.DefaultInfo{Name: "ann", Groups: []string{user.NodesGroup}},
			want: `pods "web" is forbidden: user "ann" cannot be identified as a node`,
		},
		"user that is not a node": {
			operation: create, resource: podsResource, newObj: otherPod, user: &user.DefaultInfo{Name: "ann"},
		},
	}
	plugin := newAdmission(t)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := plugin.Validate(t.Context(), test.attributes(t), nil)
			got := ""
			if err != nil {
				got = err.Error()
				if !apierrors.IsForbidden(err) {
					t.Errorf("%T is not a Forbidden error", err)
				}
			}
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// csr returns a CertificateSigningRequest for the user name, in YAML.
func csr(t *testing.T, name, signer string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: name, Organization: []string{user.NodesGroup}},
	}, key)
	if err != nil {
		t.Fatal(err)
	}
	obj := certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: "csr"}}
	obj.Spec.SignerName = signer
	obj.Spec.Request = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
	return encode(t, obj)
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
