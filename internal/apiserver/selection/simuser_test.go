package selection_test

import (
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/apiserver/selection"
)

// simNames is the number of names of objects in a namespace.
const simNames = 2

var (
	simNodes      = []string{"n1", "n2"}
	simNamespaces = []string{"shop", "bank"}
)

// write does one thing that a user or the scheduler of pods does.
func (s *sim) write(r *rand.Rand) string {
	resource := simResources[r.IntN(len(simResources))]
	if resource == "pods" {
		return s.writePod(r)
	}
	name := cache.NewObjectName(simNamespaces[r.IntN(2)], fmt.Sprint("o-", r.IntN(simNames)))
	before := s.etcd.now(resource)[name]
	if before == nil {
		s.etcd.put(resource, s.newObject(resource, name, r.IntN(4) == 0))
		return fmt.Sprintf("creates %s %s", resource, name)
	}
	changed := before.DeepCopyObject().(selection.Object)
	switch n := r.IntN(10); {
	case n < 2:
		s.etcd.remove(resource, name)
		return fmt.Sprintf("deletes %s %s", resource, name)
	case n < 4:
		// One write replaces the object, as "holdfast apply --replace" does.
		s.etcd.put(resource, s.newObject(resource, name, r.IntN(3) == 0))
		return fmt.Sprintf("replaces %s %s", resource, name)
	case n < 5:
		s.etcd.remove(resource, name)
		s.etcd.put(resource, s.newObject(resource, name, r.IntN(3) == 0))
		return fmt.Sprintf("recreates %s %s", resource, name)
	case n < 6 && !isFixed(before):
		fix(changed)
		s.etcd.put(resource, changed)
		return fmt.Sprintf("fixes %s %s", resource, name)
	}
	s.etcd.put(resource, changed)
	return fmt.Sprintf("changes %s %s", resource, name)
}

// burst changes one object more often than a watch buffers events, or than the history of the selection keeps them.
func (s *sim) burst(r *rand.Rand) string {
	if r.IntN(4) > 0 {
		return ""
	}
	name, times := cache.NewObjectName("shop", "o-0"), 150
	if r.IntN(8) == 0 {
		times = 1100
	}
	before := s.etcd.now("configmaps")[name]
	if before == nil {
		before = s.newObject("configmaps", name, false)
	}
	for range times {
		s.etcd.put("configmaps", before.DeepCopyObject().(selection.Object))
	}
	return fmt.Sprintf("bursts: changes configmaps %s %d times", name, times)
}

// lease stands for all other writes to etcd.
func (s *sim) lease(*rand.Rand) string {
	s.etcd.revision++
	return "writes something else"
}

func (s *sim) writePod(r *rand.Rand) string {
	name := cache.NewObjectName(simNamespaces[r.IntN(2)], fmt.Sprint("p-", r.IntN(4)))
	found := s.etcd.now("pods")[name]
	if found == nil {
		s.etcd.put("pods", s.newPod(r, name))
		return fmt.Sprintf("creates pods %s", name)
	}
	pod := found.DeepCopyObject().(*corev1.Pod)
	switch n := r.IntN(6); {
	case pod.Spec.NodeName == "":
		pod.Spec.NodeName = simNodes[r.IntN(len(simNodes))]
		s.etcd.put("pods", pod)
		return fmt.Sprintf("binds pods %s to %s", name, pod.Spec.NodeName)
	case n < 2:
		s.etcd.remove("pods", name)
		return fmt.Sprintf("deletes pods %s", name)
	case n < 4:
		s.etcd.remove("pods", name)
		s.etcd.put("pods", s.newPod(r, name))
		return fmt.Sprintf("recreates pods %s", name)
	}
	pod.Status.Phase = corev1.PodRunning
	s.etcd.put("pods", pod)
	return fmt.Sprintf("changes pods %s", name)
}

// newPod returns a pod that uses some objects, whether they exist or not.
func (s *sim) newPod(r *rand.Rand, name cache.ObjectName) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name, UID: s.etcd.newUID()}}
	if r.IntN(4) > 0 {
		pod.Spec.NodeName = simNodes[r.IntN(len(simNodes))]
	}
	for range 1 + r.IntN(4) {
		used, v := fmt.Sprint("o-", r.IntN(simNames)), corev1.Volume{}
		if r.IntN(2) == 0 {
			v.ConfigMap = &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: used}}
		} else {
			v.Secret = &corev1.SecretVolumeSource{SecretName: used}
		}
		pod.Spec.Volumes = append(pod.Spec.Volumes, v)
	}
	return pod
}

func (s *sim) newObject(resource string, name cache.ObjectName, fixed bool) selection.Object {
	object := simKinds[resource].New()
	object.SetNamespace(name.Namespace)
	object.SetName(name.Name)
	object.SetUID(s.etcd.newUID())
	if fixed {
		fix(object)
	}
	return object
}

// fix makes an object immutable.
func fix(object selection.Object) {
	switch object := object.(type) {
	case *corev1.ConfigMap:
		object.Immutable = new(true)
	case *corev1.Secret:
		object.Immutable = new(true)
	}
}
