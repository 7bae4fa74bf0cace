package apiserver_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/referrers"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/native"
	"holdfast.dev/holdfast/internal/references"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// referring are objects of each built-in kind that refer to the Secret NAME in the namespace default.
var referring = map[string]string{
	"pods":                             `{spec: {containers: [{name: c, image: i}], volumes: [{name: v, secret: {secretName: NAME}}]}}`,
	"podtemplates":                     `{template: TEMPLATE}`,
	"replicationcontrollers":           `{spec: {replicas: 0, selector: {app: a}, template: TEMPLATE}}`,
	"deployments.apps":                 `{spec: {replicas: 0, selector: {matchLabels: {app: a}}, template: TEMPLATE}}`,
	"replicasets.apps":                 `{spec: {replicas: 0, selector: {matchLabels: {app: a}}, template: TEMPLATE}}`,
	"statefulsets.apps":                `{spec: {replicas: 0, serviceName: s, selector: {matchLabels: {app: a}}, template: TEMPLATE}}`,
	"daemonsets.apps":                  `{spec: {selector: {matchLabels: {app: a}}, template: TEMPLATE}}`,
	"controllerrevisions.apps":         `{revision: 1, data: {any: [{text: NAME}]}}`,
	"jobs.batch":                       `{spec: {suspend: true, template: TEMPLATE}}`,
	"cronjobs.batch":                   `{spec: {schedule: "0 0 * * *", jobTemplate: {spec: {template: TEMPLATE}}}}`,
	"serviceaccounts":                  `{imagePullSecrets: [{name: NAME}]}`,
	"ingresses.networking.k8s.io":      `{spec: {tls: [{secretName: NAME}], defaultBackend: {service: {name: s, port: {number: 80}}}}}`,
	"persistentvolumes":                `{spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], csi: {driver: d, volumeHandle: h, nodeStageSecretRef: {name: NAME, namespace: default}}}}`,
	"volumeattachments.storage.k8s.io": `{spec: {attacher: d, nodeName: gone, source: {inlineVolumeSpec: {accessModes: [ReadWriteOnce], csi: {driver: d, volumeHandle: h, nodeStageSecretRef: {name: NAME, namespace: default}}}}}}`,
	"storageclasses.storage.k8s.io":    `{provisioner: d, parameters: {csi.storage.k8s.io/provisioner-secret-name: NAME, csi.storage.k8s.io/provisioner-secret-namespace: default}}`,
	"ingressclasses.networking.k8s.io": `{spec: {controller: example.com/c, parameters: {kind: Secret, name: NAME, scope: Namespace, namespace: default}}}`,

	"validatingadmissionpolicybindings.admissionregistration.k8s.io": `{spec: {policyName: none, validationActions: [Deny], paramRef: {name: NAME, namespace: default, parameterNotFoundAction: Allow}}}`,
	"mutatingadmissionpolicybindings.admissionregistration.k8s.io":   `{spec: {policyName: none, paramRef: {name: NAME, namespace: default, parameterNotFoundAction: Allow}}}`,
	"mutatingwebhookconfigurations.admissionregistration.k8s.io":     `{metadata: {annotations: {cert-manager.io/inject-ca-from-secret: default/NAME}}}`,
	"validatingwebhookconfigurations.admissionregistration.k8s.io":   `{metadata: {annotations: {cert-manager.io/inject-ca-from-secret: default/NAME}}}`,
	"apiservices.apiregistration.k8s.io":                             `{metadata: {annotations: {cert-manager.io/inject-ca-from-secret: default/NAME}}, spec: {group: far.example.com, version: v1, groupPriorityMinimum: 1, versionPriority: 1, service: {name: s, namespace: default}}}`,
}

const referringTemplate = `{metadata: {labels: {app: a}}, spec: {RESTART containers: [{name: c, image: i, env: [{name: x, valueFrom: {secretKeyRef: {name: NAME, key: k}}}]}]}}`

// newSecret creates a Secret.
func newSecret(t *testing.T, client servertest.Cluster, namespace, name string) *corev1.Secret {
	t.Helper()
	created, err := client.CoreV1().Secrets(namespace).Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return created
}

// awaitUse waits until the index of a server knows that a Secret is used, or is not.
func awaitUse(t *testing.T, index *referrers.Index, secret string, used bool) {
	t.Helper()
	namespace, name, _ := strings.Cut(secret, "/")
	waittest.Until(t, fmt.Sprintf("the use of %s is %t", secret, used), func() error {
		if reason := index.Incomplete(namespace); reason != "" {
			return fmt.Errorf("incomplete: %s", reason)
		}
		since, unused := index.Unused(references.Secret, namespace, name)
		if unused == used {
			return fmt.Errorf("unused %t since %v", unused, since)
		}
		return nil
	})
	// What etcd has is the same.
	_, unreferenced, err := index.Unreferenced(t.Context(), references.Secret, namespace, name)
	if err != nil || unreferenced == used {
		t.Errorf("%s: unreferenced in etcd %t, %v", secret, unreferenced, err)
	}
}

// Each built-in kind that has rules refers to an object from its creation to its deletion.
func TestReferencesOfBuiltInKinds(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{})
	client, index := server.Cluster(t), server.References()
	for _, kind := range native.Kinds() {
		resource := kind.GroupResource()
		if _, ok := references.BuiltIn(resource); !ok || resource.Resource == "nodes" { // no client can set the field of nodes any more
			continue
		}
		text, ok := referring[resource.String()]
		if !ok {
			t.Errorf("no object of %s", resource)
			continue
		}
		name := "used-by-" + kind.Resource
		newSecret(t, client, "default", name)
		awaitUse(t, index, "default/"+name, false)
		restart := ""
		if kind.Resource == "jobs" || kind.Resource == "cronjobs" {
			restart = "restartPolicy: Never,"
		}
		text = strings.NewReplacer("TEMPLATE", strings.NewReplacer("NAME", name, "RESTART", restart).Replace(referringTemplate), "NAME", name).Replace(text)
		object := yamltest.Object(t, text)
		object.SetGroupVersionKind(kind.GroupVersionKind())
		object.SetName("one")
		if kind.Resource == "apiservices" {
			object.SetName("v1.far.example.com")
		}
		var objects dynamic.ResourceInterface = client.Dynamic.Resource(kind.GroupVersion.WithResource(kind.Resource))
		if kind.Scope == native.Namespaced {
			objects = client.Dynamic.Resource(kind.GroupVersion.WithResource(kind.Resource)).Namespace("default")
		}
		if _, err := objects.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
			t.Errorf("create an object of %s: %v", resource, err)
			continue
		}
		awaitUse(t, index, "default/"+name, true)
		if err := objects.Delete(t.Context(), object.GetName(), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		awaitUse(t, index, "default/"+name, false)
	}
}

// boats returns the definition of boats with annotations, as YAML in flow style, and a scope.
func boats(t *testing.T, annotations, scope string) *unstructured.Unstructured {
	t.Helper()
	return yamltest.Object(t, fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.sea.example.com, annotations: %s}
spec:
  group: sea.example.com
  names: {kind: Boat, plural: boats}
  scope: %s
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`, annotations, scope))
}

var boatResource = schema.GroupVersionResource{Group: "sea.example.com", Version: "v1", Resource: "boats"}

// applyObject creates an object, or replaces it, when the server serves its kind.
func applyObject(t *testing.T, objects dynamic.ResourceInterface, object *unstructured.Unstructured) {
	t.Helper()
	waittest.Until(t, object.GetKind()+" "+object.GetName()+" is stored", func() error {
		_, err := objects.Apply(t.Context(), object.GetName(), object, metav1.ApplyOptions{FieldManager: "test", Force: true})
		return err
	})
}

// The references of custom resources are those that the definition declares, or else every string. They end with the object, and with the
// definition. Both servers know them, also after a restart.
func TestReferencesOfCustomResources(t *testing.T) {
	t.Parallel()
	one, two := startReplicas(t)
	client := one.Cluster(t)
	check := func(secret string, used bool) {
		t.Helper()
		awaitUse(t, one.References(), secret, used)
		awaitUse(t, two.References(), secret, used)
	}
	other := servertest.CreateNamespace(t, client, "other-")
	newSecret(t, client, "default", "hull")
	newSecret(t, client, "default", "sail")
	newSecret(t, client, other, "hull")
	definitions := client.Dynamic.Resource(crdResource)
	applyObject(t, definitions, boats(t, "{}", "Namespaced"))
	boat := func(spec string) *unstructured.Unstructured {
		return yamltest.Object(t, "{apiVersion: sea.example.com/v1, kind: Boat, metadata: {name: one}, spec: "+spec+"}")
	}
	here := client.Dynamic.Resource(boatResource).Namespace("default")
	applyObject(t, here, boat(`{deep: [{any: hull}], other: "the sail"}`))
	check("default/hull", true)
	check("default/sail", false) // it is only a part of a string
	check(other+"/hull", false)
	applyObject(t, here, boat(`{deep: [{any: keel}], sail: 1}`))
	check("default/hull", false)
	check("default/sail", true) // a key is a string too

	applyObject(t, definitions, boats(t, `{holdfast.dev/references: "Secret spec.secret"}`, "Namespaced"))
	check("default/sail", false)
	applyObject(t, here, boat(`{deep: [{any: sail}], secret: {name: hull, namespace: `+other+`}}`))
	check(other+"/hull", false) // a namespace has a say
	applyObject(t, here, boat(`{deep: [{any: sail}], secret: hull}`))
	check("default/hull", true)
	check("default/sail", false)
	applyObject(t, definitions, boats(t, `{}`, "Namespaced"))
	check("default/sail", true)

	if err := definitions.Delete(t.Context(), "boats.sea.example.com", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	check("default/hull", false)
	check("default/sail", false)
	waittest.Until(t, "the definition is gone", func() bool {
		_, err := definitions.Get(t.Context(), "boats.sea.example.com", metav1.GetOptions{})
		return err != nil
	})
	applyObject(t, definitions, boats(t, `{}`, "Cluster"))
	applyObject(t, client.Dynamic.Resource(boatResource), boat(`{any: hull}`))
	check("default/hull", true)
	check(other+"/hull", true)
	check("default/sail", false)
}
