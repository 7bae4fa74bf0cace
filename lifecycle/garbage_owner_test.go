package lifecycle_test

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/apiserver/servertest"
)

func TestWrongOwners(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	other := newTree(t, c, "other")
	other.plant(t, "owner")
	stranger := other.ref(t, "owner")
	const node = "wrong-owners"
	c.createNode(t, node, time.Now())
	found, err := c.CoreV1().Nodes().Get(t.Context(), node, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		ref  func(local metav1.OwnerReference) metav1.OwnerReference
		want string
	}{
		"right": {
			ref:  func(local metav1.OwnerReference) metav1.OwnerReference { return local },
			want: "child<local local",
		},
		"never was": {
			ref: func(local metav1.OwnerReference) metav1.OwnerReference {
				local.Name, local.UID = "never", "00000000-0000-0000-0000-000000000000"
				return local
			},
			want: "local",
		},
		"created anew": {
			ref: func(local metav1.OwnerReference) metav1.OwnerReference {
				local.UID = "00000000-0000-0000-0000-000000000001"
				return local
			},
			want: "local",
		},
		"other namespace": {
			ref:  func(metav1.OwnerReference) metav1.OwnerReference { return stranger },
			want: "local",
		},
		"other name": {
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
		"outside namespaces": {
			ref: func(metav1.OwnerReference) metav1.OwnerReference {
				return metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: node, UID: found.UID}
			},
			want: "child<" + node + " local",
		},
		"outside namespaces, gone": {
			ref: func(metav1.OwnerReference) metav1.OwnerReference {
				return metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: "gone", UID: "00000000-0000-0000-0000-000000000002"}
			},
			want: "local",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := newTree(t, c, "wrong-"+strings.ReplaceAll(strings.ReplaceAll(name, ",", ""), " ", "-"))
			tr.plant(t, "local")
			ref := test.ref(tr.ref(t, "local"))
			tr.plantWith(t, metav1.ObjectMeta{Name: "child", OwnerReferences: []metav1.OwnerReference{ref}})
			// What comes later is looked at later: its end shows that the child
			// that is to stay was looked at.
			tr.plantWith(t, metav1.ObjectMeta{Name: "probe", OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "v1", Kind: "ConfigMap", Name: "probed", UID: "00000000-0000-0000-0000-000000000003",
			}}})
			tr.wait(t, test.want)
		})
	}
}

func TestClusterScopedDependents(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	tr := newTree(t, c, "shop")
	tr.plant(t, "owner")
	nodes := c.CoreV1().Nodes()
	create := func(name string, ref metav1.OwnerReference) {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{ref}}}
		if _, err := nodes.Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	create("of-namespaced", tr.ref(t, "owner"))
	create("of-nobody", metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: "gone", UID: "00000000-0000-0000-0000-000000000000"})
	servertest.Eventually(t, "node of nobody gone", func() bool {
		_, err := nodes.Get(t.Context(), "of-nobody", metav1.GetOptions{})
		return gone(t, err)
	})
	tr.cut(t, "owner", metav1.DeletePropagationBackground)
	tr.wait(t, "")
	if _, err := nodes.Get(t.Context(), "of-namespaced", metav1.GetOptions{}); err != nil {
		t.Errorf("a node that names an owner in a namespace is left alone: %v", err)
	}
}

func TestOwnersAcrossKinds(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
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
	servertest.Eventually(t, "pod gone", func() bool {
		_, err := c.CoreV1().Pods("default").Get(t.Context(), "shop", metav1.GetOptions{})
		return gone(t, err)
	})
	if _, err := c.AppsV1().ReplicaSets("default").Get(t.Context(), "shop", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("replica set: got %v, want not found", err)
	}
}
