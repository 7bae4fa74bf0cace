package builtin_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
)

// TestNodeCredential sends every kind of request that the credential of a node allows or
// forbids. The node runs the pod "mine", which uses the object "used"; the pod "theirs"
// runs on another node.
func TestNodeCredential(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{})
	u := newUsage(t, server, "shop")
	mine, theirs := u.namespace+"-n1", u.namespace+"-n2"
	for _, name := range []string{"used", "unused"} {
		u.configMap(name, "1")
		meta := metav1.ObjectMeta{Name: name}
		_, err := u.client.CoreV1().Secrets(u.namespace).Create(t.Context(), &corev1.Secret{ObjectMeta: meta}, metav1.CreateOptions{})
		u.must(err)
		_, err = u.client.CoreV1().ServiceAccounts(u.namespace).Create(t.Context(),
			&corev1.ServiceAccount{ObjectMeta: meta}, metav1.CreateOptions{})
		u.must(err)
	}
	// A controller deletes the pods of a node that does not exist.
	_, err := u.client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: theirs}}, metav1.CreateOptions{})
	u.must(err)
	u.pod("mine", "n1", "used")
	u.pod("theirs", "n2", "unused")
	pods := map[string]*corev1.Pod{}
	for _, name := range []string{"mine", "theirs"} {
		pod, err := u.client.CoreV1().Pods(u.namespace).Get(t.Context(), name, metav1.GetOptions{})
		u.must(err)
		pods[name] = pod
	}
	node := kubernetes.NewForConfigOrDie(server.As(t, "system:node:"+mine, "system:nodes"))

	tests := map[string]struct {
		do act
		// want is a part of the error; empty means that the request is allowed.
		want string
	}{
		"get a used one": {do: getConfigMap("shop", "used")},
		"get an unused one": {
			do:   getConfigMap("shop", "unused"),
			want: "no relationship found between node 'shop-n1' and this object",
		},
		"get the same name in another namespace": {do: getConfigMap("default", "used"), want: "no relationship found"},
		"list all": {
			do:   listConfigMaps("", metav1.ListOptions{}),
			want: "with the field selector holdfast.dev/used-by-node=shop-n1",
		},
		"list a namespace": {do: listConfigMaps("shop", metav1.ListOptions{}), want: "with the field selector"},
		"list by label": {
			do:   listConfigMaps("shop", metav1.ListOptions{LabelSelector: "a=b"}),
			want: "with the field selector",
		},
		"list its own":   {do: listConfigMaps("", u.selectUsed("n1"))},
		"list another's": {do: listConfigMaps("", u.selectUsed("n2")), want: "with the field selector"},
		"list all but another's": {
			do:   listConfigMaps("", metav1.ListOptions{FieldSelector: usedByNode + "!=" + theirs}),
			want: "with the field selector",
		},
		"watch its own":          {do: watchConfigMaps("", u.selectUsed("n1"))},
		"watch another's":        {do: watchConfigMaps("", u.selectUsed("n2")), want: "with the field selector"},
		"watch one that is used": {do: watchConfigMaps("shop", metav1.ListOptions{FieldSelector: "metadata.name=used"})},
		"watch one that is not": {
			do:   watchConfigMaps("shop", metav1.ListOptions{FieldSelector: "metadata.name=unused"}),
			want: "no relationship found",
		},
		"watch the name elsewhere": {
			do:   watchConfigMaps("", metav1.ListOptions{FieldSelector: "metadata.name=used"}),
			want: "by name or with the field selector",
		},
		"a secret that is not used": {do: getSecret("unused"), want: "no relationship found"},
		"secrets of its own":        {do: listSecrets(u.selectUsed("n1"))},
		"secrets of another":        {do: listSecrets(u.selectUsed("n2")), want: "with the field selector"},
		"change what is used":       {do: patchConfigMap("used"), want: "a node only reads configmaps"},
		"delete what is used":       {do: deleteConfigMap("used"), want: "a node only reads configmaps"},
		"its pods":                  {do: listPods(metav1.ListOptions{FieldSelector: "spec.nodeName=" + mine})},
		"another's pods": {
			do:   listPods(metav1.ListOptions{FieldSelector: "spec.nodeName=" + theirs}),
			want: "with the field selector spec.nodeName=shop-n1",
		},
		"all pods":          {do: listPods(metav1.ListOptions{}), want: "with the field selector spec.nodeName=shop-n1"},
		"status of its pod": {do: patchPod("mine", `{"status":{"phase":"Running"}}`, "status")},
		"status with a label": {
			do:   patchPod("mine", `{"metadata":{"labels":{"a":"b"}}}`, "status"),
			want: "may not change the metadata of a pod",
		},
		"status with a finalizer": {
			do:   patchPod("mine", `{"metadata":{"finalizers":["a/b"]}}`, "status"),
			want: "may not change the metadata of a pod",
		},
		"status of another's pod": {
			do:   patchPod("theirs", `{"status":{"phase":"Running"}}`, "status"),
			want: "no relationship found",
		},
		"a pod itself": {
			do:   patchPod("mine", `{"metadata":{"labels":{"a":"b"}}}`),
			want: "a node only reads, creates and deletes pods",
		},
		"a new pod":                  {do: createPod(mine), want: "can only create mirror pods"},
		"another's pod deleted":      {do: deletePod("theirs"), want: "no relationship found"},
		"a token for its pod":        {do: token("default", pods["mine"])},
		"a token for another's pod":  {do: token("default", pods["theirs"]), want: "scheduled on a different node"},
		"a token of another account": {do: token("unused", pods["mine"]), want: "no relationship found"},
		"a token bound to nothing":   {do: token("default", nil), want: "not bound to a pod"},
		"registers": {
			do: createNode(metav1.ObjectMeta{Name: mine, Labels: map[string]string{"kubernetes.io/hostname": mine}}),
		},
		"registers another": {
			do:   createNode(metav1.ObjectMeta{Name: theirs}),
			want: `is not allowed to modify node "shop-n2"`,
		},
		"its node restricted": {
			do:   patchNode(mine, `{"metadata":{"labels":{"node-restriction.kubernetes.io/a":"b"}}}`),
			want: "not allowed to modify labels: node-restriction.kubernetes.io/a",
		},
		"its node tainted": {
			do:   patchNode(mine, `{"spec":{"taints":[{"key":"a","effect":"NoSchedule"}]}}`),
			want: "not allowed to modify taints",
		},
		"its node with an owner": {
			do:   patchNode(mine, `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"a","uid":"b"}]}}`),
			want: "not allowed to modify owner references",
		},
		"its node's status": {do: patchNode(mine, `{"status":{"phase":"Running"}}`, "status")},
		"its node's status restricted": {
			do:   patchNode(mine, `{"metadata":{"labels":{"node-restriction.kubernetes.io/a":"b"}}}`, "status"),
			want: "not allowed to modify labels",
		},
		"its lease": {do: createLease("kube-node-lease", metav1.ObjectMeta{Name: mine})},
		"another's lease": {
			do:   createLease("kube-node-lease", metav1.ObjectMeta{Name: theirs}),
			want: "can only access the lease",
		},
		"a lease elsewhere": {
			do:   createLease("kube-system", metav1.ObjectMeta{Name: mine}),
			want: "in namespace kube-node-lease only",
		},
		"an event":              {do: createEvent("shop", pods["mine"])},
		"read events":           {do: listEvents("shop"), want: "a node may not list events"},
		"its certificate":       {do: requestCertificate(mine)},
		"another's certificate": {do: requestCertificate(theirs), want: "may only ask for a certificate of its own name"},
	}
	// This list makes sure that the authorizer has seen all pods.
	u.list("n1")
	// These requests create objects that the others need.
	u.must(tests["registers"].do(t.Context(), node))
	delete(tests, "registers")
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := test.do(t.Context(), node)
			switch {
			case test.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case test.want != "" && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
	if err := deletePod("mine")(t.Context(), node); err != nil {
		t.Errorf("its pod deleted: %v", err)
	}
	// The node may not read an object any more that only the deleted pod used.
	u.list("n1")
	if err := getConfigMap("shop", "used")(t.Context(), node); !apierrors.IsForbidden(err) {
		t.Errorf("what is used no more: %v", err)
	}
}

// The selector by node needs the right to list the kind, and no other right.
func TestUsersSelectByNode(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{})
	u := newUsage(t, server, "shop")
	u.configMap("used", "1")
	u.pod("mine", "n1", "used")
	someone := kubernetes.NewForConfigOrDie(server.As(t, "ann"))
	if err := listConfigMaps("", u.selectUsed("n1"))(t.Context(), someone); !apierrors.IsForbidden(err) {
		t.Errorf("without a role: %v", err)
	}
	if err := listConfigMaps("", u.selectUsed("n1"))(t.Context(), u.client); err != nil {
		t.Errorf("an administrator: %v", err)
	}
}
