package setup_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsinstall "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"holdfast.dev/holdfast/internal/othercluster/installation"
	"holdfast.dev/holdfast/internal/othercluster/manager"
	"holdfast.dev/holdfast/internal/othercluster/manager/setup"
)

// objects returns the objects of an installation. With an address, the manager runs outside
// the cluster.
func objects(t *testing.T, address string) []*unstructured.Unstructured {
	t.Helper()
	config := setup.Config{Image: "holdfast:test"}
	if address != "" {
		var err error
		if config.WebhookURL, err = url.Parse(address); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if config.Keys, err = manager.CompleteKeys(nil, config.Hosts(), time.Now()); err != nil {
		t.Fatal(err)
	}
	all, err := setup.Objects(config)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestOrder checks that the namespace comes first and that the webhooks come before the kinds.
func TestOrder(t *testing.T) {
	t.Parallel()
	var got []string
	for _, object := range objects(t, "") {
		got = append(got, object.GetKind()+" "+object.GetName())
	}
	want := []string{
		"Namespace kudo-system", "ServiceAccount kudo-manager", "ClusterRole kudo-manager", "ClusterRoleBinding kudo-manager",
		"Role kudo-manager", "RoleBinding kudo-manager", "ClusterRole kudo-edit", "ClusterRole kudo-view",
		"Secret kudo-records", "Secret kudo-webhook",
		"MutatingWebhookConfiguration kudo-webhook", "ValidatingWebhookConfiguration kudo-webhook",
		"CustomResourceDefinition operators.kudo.dev", "CustomResourceDefinition operatorversions.kudo.dev",
		"CustomResourceDefinition instances.kudo.dev",
		"Service kudo-webhook", "Deployment kudo-manager",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
}

// TestStockTypes checks that a stock Kubernetes server knows every field of the objects, and
// that the definitions pass its validation.
func TestStockTypes(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, rbacv1.AddToScheme, appsv1.AddToScheme, admissionregistrationv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	apiextensionsinstall.Install(scheme)
	strict := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	for _, object := range append(objects(t, ""), objects(t, "https://10.0.0.7:9443/kudo")...) {
		name := object.GetKind() + " " + object.GetName()
		text, err := json.Marshal(object.Object)
		if err != nil {
			t.Fatal(err)
		}
		read, _, err := strict.Decode(text, nil, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		definition, isDefinition := read.(*apiextensionsv1.CustomResourceDefinition)
		if !isDefinition {
			continue
		}
		apiextensionsv1.SetDefaults_CustomResourceDefinition(definition)
		apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&definition.Spec)
		internal := &apiextensions.CustomResourceDefinition{}
		if err := scheme.Convert(definition, internal, nil); err != nil {
			t.Fatal(err)
		}
		for _, wrong := range apiextensionsvalidation.ValidateCustomResourceDefinition(t.Context(), internal) {
			// The server sets this field itself.
			if wrong.Field != "status.storedVersions" {
				t.Errorf("%s: %v", name, wrong)
			}
		}
	}
}

// TestClientConfig checks the addresses of the webhooks, and that they trust the authority in
// the Secret.
func TestClientConfig(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		address string
		want    []string
	}{
		"inside": {"", []string{
			"map[name:kudo-webhook namespace:kudo-system path:/mutate port:443]",
			"map[name:kudo-webhook namespace:kudo-system path:/validate port:443]",
			"map[name:kudo-webhook namespace:kudo-system path:/delete port:443]",
			"map[name:kudo-webhook namespace:kudo-system path:/validate port:443]",
		}},
		"outside": {
			"https://10.0.0.7:9443",
			[]string{
				"https://10.0.0.7:9443/mutate", "https://10.0.0.7:9443/validate", "https://10.0.0.7:9443/delete",
				"https://10.0.0.7:9443/validate",
			},
		},
		"outside, by path": {
			"https://a.example/kudo/",
			[]string{
				"https://a.example/kudo/mutate", "https://a.example/kudo/validate", "https://a.example/kudo/delete",
				"https://a.example/kudo/validate",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			var authority string
			for _, object := range objects(t, test.address) {
				if object.GetKind() == "Secret" && object.GetName() == manager.Secret {
					authority, _, _ = unstructured.NestedString(object.Object, "data", manager.AuthorityCertKey)
				}
				hooks, _ := object.Object["webhooks"].([]any)
				for _, each := range hooks {
					client, _, err := unstructured.NestedMap(each.(map[string]any), "clientConfig")
					if err != nil {
						t.Fatal(err)
					}
					if client["caBundle"] != authority || authority == "" {
						t.Errorf("trusts %v", client["caBundle"])
					}
					if client["url"] != nil {
						got = append(got, fmt.Sprint(client["url"]))
					} else {
						got = append(got, fmt.Sprint(client["service"]))
					}
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("addresses (-want +got):\n%s", diff)
			}
		})
	}
}

// TestServiceAccount checks that every object that names the account of the manager names the
// configured one, and that the manager learns it.
func TestServiceAccount(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{"": "kudo-manager", "operators": "operators"} {
		all, err := setup.Objects(setup.Config{Image: "holdfast:test", ServiceAccount: given})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, object := range all {
			switch object.GetKind() {
			case "ServiceAccount":
				got = append(got, object.GetNamespace()+"/"+object.GetName())
			case "ClusterRoleBinding", "RoleBinding":
				got = append(got, fmt.Sprint(object.Object["subjects"]))
			case "Deployment":
				pod, _, _ := unstructured.NestedMap(object.Object, "spec", "template", "spec")
				args := pod["containers"].([]any)[0].(map[string]any)["args"]
				got = append(got, fmt.Sprint(pod["serviceAccountName"]), fmt.Sprint(args))
			}
		}
		subjects := "[map[kind:ServiceAccount name:" + want + " namespace:kudo-system]]"
		if diff := cmp.Diff([]string{
			"kudo-system/" + want, subjects, subjects, want,
			"[kudo manager --webhook-address=:9443 --health-address=:8081 --service-account=" + want + "]",
		}, got); diff != "" {
			t.Errorf("account %q (-want +got):\n%s", given, diff)
		}
	}
}

// TestNoRecordKeys checks that an installation has no keys of records. It would replace those
// that the manager uses.
func TestNoRecordKeys(t *testing.T) {
	t.Parallel()
	for _, object := range objects(t, "") {
		if object.GetName() == manager.RecordsSecret && object.Object["data"] != nil {
			t.Error("the Secret has data")
		}
	}
}

func TestPrint(t *testing.T) {
	t.Parallel()
	all := objects(t, "")
	var text bytes.Buffer
	if err := installation.Print(&text, all, "yaml"); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text.String(), "x-kubernetes-immutable") {
		t.Error("the output has a keyword that other servers do not know")
	}
	decoder := utilyaml.NewYAMLOrJSONDecoder(&text, 4096)
	for _, want := range all {
		got := &unstructured.Unstructured{}
		if err := decoder.Decode(&got.Object); err != nil {
			t.Fatal(err)
		}
		if got.GetKind() != want.GetKind() || got.GetName() != want.GetName() {
			t.Errorf("%s %s, want %s %s", got.GetKind(), got.GetName(), want.GetKind(), want.GetName())
		}
	}
	if err := installation.Print(&text, all, "json"); err != nil {
		t.Fatal(err)
	}
	list := &unstructured.UnstructuredList{}
	if err := list.UnmarshalJSON(text.Bytes()); err != nil || len(list.Items) != len(all) {
		t.Errorf("%d items, %v", len(list.Items), err)
	}
}
