package defaultclass_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

var dryRun = metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}

// storageClass creates a StorageClass with the value of an annotation.
func storageClass(t testing.TB, client kubernetes.Interface, name, annotations string) {
	t.Helper()
	class := yamltest.Decode[storagev1.StorageClass](t, `{metadata: {annotations: `+annotations+`}, provisioner: example.com/p}`)
	class.Name = name
	if _, err := client.StorageV1().StorageClasses().Create(t.Context(), class, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// classOf returns the class of a new claim: "none" if it has none.
func classOf(t testing.TB, client kubernetes.Interface, manifest string) string {
	t.Helper()
	claim := yamltest.Decode[corev1.PersistentVolumeClaim](t, manifest)
	claim.Name, claim.Spec.AccessModes = "c", []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	claim.Spec.Resources = *yamltest.Decode[corev1.VolumeResourceRequirements](t, `{requests: {storage: 1Gi}}`)
	created, err := client.CoreV1().PersistentVolumeClaims("default").Create(t.Context(), claim, dryRun)
	if err != nil {
		t.Fatal(err)
	}
	if created.Spec.StorageClassName == nil {
		return "none"
	}
	return *created.Spec.StorageClassName
}

func TestDefaultStorageClass(t *testing.T) {
	client := servertest.Start(t, apiserver.Config{}).Client(t)
	storageClass(t, client, "slow", `{storageclass.kubernetes.io/is-default-class: "false"}`)
	if got := classOf(t, client, `{}`); got != "none" {
		t.Errorf("without a default class: %s", got)
	}
	storageClass(t, client, "usual", `{storageclass.beta.kubernetes.io/is-default-class: "true"}`)
	waittest.Until(t, "the default class counts", func() bool { return classOf(t, client, `{}`) == "usual" })
	for name, test := range map[string]struct{ claim, want string }{
		"another class":       {`{spec: {storageClassName: slow}}`, "slow"},
		"no class":            {`{spec: {storageClassName: ""}}`, ""},
		"class in annotation": {`{metadata: {annotations: {volume.beta.kubernetes.io/storage-class: slow}}}`, "none"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := classOf(t, client, test.claim); got != test.want {
				t.Errorf("class %q, want %q", got, test.want)
			}
		})
	}
}

func TestDefaultIngressClass(t *testing.T) {
	client := servertest.Start(t, apiserver.Config{}).Client(t)
	classOf := func(manifest string) string {
		ingress := yamltest.Decode[networkingv1.Ingress](t, manifest)
		ingress.Name = "i"
		ingress.Spec.DefaultBackend = yamltest.Decode[networkingv1.IngressBackend](t, `{service: {name: s, port: {number: 80}}}`)
		created, err := client.NetworkingV1().Ingresses("default").Create(t.Context(), ingress, dryRun)
		if err != nil {
			t.Fatal(err)
		}
		if created.Spec.IngressClassName == nil {
			return "none"
		}
		return *created.Spec.IngressClassName
	}
	if got := classOf(`{}`); got != "none" {
		t.Errorf("without a default class: %s", got)
	}
	class := yamltest.Decode[networkingv1.IngressClass](t,
		`{metadata: {name: front, annotations: {ingressclass.kubernetes.io/is-default-class: "true"}}, spec: {controller: example.com/c}}`)
	if _, err := client.NetworkingV1().IngressClasses().Create(t.Context(), class, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the default class counts", func() bool { return classOf(`{}`) == "front" })
	if got := classOf(`{spec: {ingressClassName: other}}`); got != "other" {
		t.Errorf("class of the Ingress: %s", got)
	}
	if got := classOf(`{metadata: {annotations: {kubernetes.io/ingress.class: other}}}`); got != "none" {
		t.Errorf("class in the annotation of the Ingress: %s", got)
	}
}
