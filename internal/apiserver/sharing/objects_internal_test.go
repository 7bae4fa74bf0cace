package sharing

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/randfill"

	"holdfast.dev/holdfast/internal/waittest"
)

var pods = schema.GroupResource{Resource: "pods"}

// TestShare shares the parts of random objects. The objects stay equal to what they were, and so do the earlier ones.
func TestShare(t *testing.T) {
	const rounds = 400
	fill := newFiller(1)
	for _, empty := range []k8sruntime.Object{
		&corev1.Pod{}, &corev1.Node{}, &corev1.ConfigMap{}, &corev1.Secret{}, &corev1.Service{}, &corev1.Event{},
		&appsv1.Deployment{}, &coordinationv1.Lease{}, &networkingv1.Ingress{},
	} {
		t.Run(fmt.Sprintf("%T", empty), func(t *testing.T) {
			objects, shared := newObjects(), 0
			var earlier []k8sruntime.Object
			for range rounds {
				obj := empty.DeepCopyObject()
				if len(earlier) > 0 && fill.IntN(4) > 0 {
					// A write of an object that exists, or another object of its owner.
					obj = earlier[fill.IntN(len(earlier))].DeepCopyObject()
				}
				fill.change(obj)
				obj.(interface{ Size() int }).Size() // writes the text of quantities
				want := obj.DeepCopyObject()
				copies := copiesOf(earlier)
				objects.Share(pods, obj)
				if !reflect.DeepEqual(obj, want) {
					t.Fatalf("the object has changed:\n%s", cmp.Diff(want, obj))
				}
				if !reflect.DeepEqual(earlier, copies) {
					t.Fatal("an earlier object has changed")
				}
				for _, other := range earlier {
					if sharesData(reflect.ValueOf(obj).Elem(), reflect.ValueOf(other).Elem()) {
						shared++
						break
					}
				}
				if earlier = append(earlier, obj); len(earlier) > 8 {
					earlier = earlier[1:]
				}
			}
			if shared < rounds/3 {
				t.Errorf("%d of %d objects share something", shared, rounds)
			}
		})
	}
}

// TestPartsOfPods names the parts that pods of one owner share, and the versions of one pod.
func TestPartsOfPods(t *testing.T) {
	pod := func(name, message string) *corev1.Pod {
		owner := metav1.OwnerReference{Name: "web", UID: "web", Controller: ptr.To(true)}
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: name, UID: types.UID(name), OwnerReferences: []metav1.OwnerReference{owner}, Labels: map[string]string{"app": "web"},
				ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet", Time: &metav1.Time{Time: time.Now()}, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`)}},
			},
			Spec:   corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Args: []string{"--listen=:80"}}}},
			Status: corev1.PodStatus{Message: message, Conditions: []corev1.PodCondition{{Type: corev1.PodReady}}},
		}
	}
	objects := newObjects()
	first, second, changed := pod("a", "one"), pod("b", "two"), pod("b", "three")
	for _, one := range []*corev1.Pod{first, second, changed} {
		objects.Share(pods, one)
	}
	changed.Spec.Containers[0].Args[0] = "corrupted"
	for name, one := range map[string]*corev1.Pod{"first": first, "second": second} {
		if one.Spec.Containers[0].Args[0] != "corrupted" {
			t.Errorf("the last pod has containers of its own, not those of the %s", name)
		}
	}
	if first.ManagedFields[0].FieldsV1 != changed.ManagedFields[0].FieldsV1 {
		t.Error("the pods have managed fields of their own")
	}
	if first.Status.Message != "one" || second.Status.Message != "two" || changed.Status.Message != "three" {
		t.Error("a part that is not equal was shared")
	}
	// A wrong earlier object leads to less sharing, and to no wrong object.
	last := pod("b", "three")
	if objects.Share(pods, last); last.Spec.Containers[0].Args[0] != "--listen=:80" {
		t.Errorf("the last pod has the arguments %q", last.Spec.Containers[0].Args)
	}
}

// TestEntries shares the entries of a map that differs in one of them.
func TestEntries(t *testing.T) {
	configMap := func(color string) *corev1.ConfigMap {
		return &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{UID: "a"},
			Data:       map[string]string{strings.Clone("listen"): strings.Clone("0.0.0.0:80"), strings.Clone("color"): color},
		}
	}
	objects, first, second := newObjects(), configMap("red"), configMap("blue")
	objects.Share(pods, first)
	objects.Share(pods, second)
	if !maps.Equal(second.Data, map[string]string{"listen": "0.0.0.0:80", "color": "blue"}) || first.Data["color"] != "red" {
		t.Errorf("the data are %v, and were %v", second.Data, first.Data)
	}
	addresses := func(of *corev1.ConfigMap) map[string]*byte {
		out := map[string]*byte{"value of listen": unsafe.StringData(of.Data["listen"])}
		for name := range of.Data {
			out[name] = unsafe.StringData(name)
		}
		return out
	}
	if !maps.Equal(addresses(first), addresses(second)) {
		t.Error("the ConfigMaps have keys or values of their own")
	}
}

// TestItems shares the parts of the items of a list, and does not keep the memory of the list.
func TestItems(t *testing.T) {
	objects, freed := newObjects(), make(chan struct{})
	list := &corev1.PodList{Items: make([]corev1.Pod, 100)}
	for i := range list.Items {
		list.Items[i].UID, list.Items[i].Labels = types.UID(fmt.Sprint(i)), map[string]string{"app": "web"}
		objects.ShareItem(pods, &list.Items[i])
	}
	if reflect.ValueOf(list.Items[0].Labels).UnsafePointer() != reflect.ValueOf(list.Items[99].Labels).UnsafePointer() {
		t.Error("the items have labels of their own")
	}
	runtime.AddCleanup(&list.Items[0], func(freed chan struct{}) { close(freed) }, freed)
	list = nil
	waittest.Until(t, "the list is collected", func() bool {
		runtime.GC()
		select {
		case <-freed:
			return true
		default:
			return false
		}
	})
	runtime.KeepAlive(objects)
}

// TestShareCopy checks that a copy of an object shares its parts, and that later objects share with the object itself.
func TestShareCopy(t *testing.T) {
	objects := newObjects()
	fill := newFiller(3)
	for range 50 {
		original := &corev1.Pod{}
		fill.change(original)
		original.UID = types.UID(fmt.Sprint(fill.Uint64()))
		objects.Share(pods, original)
		copied := original.DeepCopy()
		objects.ShareCopy(pods, copied)
		if diff := cmp.Diff(original, copied); diff != "" {
			t.Fatalf("the copy has changed (-want +got):\n%s", diff)
		}
		if !sharesData(reflect.ValueOf(copied).Elem(), reflect.ValueOf(original).Elem()) {
			t.Fatal("the copy shares nothing")
		}
		kept, ok := objects.earlier.Get(key{pods, original.UID}, func(k8sruntime.Object) bool { return true })
		if !ok || kept != k8sruntime.Object(original) {
			t.Fatal("the original is not remembered any more")
		}
	}
}

// TestOtherObjects shares nothing of objects without a protobuf encoding, and of nil objects.
func TestOtherObjects(t *testing.T) {
	var none *Objects
	none.Share(pods, &corev1.Pod{})
	objects := newObjects()
	objects.Share(pods, &unstructured.Unstructured{Object: map[string]any{}})
	if len(none.Caches()) != 0 || len(objects.Caches()) != 1 {
		t.Error("wrong caches")
	}
}

func copiesOf(objs []k8sruntime.Object) []k8sruntime.Object {
	var out []k8sruntime.Object
	for _, obj := range objs {
		out = append(out, obj.DeepCopyObject())
	}
	return out
}

// sharesData reports whether two values share a list, a map, a pointer or a text.
func sharesData(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.String:
		return a.Len() > 0 && unsafe.StringData(a.String()) == unsafe.StringData(b.String())
	case reflect.Slice, reflect.Map:
		return a.Len() > 0 && a.UnsafePointer() == b.UnsafePointer()
	case reflect.Pointer:
		return !a.IsNil() && a.UnsafePointer() == b.UnsafePointer()
	case reflect.Struct:
		for i := range a.NumField() {
			if a.Type().Field(i).IsExported() && sharesData(a.Field(i), b.Field(i)) {
				return true
			}
		}
	}
	return false
}

// filler changes objects.
type filler struct {
	*randfill.Filler
	*rand.Rand
}

func newFiller(seed int64) filler {
	random := rand.New(rand.NewPCG(uint64(seed), 0))
	return filler{randfill.NewWithSeed(seed).NilChance(.4).NumElements(1, 3).MaxDepth(12).Funcs(
		func(q *resource.Quantity, c randfill.Continue) {
			*q = *resource.NewQuantity(c.Int63n(5), resource.DecimalSI)
		},
		func(at *metav1.Time, c randfill.Continue) { at.Time = time.Unix(c.Int63n(3), 0) },
		func(at *metav1.MicroTime, c randfill.Continue) { at.Time = time.Unix(c.Int63n(3), 0) },
		func(fields *metav1.FieldsV1, c randfill.Continue) {
			fields.SetRawBytes(fmt.Appendf(nil, `{"f:%d":{}}`, c.Int63n(3)))
		},
		func(raw *k8sruntime.RawExtension, c randfill.Continue) {
			raw.Raw = fmt.Appendf(nil, `{"%d":{}}`, c.Int63n(3))
		},
		func(s *string, c randfill.Continue) { *s = fmt.Sprint("text ", c.Int63n(4)) },
		func(id *types.UID, c randfill.Continue) { *id = types.UID(fmt.Sprint("uid ", c.Int63n(4))) },
	), random}
}

// change gives one part of an object a random value: a field below metadata, spec, status or data.
func (f filler) change(obj k8sruntime.Object) {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		panic(err)
	}
	value := reflect.ValueOf(obj).Elem()
	for range 1 + f.IntN(3) {
		part := value.Field(1 + f.IntN(value.NumField()-1)) // not the TypeMeta
		if part.Kind() == reflect.Struct {
			part = part.Field(f.IntN(part.NumField()))
		}
		f.Fill(part.Addr().Interface())
	}
	if f.IntN(2) == 0 {
		accessor.SetOwnerReferences([]metav1.OwnerReference{{UID: types.UID(fmt.Sprint(f.IntN(3))), Controller: ptr.To(true)}})
	}
}
