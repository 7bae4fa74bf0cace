package noderestriction_test

import (
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
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/access/node/nodetest"
	"holdfast.dev/holdfast/internal/admission/noderestriction"
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

func newAdmission(t *testing.T) *noderestriction.Plugin {
	t.Helper()
	store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	items := nodetest.Pods(t)
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
	return noderestriction.New(noderestriction.Config{
		Pods: corelisters.NewPodLister(store), Client: fake.NewClientset(late, own, theirs, self).CoreV1(),
		APIAudiences: authenticator.Audiences{"api"}, Relations: nodetest.Relations(t),
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
		if err := yaml.UnmarshalStrict([]byte(document), obj); err != nil {
			t.Fatal(err)
		}
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
		u = nodetest.User("n1")
	}
	return admission.NewAttributesRecord(newObj, oldObj, schema.GroupVersionKind{}, namespace, name,
		w.resource, w.subresource, w.operation, nil, false, u)
}

// validate sends the writes to the plugin and compares its errors.
func validate(t *testing.T, tests map[string]write) {
	t.Helper()
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

// TestAdmissionOfUsers checks which users the plugin takes for nodes.
func TestAdmissionOfUsers(t *testing.T) {
	const (
		otherPod   = `{metadata: {name: web, namespace: a}, spec: {nodeName: n2}}`
		unboundPod = `{metadata: {name: web, namespace: a}}`
	)
	create, remove := admission.Create, admission.Delete
	validate(t, map[string]write{
		"user in system:nodes without the name of a node": {
			operation: remove, resource: podsResource, old: unboundPod,
			user: &user.DefaultInfo{Name: "ann", Groups: []string{user.NodesGroup}},
			want: `pods "web" is forbidden: user "ann" cannot be identified as a node`,
		},
		"user that is not a node": {
			operation: create, resource: podsResource, newObj: otherPod, user: &user.DefaultInfo{Name: "ann"},
		},
	})
}
