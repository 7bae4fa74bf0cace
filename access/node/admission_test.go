package node_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
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

// write is one request to change something; old and new are YAML.
type write struct {
	operation    admission.Operation
	resource     schema.GroupVersionResource
	subresource  string
	newObj, old  string
	name, want   string
	replaceAgent user.Info
}

var (
	podsResource   = corev1.SchemeGroupVersion.WithResource("pods")
	nodesResource  = corev1.SchemeGroupVersion.WithResource("nodes")
	saResource     = corev1.SchemeGroupVersion.WithResource("serviceaccounts")
	leasesResource = coordinationv1.SchemeGroupVersion.WithResource("leases")
	csrResource    = certificatesv1.SchemeGroupVersion.WithResource("certificatesigningrequests")
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
	// A pod that the lister has not seen yet.
	late := items[0].DeepCopy()
	late.Name, late.UID = "late", "late-uid"
	return node.NewAdmission(corelisters.NewPodLister(store), fake.NewClientset(late).CoreV1(), authenticator.Audiences{"api"})
}

func (w write) attributes(t *testing.T) admission.Attributes {
	t.Helper()
	make := func(document string) runtime.Object {
		if document == "" {
			return nil
		}
		var obj runtime.Object
		switch {
		case w.subresource == "token":
			obj = &authenticationv1.TokenRequest{}
		case w.resource == podsResource:
			obj = &corev1.Pod{}
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
	newObj, oldObj := make(w.newObj), make(w.old)
	namespace, name := "", w.name
	for _, obj := range []runtime.Object{newObj, oldObj} {
		if accessor, ok := obj.(metav1.Object); ok && obj != nil {
			namespace = accessor.GetNamespace()
			if name == "" {
				name = accessor.GetName()
			}
		}
	}
	agent := w.replaceAgent
	if agent == nil {
		agent = userOf("n1")
	}
	return admission.NewAttributesRecord(newObj, oldObj, schema.GroupVersionKind{}, namespace, name, w.resource, w.subresource, w.operation, nil, false, agent)
}

func TestAdmission(t *testing.T) {
	create, update, remove := admission.Create, admission.Update, admission.Delete
	const onlyStatus = `pods "web" is forbidden: node "n1" may only write the status of pods, and delete them`
	const notOwn = `pods "web" is forbidden: node "n1" can only write pods with spec.nodeName set to itself`
	const metadata = `pods "web" is forbidden: node "n1" may not change the metadata of a pod`
	const mine = `{metadata: {name: web, namespace: a, labels: {x: y}}, spec: {nodeName: n1}}`
	const theirs = `{metadata: {name: web, namespace: a}, spec: {nodeName: n2}}`
	const token = `{metadata: {namespace: a}, spec: {audiences: [api], boundObjectRef: {apiVersion: v1, kind: Pod, name: web, uid: web-uid}}}`
	tests := map[string]write{
		"pod created":               {operation: create, resource: podsResource, newObj: mine, want: onlyStatus},
		"pod changed":               {operation: update, resource: podsResource, newObj: mine, old: mine, want: onlyStatus},
		"pod bound":                 {operation: create, resource: podsResource, subresource: "binding", newObj: mine, want: onlyStatus},
		"status of its pod":         {operation: update, resource: podsResource, subresource: "status", old: mine, newObj: `{metadata: {name: web, namespace: a, labels: {x: y}}, spec: {nodeName: n1}, status: {phase: Running}}`},
		"status of another's":       {operation: update, resource: podsResource, subresource: "status", old: theirs, newObj: theirs, want: notOwn},
		"status that takes a pod":   {operation: update, resource: podsResource, subresource: "status", old: theirs, newObj: mine, want: notOwn},
		"status of an unbound pod":  {operation: update, resource: podsResource, subresource: "status", old: `{metadata: {name: web, namespace: a}}`, newObj: mine, want: notOwn},
		"status with a label":       {operation: update, resource: podsResource, subresource: "status", old: mine, newObj: `{metadata: {name: web, namespace: a, labels: {x: z}}, spec: {nodeName: n1}}`, want: metadata},
		"status with an annotation": {operation: update, resource: podsResource, subresource: "status", old: mine, newObj: `{metadata: {name: web, namespace: a, labels: {x: y}, annotations: {a: b}}, spec: {nodeName: n1}}`, want: metadata},
		"status with a finalizer":   {operation: update, resource: podsResource, subresource: "status", old: mine, newObj: `{metadata: {name: web, namespace: a, labels: {x: y}, finalizers: [a/b]}, spec: {nodeName: n1}}`, want: metadata},
		"status with an owner":      {operation: update, resource: podsResource, subresource: "status", old: mine, newObj: `{metadata: {name: web, namespace: a, labels: {x: y}, ownerReferences: [{name: o}]}, spec: {nodeName: n1}}`, want: metadata},
		"its pod deleted":           {operation: remove, resource: podsResource, old: mine},
		"another's pod deleted":     {operation: remove, resource: podsResource, old: theirs, want: notOwn},
		"pod deleted unseen":        {operation: remove, resource: podsResource, name: "web", want: notOwn},

		"registers":                 {operation: create, resource: nodesResource, newObj: `{metadata: {name: n1, labels: {kubernetes.io/hostname: n1, my: label, node.kubernetes.io/x: y}}}`},
		"registers another":         {operation: create, resource: nodesResource, newObj: `{metadata: {name: n2}}`, want: `nodes "n2" is forbidden: node "n1" is not allowed to modify node "n2"`},
		"registers protected":       {operation: create, resource: nodesResource, newObj: `{metadata: {name: n1, labels: {node-restriction.kubernetes.io/a: b, x.node-restriction.kubernetes.io/a: b, node-role.kubernetes.io/control: ""}}}`, want: `nodes "n1" is forbidden: node "n1" is not allowed to modify labels: node-restriction.kubernetes.io/a, node-role.kubernetes.io/control, x.node-restriction.kubernetes.io/a`},
		"registers tainted":         {operation: create, resource: nodesResource, newObj: `{metadata: {name: n1}, spec: {taints: [{key: k, effect: NoSchedule}]}}`, want: `nodes "n1" is forbidden: node "n1" is not allowed to modify taints`},
		"registers with an owner":   {operation: create, resource: nodesResource, newObj: `{metadata: {name: n1, ownerReferences: [{name: o}]}}`, want: `nodes "n1" is forbidden: node "n1" is not allowed to modify owner references`},
		"changes itself":            {operation: update, resource: nodesResource, old: `{metadata: {name: n1}}`, newObj: `{metadata: {name: n1, labels: {my: label}}}`},
		"changes another":           {operation: update, resource: nodesResource, old: `{metadata: {name: n2}}`, newObj: `{metadata: {name: n2}}`, want: `nodes "n2" is forbidden: node "n1" is not allowed to modify node "n2"`},
		"keeps a protected label":   {operation: update, resource: nodesResource, subresource: "status", old: `{metadata: {name: n1, labels: {node-restriction.kubernetes.io/a: b}}, spec: {taints: [{key: k, effect: NoSchedule}]}}`, newObj: `{metadata: {name: n1, labels: {node-restriction.kubernetes.io/a: b}}}`},
		"drops a protected label":   {operation: update, resource: nodesResource, old: `{metadata: {name: n1, labels: {node-restriction.kubernetes.io/a: b}}}`, newObj: `{metadata: {name: n1}}`, want: `nodes "n1" is forbidden: node "n1" is not allowed to modify labels: node-restriction.kubernetes.io/a`},
		"protected label by status": {operation: update, resource: nodesResource, subresource: "status", old: `{metadata: {name: n1}}`, newObj: `{metadata: {name: n1, labels: {node-restriction.kubernetes.io/a: b}}}`, want: `nodes "n1" is forbidden: node "n1" is not allowed to modify labels: node-restriction.kubernetes.io/a`},
		"drops a taint":             {operation: update, resource: nodesResource, old: `{metadata: {name: n1}, spec: {taints: [{key: k, effect: NoSchedule}]}}`, newObj: `{metadata: {name: n1}}`, want: `nodes "n1" is forbidden: node "n1" is not allowed to modify taints`},
		"a subresource of its Node": {operation: update, resource: nodesResource, subresource: "proxy", name: "n1", want: `nodes "n1" is forbidden: node "n1" may not use the subresource proxy of nodes`},
		"its lease":                 {operation: create, resource: leasesResource, newObj: `{metadata: {name: n1, namespace: kube-node-lease}}`},
		"its lease renewed":         {operation: update, resource: leasesResource, old: `{metadata: {name: n1, namespace: kube-node-lease}}`, newObj: `{metadata: {name: n1, namespace: kube-node-lease}}`},
		"its lease with an owner":   {operation: update, resource: leasesResource, old: `{metadata: {name: n1, namespace: kube-node-lease}}`, newObj: `{metadata: {name: n1, namespace: kube-node-lease, ownerReferences: [{name: o}]}}`, want: `leases.coordination.k8s.io "n1" is forbidden: node "n1" is not allowed to modify owner references`},
		"another's lease":           {operation: update, resource: leasesResource, old: `{metadata: {name: n2, namespace: kube-node-lease}}`, newObj: `{metadata: {name: n2, namespace: kube-node-lease}}`, want: `leases.coordination.k8s.io "n2" is forbidden: node "n1" can only access the lease in namespace "kube-node-lease" with the same name`},
		"a lease of its name":       {operation: create, resource: leasesResource, newObj: `{metadata: {name: n1, namespace: kube-system}}`, want: `leases.coordination.k8s.io "n1" is forbidden: node "n1" can only access the lease in namespace "kube-node-lease" with the same name`},
		"token for its pod":         {operation: create, resource: saResource, subresource: "token", name: "robot", newObj: token},
		"token for a new pod":       {operation: create, resource: saResource, subresource: "token", name: "robot", newObj: `{metadata: {namespace: a}, spec: {boundObjectRef: {apiVersion: v1, kind: Pod, name: late, uid: late-uid}}}`},
		"token for a volume":        {operation: create, resource: saResource, subresource: "token", name: "robot", newObj: `{metadata: {namespace: a}, spec: {audiences: [vault], boundObjectRef: {apiVersion: v1, kind: Pod, name: web, uid: web-uid}}}`},
		"token for no volume":       {operation: create, resource: saResource, subresource: "token", name: "robot", newObj: `{metadata: {namespace: a}, spec: {audiences: [vault, bank], boundObjectRef: {apiVersion: v1, kind: Pod, name: web, uid: web-uid}}}`, want: `serviceaccounts "robot" is forbidden: audience "bank" not found in pod spec volume`},
		"token not bound":           {operation: create, resource: saResource, subresource: "token", name: "robot", newObj: `{metadata: {namespace: a}}`, want: `serviceaccounts "robot" is forbidden: node requested token not bound to a pod`},
		"token bound to a secret":   {operation: create, resource: saResource, subresource: "token", name: "robot", newObj: `{metadata: {namespace: a}, spec: {boundObjectRef: {apiVersion: v1, kind: Secret, name: web, uid: x}}}`, want: `serviceaccounts "robot" is forbidden: node requested token not bound to a pod`},
		"token bound by name":       {operation: create, resource: saResource, subresource: "token", name: "robot", newObj: `{metadata: {namespace: a}, spec: {boundObjectRef: {apiVersion: v1, kind: Pod, name: web}}}`, want: `serviceaccounts "robot" is forbidden: node requested token with a pod binding without a uid`},
		"token bound to a past pod": {operation: create, resource: saResource, subresource: "token", name: "robot", newObj: `{metadata: {namespace: a}, spec: {boundObjectRef: {apiVersion: v1, kind: Pod, name: web, uid: old}}}`, want: `serviceaccounts "robot" is forbidden: node requested token bound to a pod that does not exist`},
		"token of another's pod":    {operation: create, resource: saResource, subresource: "token", name: "robot", newObj: token, replaceAgent: userOf("n2"), want: `serviceaccounts "robot" is forbidden: node requested token bound to a pod scheduled on a different node`},
		"token of another account":  {operation: create, resource: saResource, subresource: "token", name: "theirs", newObj: token, want: `serviceaccounts "theirs" is forbidden: node requested token for another service account than the pod's`},
		"certificate of its own":    {operation: create, resource: csrResource, newObj: csr(t, "system:node:n1", certificatesv1.KubeAPIServerClientKubeletSignerName)},
		"certificate of another":    {operation: create, resource: csrResource, newObj: csr(t, "system:node:n2", certificatesv1.KubeAPIServerClientKubeletSignerName), want: `certificatesigningrequests.certificates.k8s.io "csr" is forbidden: node "n1" may only ask for a certificate of its own name`},
		"certificate of a person":   {operation: create, resource: csrResource, newObj: csr(t, "ann", certificatesv1.KubeAPIServerClientSignerName), want: `certificatesigningrequests.certificates.k8s.io "csr" is forbidden: node "n1" may only ask the signer kubernetes.io/kube-apiserver-client-kubelet`},
		"approval":                  {operation: update, resource: csrResource, subresource: "approval", newObj: csr(t, "system:node:n1", certificatesv1.KubeAPIServerClientKubeletSignerName), want: `certificatesigningrequests.certificates.k8s.io "csr" is forbidden: node "n1" may only create certificate signing requests`},
		"a member without a name":   {operation: remove, resource: podsResource, old: `{metadata: {name: web, namespace: a}}`, replaceAgent: &user.DefaultInfo{Name: "ann", Groups: []string{user.NodesGroup}}, want: `pods "web" is forbidden: user "ann" cannot be identified as a node`},
		"somebody else":             {operation: create, resource: podsResource, newObj: theirs, replaceAgent: &user.DefaultInfo{Name: "ann"}},
	}
	plugin := newAdmission(t)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := plugin.Validate(t.Context(), test.attributes(t), nil)
			got := ""
			if err != nil {
				got = err.Error()
				if !apierrors.IsForbidden(err) {
					t.Errorf("%T is no Forbidden", err)
				}
			}
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

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

// TestAdmitJudgesStatusAsSent: the registry drops metadata from a status before
// validation, so a change of it is seen only here.
func TestAdmitJudgesStatusAsSent(t *testing.T) {
	plugin := newAdmission(t)
	labelled := write{
		operation: admission.Update, resource: podsResource, subresource: "status",
		old:    `{metadata: {name: web, namespace: a, resourceVersion: "2"}, spec: {nodeName: n1}}`,
		newObj: `{metadata: {name: web, namespace: a, resourceVersion: "2", labels: {x: y}}, spec: {nodeName: n1}}`,
	}
	if err := plugin.Admit(t.Context(), labelled.attributes(t), nil); !apierrors.IsForbidden(err) {
		t.Errorf("a label in a status: %v", err)
	}
	labelled.newObj = `{metadata: {name: web, namespace: a, resourceVersion: "1", labels: {x: y}}, spec: {nodeName: n1}}`
	if err := plugin.Admit(t.Context(), labelled.attributes(t), nil); err != nil {
		t.Errorf("out of date, so a conflict: %v", err)
	}
	labelled.newObj = `{metadata: {name: web, namespace: a, resourceVersion: "02", labels: {x: y}}, spec: {nodeName: n1}}`
	if err := plugin.Admit(t.Context(), labelled.attributes(t), nil); !apierrors.IsForbidden(err) {
		t.Errorf("a label beside the same version, written differently: %v", err)
	}
	main := write{operation: admission.Create, resource: podsResource, newObj: `{metadata: {name: web, namespace: a}}`}
	if err := plugin.Admit(t.Context(), main.attributes(t), nil); err != nil {
		t.Errorf("left to validation: %v", err)
	}
}
