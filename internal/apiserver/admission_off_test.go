package apiserver_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

// Each plugin has an effect if it is on, and none if it is off.
func TestPluginsOff(t *testing.T) {
	t.Parallel()
	// An effect reports whether its plugin did something. The server has the objects of
	// createClasses.
	effects := map[string]func(testing.TB, kubernetes.Interface) bool{
		"PodSecurity": func(t testing.TB, client kubernetes.Interface) bool {
			_, err := createSecurePod(t, client)
			return err != nil
		},
		"Priority": func(t testing.TB, client kubernetes.Interface) bool { return newPod(t, client).Spec.Priority != nil },
		"DefaultTolerationSeconds": func(t testing.TB, client kubernetes.Interface) bool {
			for _, toleration := range newPod(t, client).Spec.Tolerations {
				if toleration.TolerationSeconds != nil {
					return true
				}
			}
			return false
		},
		"RuntimeClass":      func(t testing.TB, client kubernetes.Interface) bool { return newPod(t, client).Spec.Overhead != nil },
		"PodTopologyLabels": func(t testing.TB, client kubernetes.Interface) bool { return newPod(t, client).Labels != nil },
		"DefaultStorageClass": func(t testing.TB, client kubernetes.Interface) bool {
			return newClaim(t, client).Spec.StorageClassName != nil
		},
		"StorageObjectInUseProtection": func(t testing.TB, client kubernetes.Interface) bool {
			return len(newClaim(t, client).Finalizers) > 0
		},
		"PersistentVolumeClaimResize": func(t testing.TB, client kubernetes.Interface) bool {
			claim := newClaim(t, client)
			claim.Status.Phase = corev1.ClaimBound // validation lets only bound claims grow
			claim, err := client.CoreV1().PersistentVolumeClaims(claim.Namespace).UpdateStatus(t.Context(), claim, metav1.UpdateOptions{})
			must(t, err)
			claim.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("2Gi")
			_, err = client.CoreV1().PersistentVolumeClaims(claim.Namespace).Update(t.Context(), claim, metav1.UpdateOptions{})
			return err != nil
		},
		"DefaultIngressClass": func(t testing.TB, client kubernetes.Interface) bool {
			return newIngress(t, client).Spec.IngressClassName != nil
		},
	}
	var names []string
	for name := range effects {
		names = append(names, name)
	}
	for state, config := range map[string]apiserver.Config{"on": {EnableAdmission: names}, "off": {DisableAdmission: names}} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			client := servertest.Start(t, config).Client(t)
			createClasses(t, client)
			servertest.AwaitAccount(t, client, "default")
			servertest.AwaitAccount(t, client, "secure")
			for name, effect := range effects {
				if state == "on" {
					waittest.Until(t, name+" has an effect", func() bool { return effect(t, client) })
				} else if effect(t, client) {
					t.Errorf("%s is turned off and has an effect", name)
				}
			}
		})
	}
}

// createClasses creates a namespace, a node and one class of each kind.
func createClasses(t testing.TB, client kubernetes.Interface) {
	t.Helper()
	meta := func(name, label, annotation string) metav1.ObjectMeta {
		object := metav1.ObjectMeta{Name: name, Labels: map[string]string{label: "restricted"}}
		if annotation != "" {
			object.Annotations = map[string]string{annotation: "true"}
		}
		return object
	}
	const zone, enforce = "topology.kubernetes.io/zone", "pod-security.kubernetes.io/enforce"
	overhead := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Mi")}
	namespace := &corev1.Namespace{ObjectMeta: meta("secure", enforce, "")}
	_, err := client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{})
	must(t, err)
	_, err = client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: meta("n", zone, "")}, metav1.CreateOptions{})
	must(t, err)
	_, err = client.NodeV1().RuntimeClasses().Create(t.Context(), &nodev1.RuntimeClass{
		ObjectMeta: meta("vm", "a", ""), Handler: "kata", Overhead: &nodev1.Overhead{PodFixed: overhead},
	}, metav1.CreateOptions{})
	must(t, err)
	_, err = client.SchedulingV1().PriorityClasses().Create(t.Context(),
		&schedulingv1.PriorityClass{ObjectMeta: meta("high", "a", ""), Value: 1}, metav1.CreateOptions{})
	must(t, err)
	_, err = client.StorageV1().StorageClasses().Create(t.Context(), &storagev1.StorageClass{
		ObjectMeta: meta("disk", "a", "storageclass.kubernetes.io/is-default-class"), Provisioner: "example.com/p",
	}, metav1.CreateOptions{})
	must(t, err)
	_, err = client.NetworkingV1().IngressClasses().Create(t.Context(), &networkingv1.IngressClass{
		ObjectMeta: meta("front", "a", networkingv1.AnnotationIsDefaultIngressClass),
		Spec:       networkingv1.IngressClassSpec{Controller: "example.com/c"},
	}, metav1.CreateOptions{})
	must(t, err)
}

func createSecurePod(t testing.TB, client kubernetes.Interface) (*corev1.Pod, error) {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "p-"}}
	pod.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
	return client.CoreV1().Pods("secure").Create(t.Context(), pod, metav1.CreateOptions{})
}

func newPod(t testing.TB, client kubernetes.Interface) *corev1.Pod {
	t.Helper()
	class := "vm"
	pod, err := client.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "p-"},
		Spec: corev1.PodSpec{
			PriorityClassName: "high", RuntimeClassName: &class, NodeName: "n",
			Containers: []corev1.Container{{Name: "c", Image: "i"}},
		},
	}, metav1.CreateOptions{})
	must(t, err)
	return pod
}

func newClaim(t testing.TB, client kubernetes.Interface) *corev1.PersistentVolumeClaim {
	t.Helper()
	claim, err := client.CoreV1().PersistentVolumeClaims("default").Create(t.Context(), &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "c-"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			},
		},
	}, metav1.CreateOptions{})
	must(t, err)
	return claim
}

func newIngress(t testing.TB, client kubernetes.Interface) *networkingv1.Ingress {
	t.Helper()
	backend := &networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
		Name: "s", Port: networkingv1.ServiceBackendPort{Number: 80},
	}}
	ingress, err := client.NetworkingV1().Ingresses("default").Create(t.Context(), &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "i-"}, Spec: networkingv1.IngressSpec{DefaultBackend: backend},
	}, metav1.CreateOptions{})
	must(t, err)
	return ingress
}
