package controller_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/test/controller/berth"
)

// harbourClient installs the definition that controller-gen generated, adds the
// markers, and returns a client with the types.
func harbourClient(t *testing.T, config *rest.Config) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, berth.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/harbour.example.com_berths.yaml")
	if err != nil {
		t.Fatal(err)
	}
	markers, err := os.ReadFile("testdata/markers.json")
	if err != nil {
		t.Fatal(err)
	}
	crd := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(text, &crd.Object); err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), crd, client.FieldValidation("Strict")); err != nil {
		t.Fatal(err)
	}
	if err := c.Patch(t.Context(), crd, client.RawPatch(types.JSONPatchType, markers), client.FieldValidation("Strict")); err != nil {
		t.Fatal(err)
	}
	// The server serves the definition with its markers a moment after the patch.
	probe := newBerth("probe")
	waittest.Until(t, "berths are served", func() bool { return c.Create(t.Context(), probe) == nil })
	probe.Spec.Dock = "south"
	waittest.Until(t, "the markers protect berths", func() bool { return c.Update(t.Context(), probe.DeepCopy(), client.DryRunAll) != nil })
	if err := c.Delete(t.Context(), newBerth("probe")); err != nil {
		t.Fatal(err)
	}
	return c
}

func newBerth(name string) *berth.Berth {
	power := intstr.FromString("blue")
	return &berth.Berth{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec: berth.BerthSpec{
			Dock: "north", Power: &power, Bollards: []berth.Bollard{{Name: "bow", Tons: 40}},
			Settings: &runtime.RawExtension{Raw: []byte(`{"crane":{"speed":[1,2.5,"max"]}}`)},
		},
	}
}

// TestHarbour creates an object of a generated Go type, with defaults and a null
// for a nil slice, updates its spec and status, and deletes it with a finalizer.
func TestHarbour(t *testing.T) {
	config := servertest.Start(t, apiserver.Config{}).Config(t)
	c := harbourClient(t, config)
	manager := newManager(t, config, ctrl.Options{Scheme: c.Scheme()})
	if err := addHarbour(manager); err != nil {
		t.Fatal(err)
	}
	start(t, manager)

	b := newBerth("b1")
	key := client.ObjectKeyFromObject(b)
	if err := c.Create(t.Context(), b, client.FieldValidation("Strict")); err != nil {
		t.Fatal(err)
	}
	one := int32(1)
	want := newBerth("b1").Spec
	want.Cranes, want.MaxDepth, want.Side = &one, 20, "port"
	if diff := cmp.Diff(want, b.Spec); diff != "" {
		t.Errorf("created (-want +got):\n%s", diff)
	}
	ready := func(text string) {
		t.Helper()
		waittest.Until(t, "berth is ready: "+text, func() bool {
			if c.Get(t.Context(), key, b) != nil {
				return false
			}
			condition := meta.FindStatusCondition(b.Status.Conditions, "Ready")
			return condition != nil && condition.Message == text &&
				condition.ObservedGeneration == b.Generation && b.Status.ObservedGeneration == b.Generation
		})
		sign := &corev1.ConfigMap{}
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "sign-b1"}, sign); err != nil || sign.Data["sign"] != text {
			t.Errorf("sign: %v, %v", sign.Data, err)
		}
	}
	ready("north, port side, 1 bollards")

	patch := client.MergeFrom(b.DeepCopy())
	b.Spec.Side = "starboard"
	b.Spec.Bollards = append(b.Spec.Bollards, berth.Bollard{Name: "stern", Tons: 40})
	if err := c.Patch(t.Context(), b, patch); err != nil {
		t.Fatal(err)
	}
	ready("north, starboard side, 2 bollards")
	if b.Generation != 2 {
		t.Errorf("generation %d: a finalizer or a status counted as a change of the spec", b.Generation)
	}

	if err := c.Delete(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "berth and sign are gone", func() bool {
		gone := apierrors.IsNotFound(c.Get(t.Context(), key, &berth.Berth{}))
		return gone && apierrors.IsNotFound(c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "sign-b1"}, &corev1.ConfigMap{}))
	})
}

// TestHarbourRefusals tests the error messages that the author of a controller
// reads.
func TestHarbourRefusals(t *testing.T) {
	c := harbourClient(t, servertest.Start(t, apiserver.Config{}).Config(t))
	cases := map[string]struct {
		change func(*berth.Berth)
		write  func(context.Context, *berth.Berth) error
		want   []string
	}{
		"an immutable field, by update": {
			change: func(b *berth.Berth) { b.Spec.Dock = "south" },
			want:   []string{"BadRequest", "FieldImmutable spec.dock", `spec.dock`, `"north"`, `"south"`},
		},
		"an immutable field, by the status": {
			change: func(b *berth.Berth) { b.Spec.Dock = "south" },
			write:  func(ctx context.Context, b *berth.Berth) error { return c.Status().Update(ctx, b) },
			want:   nil, // a write of the status changes nothing else
		},
		"a key that goes from a list that only grows": {
			change: func(b *berth.Berth) { b.Spec.Bollards = nil },
			want:   []string{"BadRequest", "FieldImmutable spec.bollards", "bow"},
		},
		"both at once": {
			change: func(b *berth.Berth) { b.Spec.Dock, b.Spec.Bollards = "south", nil },
			want:   []string{"BadRequest", "FieldImmutable spec.dock", "FieldImmutable spec.bollards"},
		},
		"a value out of range": {
			change: func(b *berth.Berth) { b.Spec.Bollards[0].Tons = 501 },
			want:   []string{"Invalid", "spec.bollards[0].tons", "less than or equal to 500"},
		},
		"a rule": {
			change: func(b *berth.Berth) { b.Spec.MinDepth, b.Spec.MaxDepth = 5, 4 },
			want:   []string{"Invalid", "minDepth must not exceed maxDepth"},
		},
		"a stale write, even of an immutable field": {
			change: func(b *berth.Berth) { b.Spec.Dock, b.ResourceVersion = "south", "1" },
			want:   []string{"Conflict", "the object has been modified"},
		},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBerth("refused")
			if err := c.Create(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := c.Delete(t.Context(), newBerth("refused")); err != nil {
					t.Error(err)
				}
			}()
			test.change(b)
			if test.write == nil {
				test.write = func(ctx context.Context, b *berth.Berth) error { return c.Update(ctx, b) }
			}
			got := told(test.write(t.Context(), b))
			if len(test.want) == 0 && got != "" {
				t.Errorf("refused: %s", got)
			}
			for _, want := range test.want {
				if !strings.Contains(got, want) {
					t.Errorf("want %s in %s", want, got)
				}
			}
		})
	}
}

// told returns what a client reads in an error: reason, message and causes.
func told(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return ""
	}
	said := []string{string(status.Status().Reason), status.Status().Message}
	if details := status.Status().Details; details != nil {
		for _, cause := range details.Causes {
			said = append(said, string(cause.Type)+" "+cause.Field+": "+cause.Message)
		}
	}
	return strings.Join(said, "; ")
}
