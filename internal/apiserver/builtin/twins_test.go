package builtin_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// TestServiceAccountNames writes one of serviceAccount and serviceAccountName in every kind with a pod template. Both are always
// equal, and serviceAccountName wins, as in Kubernetes.
func TestServiceAccountNames(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{DataDir: t.TempDir()})
	objects := dynamic.NewForConfigOrDie(server.Config(t))
	const pod = "{metadata: {labels: {app: web}}, spec: {ACCOUNT, restartPolicy: POLICY, containers: [{name: web, image: web}]}}"
	template := func(policy string) string { return strings.ReplaceAll(pod, "POLICY", policy) }
	for kind, test := range map[string]struct{ resource, object, at string }{
		"apps/v1 Deployment":  {"deployments", "spec: {selector: {matchLabels: {app: web}}, template: " + template("Always") + "}", "spec.template"},
		"apps/v1 StatefulSet": {"statefulsets", "spec: {selector: {matchLabels: {app: web}}, template: " + template("Always") + "}", "spec.template"},
		"apps/v1 DaemonSet":   {"daemonsets", "spec: {selector: {matchLabels: {app: web}}, template: " + template("Always") + "}", "spec.template"},
		"apps/v1 ReplicaSet":  {"replicasets", "spec: {selector: {matchLabels: {app: web}}, template: " + template("Always") + "}", "spec.template"},
		"v1 ReplicationController": {
			"replicationcontrollers", "spec: {selector: {app: web}, template: " + template("Always") + "}", "spec.template",
		},
		"v1 PodTemplate":   {"podtemplates", "template: " + template("Always"), "template"},
		"batch/v1 CronJob": {"cronjobs", `spec: {schedule: "* * * * *", jobTemplate: {spec: {template: ` + template("Never") + "}}}", "spec.jobTemplate.spec.template"},
	} {
		t.Run(kind, func(t *testing.T) {
			version, name := splitKind(t, kind)
			client := objects.Resource(version.WithResource(test.resource)).Namespace("default")
			file := func(account string) *unstructured.Unstructured {
				obj := yamltest.Object(t, strings.Replace(test.object, "ACCOUNT", account, 1))
				obj.SetGroupVersionKind(version.WithKind(name))
				obj.SetName("web")
				return obj
			}
			spec := append(strings.Split(test.at, "."), "spec")
			check := func(what string, obj *unstructured.Unstructured, err error, want string) {
				t.Helper()
				if err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				for _, field := range []string{"serviceAccount", "serviceAccountName"} {
					if got, _, _ := unstructured.NestedString(obj.Object, append(spec, field)...); got != want {
						t.Errorf("%s: %s is %q, want %q", what, field, got, want)
					}
				}
			}
			patched := func(field, value string) []byte {
				inner := `{"` + field + `":"` + value + `"}`
				for i := len(spec) - 1; i >= 0; i-- {
					inner = `{"` + spec[i] + `":` + inner + `}`
				}
				return []byte(inner)
			}
			obj, err := client.Create(t.Context(), file("serviceAccount: a"), metav1.CreateOptions{FieldManager: "test"})
			check("create with the old name", obj, err, "a")
			obj, err = client.Update(t.Context(), file("serviceAccount: c, serviceAccountName: b"), metav1.UpdateOptions{FieldManager: "test"})
			check("update with both", obj, err, "b")
			obj, err = client.Update(t.Context(), file("serviceAccount: c"), metav1.UpdateOptions{FieldManager: "test"})
			check("update with the old name", obj, err, "c")
			obj, err = client.Patch(t.Context(), "web", types.MergePatchType, patched("serviceAccountName", "d"), metav1.PatchOptions{FieldManager: "test"})
			check("patch of the new name", obj, err, "d")
			obj, err = client.Patch(t.Context(), "web", types.StrategicMergePatchType, patched("serviceAccount", "e"), metav1.PatchOptions{FieldManager: "test"})
			check("patch of the old name", obj, err, "d")
			pointer := "/" + strings.Join(spec, "/") + "/serviceAccountName"
			obj, err = client.Patch(t.Context(), "web", types.JSONPatchType, []byte(`[{"op":"replace","path":"`+pointer+`","value":"f"}]`),
				metav1.PatchOptions{FieldManager: "test"})
			check("JSON patch", obj, err, "f")
			obj, err = client.Apply(t.Context(), "web", file("serviceAccountName: g"), metav1.ApplyOptions{FieldManager: "ci", Force: true})
			check("server-side apply", obj, err, "g")
			obj, err = client.Apply(t.Context(), "web", file("serviceAccount: h"), metav1.ApplyOptions{FieldManager: "other", Force: true})
			check("server-side apply of the old name", obj, err, "g")
		})
	}
}

// TestAppArmorAnnotation creates a pod with the deprecated annotation for its AppArmor profile, which the server copies to the field.
func TestAppArmorAnnotation(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{DataDir: t.TempDir()})
	client := server.Client(t)
	servertest.AwaitAccount(t, client, "default")
	pod := yamltest.Decode[corev1.Pod](t, `{metadata: {name: web, annotations: {container.apparmor.security.beta.kubernetes.io/web: unconfined}}, `+
		`spec: {containers: [{name: web, image: web}]}}`)
	created, err := client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	context := created.Spec.Containers[0].SecurityContext
	if context == nil || context.AppArmorProfile == nil || context.AppArmorProfile.Type != corev1.AppArmorProfileTypeUnconfined {
		t.Errorf("security context %v", context)
	}
}
