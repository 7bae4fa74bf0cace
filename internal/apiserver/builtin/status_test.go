package builtin_test

import (
	"crypto/x509/pkix"
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/native"
	"holdfast.dev/holdfast/internal/yamltest"
)

// statusKinds has, for each kind with a status, an example, and which of the metadata of
// changedMetadata a write to its status changes in Kubernetes: by default all.
var statusKinds = map[string]struct{ spec, changes string }{
	"namespaces":             {},
	"pods":                   {spec: `{containers: [{name: c, image: i}]}`, changes: "labels annotations finalizers"},
	"services":               {spec: `{ports: [{port: 80}]}`},
	"persistentvolumeclaims": {spec: `{accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}`},
	"persistentvolumes": {
		spec: `{capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /x}}`,
	},
	"nodes":                  {spec: `{unschedulable: true}`},
	"resourcequotas":         {},
	"replicationcontrollers": {spec: `{selector: {a: b}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}`},
	"deployments":            {spec: workload, changes: "annotations finalizers ownerReferences"},
	"statefulsets":           {spec: workload},
	"daemonsets":             {spec: workload},
	"replicasets":            {spec: workload},
	"jobs":                   {spec: jobSpec},
	"cronjobs":               {spec: `{schedule: "* * * * *", jobTemplate: {spec: ` + jobSpec + `}}`},
	"horizontalpodautoscalers": {
		spec: `{maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: d}}`,
	},
	"poddisruptionbudgets":        {spec: `{minAvailable: 1}`},
	"ingresses":                   {spec: `{defaultBackend: {service: {name: s, port: {number: 80}}}}`},
	"certificatesigningrequests":  {},
	"apiservices":                 {spec: `{version: v1, group: example, groupPriorityMinimum: 100, versionPriority: 1}`, changes: "nothing"},
	"devicetaintrules":            {spec: `{taint: {key: a.example.com/b, effect: NoSchedule}}`, changes: "nothing"},
	"resourceclaims":              {spec: `{devices: {requests: [{name: a, exactly: {deviceClassName: b}}]}}`, changes: "nothing"},
	"servicecidrs":                {spec: `{cidrs: [10.0.0.0/24]}`, changes: "nothing"},
	"storageversionmigrations":    {spec: `{resource: {resource: configmaps}}`, changes: "nothing"},
	"volumeattachments":           {spec: `{attacher: a.example.com, nodeName: n1, source: {persistentVolumeName: v}}`, changes: "nothing"},
	"flowschemas":                 {spec: `{priorityLevelConfiguration: {name: global-default}}`, changes: "nothing"},
	"prioritylevelconfigurations": {spec: `{type: Limited, limited: {limitResponse: {type: Reject}}}`, changes: "nothing"},
	"validatingadmissionpolicies": {
		spec: `{matchConstraints: {resourceRules: [{apiGroups: [x], apiVersions: [v1], operations: [CREATE], resources: [ys]}]},
  validations: [{expression: "true"}]}`,
		changes: "nothing",
	},
}

const (
	workload = `{selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}`
	jobSpec  = `{template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}`
	// changedMetadata is the patch that is sent to each status.
	changedMetadata = `{"metadata": {"labels": {"l": "1"}, "annotations": {"a": "1"}, "finalizers": ["example.com/f"],
  "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "1-2-3"}]}}`
)

// TestMetadataInStatus sends changed metadata to the status of every kind.
func TestMetadataInStatus(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{DataDir: t.TempDir()})
	servertest.AwaitAccount(t, server.Client(t), "default")
	objects := dynamic.NewForConfigOrDie(server.Config(t))
	for _, kind := range native.Kinds() {
		if !kind.Status {
			continue
		}
		example, ok := statusKinds[kind.Resource]
		if !ok {
			t.Errorf("%s has a status and no example", kind.Resource)
			continue
		}
		t.Run(kind.Resource, func(t *testing.T) {
			var resource dynamic.ResourceInterface = objects.Resource(kind.GroupVersion.WithResource(kind.Resource))
			if kind.Scope == native.Namespaced {
				resource = objects.Resource(kind.GroupVersion.WithResource(kind.Resource)).Namespace("default")
			}
			spec := example.spec
			if kind.Resource == "certificatesigningrequests" {
				spec = signingRequest(t)
			}
			created := createExample(t, resource, kind.GroupVersionKind(), spec)
			patch := []byte(changedMetadata)
			got, err := resource.Patch(t.Context(), created.GetName(), types.MergePatchType, patch, metav1.PatchOptions{}, "status")
			if err != nil {
				t.Fatal(err)
			}
			changes := example.changes
			if changes == "" {
				changes = "labels annotations finalizers ownerReferences"
			}
			if found := changedBy(got); found != changes {
				t.Errorf("a write to the status changes %s, want %s", found, changes)
			}
			if got.GetGeneration() != created.GetGeneration() {
				t.Errorf("generation %d became %d", created.GetGeneration(), got.GetGeneration())
			}
		})
	}
}

// createExample creates an object with a spec.
func createExample(t *testing.T, resource dynamic.ResourceInterface, kind schema.GroupVersionKind, spec string) *unstructured.Unstructured {
	t.Helper()
	if spec != "" {
		spec = ", spec: " + spec
	}
	object := yamltest.Object(t, "{metadata: {name: example}"+spec+"}")
	object.SetGroupVersionKind(kind)
	if kind.Kind == "APIService" {
		object.SetName("v1.example") // the version and the group in the spec
	}
	created, err := resource.Create(t.Context(), object, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return created
}

// signingRequest returns the spec of a CertificateSigningRequest.
func signingRequest(t *testing.T) string {
	t.Helper()
	request, err := newPKCS10(pkix.Name{CommonName: "jane"})
	if err != nil {
		t.Fatal(err)
	}
	return `{signerName: example.com/s, usages: [client auth], request: ` + base64.StdEncoding.EncodeToString(request) + `}`
}

// changedBy returns which of the metadata of changedMetadata an object has.
func changedBy(object *unstructured.Unstructured) string {
	var found []string
	if object.GetLabels()["l"] != "" {
		found = append(found, "labels")
	}
	if object.GetAnnotations()["a"] != "" {
		found = append(found, "annotations")
	}
	if slices.Contains(object.GetFinalizers(), "example.com/f") {
		found = append(found, "finalizers")
	}
	if len(object.GetOwnerReferences()) > 0 {
		found = append(found, "ownerReferences")
	}
	if found == nil {
		return "nothing"
	}
	return strings.Join(found, " ")
}

// TestStatusIsCompleted checks what the server adds to a status that a client writes.
func TestStatusIsCompleted(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{DataDir: t.TempDir()})
	servertest.AwaitAccount(t, server.Client(t), "default")
	client, objects := server.Client(t), dynamic.NewForConfigOrDie(server.Config(t))
	write := func(t *testing.T, resource, namespace, status string) {
		t.Helper()
		gvr := corev1.SchemeGroupVersion.WithResource(resource)
		if resource == "certificatesigningrequests" {
			gvr = certificatesv1.SchemeGroupVersion.WithResource(resource)
		}
		_, err := objects.Resource(gvr).Namespace(namespace).Patch(t.Context(), "example", types.MergePatchType,
			[]byte(`{"status": `+status+`}`), metav1.PatchOptions{}, "status")
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Run("a pod keeps its class and the observed generations", func(t *testing.T) {
		pods := objects.Resource(corev1.SchemeGroupVersion.WithResource("pods")).Namespace("default")
		createExample(t, pods, corev1.SchemeGroupVersion.WithKind("Pod"), statusKinds["pods"].spec)
		write(t, "pods", "default", `{"observedGeneration": 1, "conditions": [{"type": "Ready", "status": "False", "observedGeneration": 1}]}`)
		write(t, "pods", "default", `{"observedGeneration": null, "qosClass": null, "conditions": [{"type": "Ready", "status": "True"}]}`)
		pod, err := client.CoreV1().Pods("default").Get(t.Context(), "example", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ready := pod.Status.Conditions[0]
		if pod.Status.QOSClass != corev1.PodQOSBestEffort || pod.Status.ObservedGeneration != 1 ||
			ready.ObservedGeneration != 1 || ready.Status != "True" {
			t.Errorf("status %+v", pod.Status)
		}
	})
	t.Run("a volume has the time of its phase", func(t *testing.T) {
		volumes := client.CoreV1().PersistentVolumes()
		createExample(t, objects.Resource(corev1.SchemeGroupVersion.WithResource("persistentvolumes")),
			corev1.SchemeGroupVersion.WithKind("PersistentVolume"), statusKinds["persistentvolumes"].spec)
		write(t, "persistentvolumes", "", `{"phase": "Available"}`)
		available, err := volumes.Get(t.Context(), "example", metav1.GetOptions{})
		if err != nil || available.Status.LastPhaseTransitionTime == nil {
			t.Fatalf("%+v, %v", available, err)
		}
		write(t, "persistentvolumes", "", `{"message": "m", "lastPhaseTransitionTime": null}`)
		same, err := volumes.Get(t.Context(), "example", metav1.GetOptions{})
		if err != nil || !same.Status.LastPhaseTransitionTime.Equal(available.Status.LastPhaseTransitionTime) {
			t.Errorf("without a new phase: %+v, %v", same.Status, err)
		}
	})
	t.Run("the conditions of a signing request have times", func(t *testing.T) {
		requests := client.CertificatesV1().CertificateSigningRequests()
		createExample(t, objects.Resource(certificatesv1.SchemeGroupVersion.WithResource("certificatesigningrequests")),
			certificatesv1.SchemeGroupVersion.WithKind("CertificateSigningRequest"), signingRequest(t))
		write(t, "certificatesigningrequests", "", `{"conditions": [{"type": "Failed", "status": "True"}]}`)
		failed, err := requests.Get(t.Context(), "example", metav1.GetOptions{})
		if err != nil || failed.Status.Conditions[0].LastUpdateTime.IsZero() || failed.Status.Conditions[0].LastTransitionTime.IsZero() {
			t.Fatalf("%+v, %v", failed, err)
		}
	})
	t.Run("a service whose last finalizer a status removes releases its address", func(t *testing.T) {
		services := client.CoreV1().Services("default")
		service := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "example", Finalizers: []string{"example.com/f"}},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
		}
		created, err := services.Create(t.Context(), service, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := services.Delete(t.Context(), "example", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		without := []byte(`{"metadata": {"finalizers": null}}`)
		if _, err := services.Patch(t.Context(), "example", types.MergePatchType, without, metav1.PatchOptions{}, "status"); err != nil {
			t.Fatal(err)
		}
		if _, err := services.Get(t.Context(), "example", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Fatalf("the service is still there: %v", err)
		}
		service.Finalizers, service.Spec.ClusterIP = nil, created.Spec.ClusterIP
		if _, err := services.Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
			t.Errorf("the address is not free: %v", err)
		}
	})
}
