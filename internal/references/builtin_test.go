package references_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/randfill"

	"holdfast.dev/holdfast/internal/native"
	"holdfast.dev/holdfast/internal/references"
	"holdfast.dev/holdfast/internal/yamltest"
	"holdfast.dev/holdfast/value"
)

// The places in which users write references. The page docs/series-references.md has all places.
func TestBuiltIn(t *testing.T) {
	t.Parallel()
	for resource, test := range map[string]struct{ object, want string }{
		"pods": {`
spec:
  imagePullSecrets: [{name: pull}]
  volumes:
  - {name: v1, configMap: {name: settings}}
  - {name: v2, secret: {secretName: password}}
  - {name: v3, projected: {sources: [{configMap: {name: projected}}, {secret: {name: hidden}}, {downwardAPI: {}}]}}
  - {name: v4, csi: {driver: d, nodePublishSecretRef: {name: csi}}}
  initContainers: [{name: init, envFrom: [{configMapRef: {name: init}}]}]
  containers:
  - name: c
    env: [{name: A, value: plain}, {name: B, valueFrom: {configMapKeyRef: {name: one, key: k}}}, {name: C, valueFrom: {secretKeyRef: {name: two, key: k}}}]
    envFrom: [{configMapRef: {name: three}}, {secretRef: {name: four}}]
  ephemeralContainers: [{name: debug, envFrom: [{secretRef: {name: debug}}]}]`, `
Secret pull spec.imagePullSecrets[0].name
ConfigMap settings spec.volumes[0].configMap.name
Secret password spec.volumes[1].secret.secretName
ConfigMap projected spec.volumes[2].projected.sources[0].configMap.name
Secret hidden spec.volumes[2].projected.sources[1].secret.name
Secret csi spec.volumes[3].csi.nodePublishSecretRef.name
ConfigMap one spec.containers[0].env[1].valueFrom.configMapKeyRef.name
Secret two spec.containers[0].env[2].valueFrom.secretKeyRef.name
ConfigMap three spec.containers[0].envFrom[0].configMapRef.name
Secret four spec.containers[0].envFrom[1].secretRef.name
ConfigMap init spec.initContainers[0].envFrom[0].configMapRef.name
Secret debug spec.ephemeralContainers[0].envFrom[0].secretRef.name`},
		"deployments.apps": {
			`spec: {template: {spec: {imagePullSecrets: [{name: pull}]}}}`, `Secret pull spec.template.spec.imagePullSecrets[0].name`,
		},
		"cronjobs.batch": {
			`spec: {jobTemplate: {spec: {template: {spec: {volumes: [{name: v, configMap: {name: settings}}]}}}}}`,
			`ConfigMap settings spec.jobTemplate.spec.template.spec.volumes[0].configMap.name`,
		},
		"podtemplates": {`template: {spec: {imagePullSecrets: [{name: pull}]}}`, `Secret pull template.spec.imagePullSecrets[0].name`},
		// The data is that of any controller, so every string counts.
		"controllerrevisions.apps": {
			`{data: {spec: {template: {spec: {volumes: [{configMap: {name: settings-1}, name: "not a name"}]}}}}}`, `
ConfigMap or Secret spec data.spec
ConfigMap or Secret template data.spec.template
ConfigMap or Secret spec data.spec.template.spec
ConfigMap or Secret volumes data.spec.template.spec.volumes
ConfigMap or Secret name data.spec.template.spec.volumes[0].configMap.name
ConfigMap or Secret settings-1 data.spec.template.spec.volumes[0].configMap.name
ConfigMap or Secret name data.spec.template.spec.volumes[0].name`,
		},
		// Kubernetes ignores the namespace.
		"serviceaccounts": {
			`{secrets: [{name: token, namespace: other}], imagePullSecrets: [{name: pull}]}`,
			"Secret token secrets[0].name\nSecret pull imagePullSecrets[0].name",
		},
		// A namespaced object does not reach into other namespaces by a text.
		"ingresses.networking.k8s.io": {
			`spec: {tls: [{secretName: cert}, {secretName: other/cert}, {secretName: Upper}, {hosts: [a.example.com]}]}`,
			`Secret cert spec.tls[0].secretName`,
		},
		"persistentvolumes": {`
metadata:
  annotations:
    volume.kubernetes.io/provisioner-deletion-secret-name: del
    volume.kubernetes.io/provisioner-deletion-secret-namespace: storage
spec:
  azureFile: {secretName: azure, secretNamespace: infra, shareName: s}
  csi: {nodeStageSecretRef: {name: stage, namespace: storage}, nodePublishSecretRef: {name: publish}}`, `
Secret infra/azure spec.azureFile.secretName
Secret publish spec.csi.nodePublishSecretRef.name
Secret storage/stage spec.csi.nodeStageSecretRef.name
Secret storage/del metadata.annotations["volume.kubernetes.io/provisioner-deletion-secret-name"]`},
		"storageclasses.storage.k8s.io": {`
parameters:
  csi.storage.k8s.io/provisioner-secret-name: ${pvc.name}-key
  csi.storage.k8s.io/provisioner-secret-namespace: ${pvc.namespace}
  csi.storage.k8s.io/node-stage-secret-name: fixed
  csi.storage.k8s.io/node-publish-secret-namespace: alone`, `
Secret ${pvc.namespace}/${pvc.name}-key parameters["csi.storage.k8s.io/provisioner-secret-name"]
Secret fixed parameters["csi.storage.k8s.io/node-stage-secret-name"]`},
		"nodes":                            {`spec: {configSource: {configMap: {namespace: kube-system, name: kubelet}}}`, `ConfigMap kube-system/kubelet spec.configSource.configMap.name`},
		"ingressclasses.networking.k8s.io": {`spec: {parameters: {kind: ConfigMap, name: nginx, namespace: web}}`, `ConfigMap web/nginx spec.parameters.name`},
		"validatingadmissionpolicybindings.admissionregistration.k8s.io": {
			`spec: {paramRef: {name: limits}}`, "ConfigMap limits spec.paramRef.name\nSecret limits spec.paramRef.name",
		},
		"apiservices.apiregistration.k8s.io": {
			`metadata: {annotations: {cert-manager.io/inject-ca-from-secret: certs/ca}}`,
			`Secret certs/ca metadata.annotations["cert-manager.io/inject-ca-from-secret"]`,
		},
		"gateways.gateway.networking.k8s.io": {`
spec:
  infrastructure: {parametersRef: {group: "", kind: ConfigMap, name: options}}
  listeners:
  - tls:
      certificateRefs: [{name: cert}, {kind: Secret, name: cert2, namespace: certs}, {kind: Certificate, name: other}]
      frontendValidation: {caCertificateRefs: [{kind: ConfigMap, name: ca}]}`, `
Secret cert spec.listeners[0].tls.certificateRefs[0].name
Secret certs/cert2 spec.listeners[0].tls.certificateRefs[1].name
ConfigMap ca spec.listeners[0].tls.frontendValidation.caCertificateRefs[0].name
ConfigMap options spec.infrastructure.parametersRef.name`},
	} {
		t.Run(resource, func(t *testing.T) {
			t.Parallel()
			rules, ok := references.BuiltIn(schema.ParseGroupResource(resource))
			if !ok {
				t.Fatal("no rules")
			}
			object := yamltest.Map(t, test.object)
			if diff := cmp.Diff(strings.Split(strings.TrimSpace(test.want), "\n"), texts(rules.Find(object))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// texts returns references with their places.
func texts(found []references.Reference) []string {
	var all []string
	for _, one := range found {
		all = append(all, text(one.Kind, one.Namespace, one.Name)+" "+one.Path.String())
	}
	return all
}

func text(kind references.Kind, namespace, name string) string {
	if namespace != "" {
		name = namespace + "/" + name
	}
	return kind.String() + " " + name
}

func TestKindWithoutRules(t *testing.T) {
	t.Parallel()
	if rules, ok := references.BuiltIn(schema.GroupResource{Resource: "services"}); ok {
		t.Errorf("a Service has rules: %v", rules)
	}
}

// filler makes random objects whose strings are names, and texts that are none.
func filler(seed int64) *randfill.Filler {
	texts := []string{"settings", "a-1", "b.c", "ConfigMap", "Secret", "Secret", "other/name", "${pvc.name}", "${", "Upper", "", strings.Repeat("x", 254)}
	name := func(c randfill.Continue) string {
		if c.Bool() {
			return fmt.Sprintf("name-%d", c.Intn(1000))
		}
		return texts[c.Intn(len(texts))]
	}
	return randfill.NewWithSeed(seed).NilChance(.1).NumElements(1, 2).MaxDepth(30).Funcs(
		func(s *string, c randfill.Continue) { *s = name(c) },
		func(m *map[string]string, c randfill.Continue) {
			*m = map[string]string{name(c): name(c)}
			for _, keys := range parameterKeys {
				if c.Bool() {
					(*m)[keys] = name(c)
				}
			}
		},
		func(raw *runtime.RawExtension, c randfill.Continue) {
			raw.Raw, _ = json.Marshal(map[string]any{name(c): []any{name(c), 1, map[string]any{name(c): name(c)}}})
		},
		func(q *resource.Quantity, _ randfill.Continue) { *q = resource.Quantity{} },
		func(f *metav1.FieldsV1, _ randfill.Continue) { *f = metav1.FieldsV1{} },
	)
}

// parameterKeys are the keys of maps that have rules.
var parameterKeys = func() (keys []string) {
	for _, resource := range references.BuiltInResources() {
		rules, _ := references.BuiltIn(resource)
		for _, place := range rules.Places() {
			if name := place.Last().Name; strings.Contains(name, "/") && !slices.Contains(keys, name) {
				keys = append(keys, name)
			}
		}
	}
	return keys
}()

// In random objects of every kind, the rules for Go types and those for JSON find the same references, and each rule finds some.
func TestTypedAndJSON(t *testing.T) {
	t.Parallel()
	for _, kind := range native.Kinds() {
		rules, ok := references.BuiltIn(kind.GroupResource())
		if !ok {
			continue
		}
		typed, err := rules.Typed(kind.Object)
		if err != nil {
			t.Error(err)
			continue
		}
		t.Run(kind.Resource, func(t *testing.T) {
			t.Parallel()
			reached := map[string]bool{}
			for seed := range int64(40) {
				object := reflect.New(reflect.TypeOf(kind.Object).Elem()).Interface().(runtime.Object)
				filler(seed).Fill(object)
				encoded, err := json.Marshal(object)
				if err != nil {
					t.Fatal(err)
				}
				var decoded map[string]any
				if err := json.Unmarshal(encoded, &decoded); err != nil {
					t.Fatal(err)
				}
				found := rules.Find(decoded)
				var fromJSON, fromText, fromType []string
				for _, one := range found {
					fromJSON = append(fromJSON, text(one.Kind, one.Namespace, one.Name))
					for place := pattern(one.Path); place != nil; place = place.Parent() {
						reached[place.String()] = true
					}
				}
				typed.Visit(object, func(kind references.Kind, namespace, name string) {
					fromType = append(fromType, text(kind, namespace, name))
				})
				if err := rules.Visit(encoded, func(kind references.Kind, namespace, name string) {
					fromText = append(fromText, text(kind, namespace, name))
				}); err != nil {
					t.Fatal(err)
				}
				slices.Sort(fromJSON)
				slices.Sort(fromType)
				slices.Sort(fromText)
				if !slices.Equal(fromJSON, fromType) || !slices.Equal(fromJSON, fromText) {
					t.Fatalf("seed %d: -JSON +Go\n%s\n-JSON +text\n%s", seed, cmp.Diff(fromJSON, fromType), cmp.Diff(fromJSON, fromText))
				}
			}
			for _, place := range rules.Places() {
				if isNamespace := strings.HasSuffix(strings.ToLower(place.Last().Name), "namespace"); !reached[place.String()] && !isNamespace {
					t.Errorf("no random object had a reference at %s", place)
				}
			}
		})
	}
}

// pattern returns a path with every item of a list instead of one.
func pattern(path *value.Path) *value.Path {
	var steps []value.Step
	for _, step := range path.Steps() {
		if step.Kind == value.Index {
			step = value.Step{Kind: value.AnyItem}
		}
		steps = append(steps, step)
	}
	return value.NewPath(steps...)
}

// Rules for a Go type need places that the type has.
func TestTypedErrors(t *testing.T) {
	t.Parallel()
	for rule, want := range map[string]string{
		"Secret spec.gone":                    "there is no .spec.gone",
		"Secret spec.tls.secretName":          "there is no .spec.tls.secretName",
		"Secret spec[*]":                      ".spec is not a list",
		"Secret spec.*":                       ".spec is not a map",
		"Secret spec.rules":                   ".spec.rules is a []v1.IngressRule, which has no name",
		"Secret metadata.name metadata.gone":  ".metadata.name has no gone beside it",
		"Strings spec":                        ".spec is a v1.IngressSpec, which has no name",
		"Secret metadata.labels.one.two":      "there is no .metadata.labels.one.two",
		"Secret spec.tls[*].hosts.secretName": "there is no .spec.tls[*].hosts.secretName",
	} {
		rules, err := references.Parse(rule)
		if err != nil {
			t.Fatal(err)
		}
		_, err = rules.Typed(objectOf(t, "ingresses"))
		if err == nil || !strings.HasSuffix(err.Error(), ": "+want) {
			t.Errorf("%s: %v, want %s", rule, err, want)
		}
	}
	if _, err := references.Everything().Typed(objectOf(t, "ingresses")); err == nil {
		t.Error("rules without places were accepted")
	}
	defer func() {
		if recover() == nil {
			t.Error("the rules of one type were used for another")
		}
	}()
	rules, _ := references.BuiltIn(schema.GroupResource{Resource: "pods"})
	typed, err := rules.Typed(objectOf(t, "pods"))
	if err != nil {
		t.Fatal(err)
	}
	typed.Visit(objectOf(t, "ingresses"), nil)
}

func objectOf(t *testing.T, resource string) runtime.Object {
	t.Helper()
	for _, kind := range native.Kinds() {
		if kind.Resource == resource {
			return kind.Object
		}
	}
	t.Fatalf("no kind %s", resource)
	return nil
}
