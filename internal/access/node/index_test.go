package node_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"holdfast.dev/holdfast/internal/access/node"
)

// TestIndex changes pods step by step and checks after each step which secrets n1
// uses.
func TestIndex(t *testing.T) {
	index := &node.Index{}
	pod := func(name, nodeName string, secrets ...string) *corev1.Pod {
		p := &corev1.Pod{}
		p.Namespace, p.Name, p.Spec.NodeName = "a", name, nodeName
		for _, secret := range secrets {
			p.Spec.ImagePullSecrets = append(p.Spec.ImagePullSecrets, corev1.LocalObjectReference{Name: secret})
		}
		return p
	}
	steps := []struct {
		name string
		do   func()
		want string
	}{
		{"add a pod that is not bound", func() { index.Set(pod("x", "", "s1")) }, ""},
		{"bind it to n1", func() { index.Set(pod("x", "n1", "s1")) }, "s1"},
		{"set it again unchanged", func() { index.Set(pod("x", "n1", "s1")) }, "s1"},
		{"add a second pod to n1", func() { index.Set(pod("y", "n1", "s1", "s2", "s2")) }, "s1 s2"},
		{"add a pod to n2", func() { index.Set(pod("z", "n2", "s3")) }, "s1 s2"},
		{"remove the first pod", func() { index.Remove(pod("x", "n1")) }, "s1 s2"},
		{"remove it again", func() { index.Remove(pod("x", "n1")) }, "s1 s2"},
		{"drop a secret from the second pod", func() { index.Set(pod("y", "n1", "s2")) }, "s2"},
		{"recreate the second pod on n2", func() { index.Set(pod("y", "n2", "s2")) }, ""},
		{"recreate it on n1", func() { index.Set(pod("y", "n1", "s2")) }, "s2"},
		{"remove the last pod of n1", func() { index.Remove(pod("y", "n1")) }, ""},
	}
	for _, step := range steps {
		step.do()
		var used []string
		for _, name := range []string{"s1", "s2", "s3"} {
			if index.Uses("n1", node.Object{Resource: "secrets", Namespace: "a", Name: name}) {
				used = append(used, name)
			}
		}
		if diff := cmp.Diff(step.want, strings.Join(used, " ")); diff != "" {
			t.Errorf("%s: n1 uses (-want +got):\n%s", step.name, diff)
		}
	}
}

func BenchmarkSet(b *testing.B) {
	index, items := newIndex(b)
	for b.Loop() {
		index.Set(items[0])
	}
}
