package garbage_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/waittest"
)

func TestWrongOwners(t *testing.T) {
	t.Parallel()
	c := shared
	other := newTree(t, c, "wrong-other")
	other.create(t, "owner")
	stranger := other.ref(t, "owner")
	const node = "wrong-owners"
	found, err := c.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		ref  func(local metav1.OwnerReference) metav1.OwnerReference
		want string
	}{
		"owner that exists": {
			ref:  func(local metav1.OwnerReference) metav1.OwnerReference { return local },
			want: "child<local local",
		},
		"owner that never existed": {
			ref: func(local metav1.OwnerReference) metav1.OwnerReference {
				local.Name, local.UID = "never", "00000000-0000-0000-0000-000000000000"
				return local
			},
			want: "local",
		},
		"owner with another UID": {
			ref: func(local metav1.OwnerReference) metav1.OwnerReference {
				local.UID = "00000000-0000-0000-0000-000000000001"
				return local
			},
			want: "local",
		},
		"owner in another namespace": {
			ref:  func(metav1.OwnerReference) metav1.OwnerReference { return stranger },
			want: "local",
		},
		"owner with another name": {
			ref: func(local metav1.OwnerReference) metav1.OwnerReference {
				local.Name = "else"
				return local
			},
			want: "local",
		},
		"unknown kind": {
			ref: func(local metav1.OwnerReference) metav1.OwnerReference {
				local.APIVersion, local.Kind = "example.com/v1", "Widget"
				return local
			},
			want: "child<local local",
		},
		"owner that is cluster-scoped": {
			ref: func(metav1.OwnerReference) metav1.OwnerReference {
				return metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: node, UID: found.UID}
			},
			want: "child<" + node + " local",
		},
		"owner that is cluster-scoped and gone": {
			ref: func(metav1.OwnerReference) metav1.OwnerReference {
				return metav1.OwnerReference{
					APIVersion: "v1", Kind: "Node", Name: "gone", UID: "00000000-0000-0000-0000-000000000002",
				}
			},
			want: "local",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := newTree(t, c, "wrong-"+strings.ToLower(strings.ReplaceAll(name, " ", "-")))
			tr.create(t, "local")
			ref := test.ref(tr.ref(t, "local"))
			tr.createWith(t, metav1.ObjectMeta{Name: "child", OwnerReferences: []metav1.OwnerReference{ref}})
			// The collector takes the objects in the order in which they were created. When
			// the probe is gone, it has seen the child as well.
			tr.createWith(t, metav1.ObjectMeta{Name: "probe", OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "v1", Kind: "ConfigMap", Name: "probed", UID: "00000000-0000-0000-0000-000000000003",
			}}})
			tr.wait(t, test.want)
		})
	}
}

func TestClusterScopedDependents(t *testing.T) {
	t.Parallel()
	c := shared
	tr := newTree(t, c, "cluster-scoped")
	tr.create(t, "owner")
	nodes := c.CoreV1().Nodes()
	create := func(name string, ref metav1.OwnerReference) {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{ref}}}
		if _, err := nodes.Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	create("of-namespaced", tr.ref(t, "owner"))
	tr.create(t, "awaited")
	create("of-awaited", tr.ref(t, "!awaited"))
	create("of-missing", metav1.OwnerReference{
		APIVersion: "v1", Kind: "Node", Name: "gone", UID: "00000000-0000-0000-0000-000000000000",
	})
	waittest.Until(t, "node of a missing owner gone", func() bool {
		_, err := nodes.Get(t.Context(), "of-missing", metav1.GetOptions{})
		return notFound(t, err)
	})
	tr.delete(t, "owner", metav1.DeletePropagationBackground)
	// The collector has seen the nodes, and does not wait for the one that it ignores.
	tr.delete(t, "awaited", metav1.DeletePropagationForeground)
	tr.wait(t, "")
	if _, err := nodes.Get(t.Context(), "of-namespaced", metav1.GetOptions{}); err != nil {
		t.Errorf("a node whose owner is in a namespace, which the collector ignores: %v", err)
	}
}

func TestOwnersAcrossKinds(t *testing.T) {
	t.Parallel()
	c := shared
	labels := map[string]string{"app": "shop"}
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/main"}}},
	}
	deployment, err := c.AppsV1().Deployments("default").Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "shop"},
		Spec:       appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	replicaSet, err := c.AppsV1().ReplicaSets("default").Create(t.Context(), &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: "shop", OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(deployment, appsv1.SchemeGroupVersion.WithKind("Deployment")),
		}},
		Spec: appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "shop", OwnerReferences: []metav1.OwnerReference{
		*metav1.NewControllerRef(replicaSet, appsv1.SchemeGroupVersion.WithKind("ReplicaSet")),
	}}, Spec: template.Spec}
	if _, err := c.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.AppsV1().Deployments("default").Delete(t.Context(), "shop", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "pod gone", func() bool {
		_, err := c.CoreV1().Pods("default").Get(t.Context(), "shop", metav1.GetOptions{})
		return notFound(t, err)
	})
	if _, err := c.AppsV1().ReplicaSets("default").Get(t.Context(), "shop", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("replica set: got %v, want not found", err)
	}
}
