package defaults_test

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	"k8s.io/apimachinery/pkg/api/equality"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/randfill"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/native"
	"holdfast.dev/holdfast/internal/native/defaults"
	"holdfast.dev/holdfast/internal/yamltest"
)

// manifests are test cases: an object as a client writes it, and the same object with its defaults.
type manifests map[string]struct{ in, want string }

func (cases manifests) run(t *testing.T) {
	t.Helper()
	scheme := newScheme()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			obj := yamltest.Kind(t, scheme, c.in)
			scheme.Default(obj)
			if diff := cmp.Diff(show(t, yamltest.Kind(t, scheme, c.want)), show(t, obj)); diff != "" {
				t.Errorf("defaulted (-want +got):\n%s", diff)
			}
		})
	}
}

// newScheme returns a scheme with all published types and their defaults.
func newScheme() *runtime.Scheme {
	scheme := native.NewPublishedScheme()
	defaults.Register(scheme)
	return scheme
}

func show(t *testing.T, obj runtime.Object) string {
	t.Helper()
	text, err := yaml.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestIdempotent fills objects of all kinds with random values, often with strings that have a meaning for defaults. Setting
// the defaults a second time must change nothing.
func TestIdempotent(t *testing.T) {
	scheme := newScheme()
	funcs := fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs)
	for gvk := range scheme.AllKnownTypes() {
		if gvk.Version == runtime.APIVersionInternal || strings.HasSuffix(gvk.Kind, "Options") {
			continue
		}
		t.Run(fmt.Sprintf("%s/%s", gvk.Group, gvk.Kind), func(t *testing.T) {
			t.Parallel()
			for seed := range int64(60) {
				filler := fuzzer.FuzzerFor(funcs, rand.NewSource(seed), serializer.NewCodecFactory(scheme))
				obj, err := scheme.New(gvk)
				if err != nil {
					t.Fatal(err)
				}
				filler.NumElements(0, 3).Funcs(
					oneOf("", corev1.ClusterIPNone, "10.0.0.1", "fd00::1", "nginx", "nginx:latest"),
					oneOf("", corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer),
					oneOf("", corev1.ServiceAffinityNone, corev1.ServiceAffinityClientIP),
					oneOf("", corev1.IPv4Protocol, corev1.IPv6Protocol),
					oneOf(corev1.ResourceCPU, corev1.ResourceMemory, "hugepages-2Mi", "limits.cpu"),
					oneOf("", corev1.LimitTypeContainer, corev1.LimitTypePod),
					oneOf("", appsv1.RollingUpdateDeploymentStrategyType, appsv1.RecreateDeploymentStrategyType),
					oneOf("", appsv1.RollingUpdateDaemonSetStrategyType, appsv1.OnDeleteDaemonSetStrategyType),
					oneOf("", appsv1.RollingUpdateStatefulSetStrategyType, appsv1.OnDeleteStatefulSetStrategyType),
				)
				filler.Fill(obj)
				scheme.Default(obj)
				again := obj.DeepCopyObject()
				scheme.Default(again)
				if !equality.Semantic.DeepEqual(obj, again) {
					t.Fatalf("seed %d: the second time changed the object (-once +twice):\n%s", seed, cmp.Diff(show(t, obj), show(t, again)))
				}
			}
		})
	}
}

// oneOf returns a fuzzer function that sets a string of type T to one of words.
func oneOf[T ~string](words ...T) func(*T, randfill.Continue) {
	return func(field *T, c randfill.Continue) { *field = words[c.Intn(len(words))] }
}

// TestLists checks that the defaults of the items of a list are set.
func TestLists(t *testing.T) {
	manifests{
		"two secrets": {
			in: `
apiVersion: v1
kind: SecretList
items:
- {metadata: {name: a}}
- {metadata: {name: b}, type: kubernetes.io/tls}
`,
			want: `
apiVersion: v1
kind: SecretList
items:
- {metadata: {name: a}, type: Opaque}
- {metadata: {name: b}, type: kubernetes.io/tls}
`,
		},
	}.run(t)
}

// TestNothingIsShared checks that maps with defaults from the same source do not share memory.
func TestNothingIsShared(t *testing.T) {
	scheme := newScheme()
	obj := yamltest.Kind(t, scheme, `
apiVersion: v1
kind: ReplicationController
spec:
  template: {metadata: {labels: {app: web}}}
`).(*corev1.ReplicationController)
	scheme.Default(obj)
	obj.Labels["app"] = "other"
	obj.Spec.Selector["app"] = "another"
	if got := obj.Spec.Template.Labels["app"]; got != "web" {
		t.Errorf("the template's label became %q", got)
	}
	if got := obj.Labels["app"]; got != "other" {
		t.Errorf("the controller's label became %q", got)
	}
}
