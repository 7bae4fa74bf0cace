package builtin_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
)

func TestAdminAccess(t *testing.T) {
	t.Parallel()
	client := servertest.Start(t, apiserver.Config{DataDir: t.TempDir()}).Client(t)
	admin := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: "admin", Labels: map[string]string{resourcev1.DRAAdminNamespaceLabelKey: "true"},
	}}
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), admin, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	spec := resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{
		Name: "a", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "b", AdminAccess: new(true)},
	}}}}
	meta := metav1.ObjectMeta{Name: "a"}
	for kind, create := range map[string]func(namespace string) error{
		"ResourceClaim": func(namespace string) error {
			claim := &resourcev1.ResourceClaim{ObjectMeta: meta, Spec: spec}
			_, err := client.ResourceV1().ResourceClaims(namespace).Create(t.Context(), claim, metav1.CreateOptions{})
			return err
		},
		"ResourceClaimTemplate": func(namespace string) error {
			template := &resourcev1.ResourceClaimTemplate{ObjectMeta: meta, Spec: resourcev1.ResourceClaimTemplateSpec{Spec: spec}}
			_, err := client.ResourceV1().ResourceClaimTemplates(namespace).Create(t.Context(), template, metav1.CreateOptions{})
			return err
		},
	} {
		const want = "admin access to devices requires the `resource.kubernetes.io/admin-access: true` label on the containing namespace"
		if err := create("default"); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s in a namespace without the label: %v", kind, err)
		}
		if err := create("admin"); err != nil {
			t.Errorf("%s in a namespace with the label: %v", kind, err)
		}
	}
}
