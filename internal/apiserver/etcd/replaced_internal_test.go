package etcd

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// stored returns a ConfigMap as protobuf and as JSON, as they are stored.
func stored(t testing.TB, uid, owner, value string) (message, text []byte) {
	t.Helper()
	object := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: "a", UID: types.UID(uid), Labels: map[string]string{"uid": "x"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "p", UID: types.UID(owner)}},
			ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: "a", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:uid":{}}}`)}},
		},
		Data: map[string]string{"value": value},
	}
	raw, err := object.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	unknown, err := (&runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, Raw: raw}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if text, err = json.Marshal(object); err != nil {
		t.Fatal(err)
	}
	return append([]byte("k8s\x00"), unknown...), text
}

func TestSameUID(t *testing.T) {
	t.Parallel()
	message, text := stored(t, "one", "owner", "a")
	for name, test := range map[string]struct {
		uid, owner, value string
		want              bool
	}{
		"the same":                {"one", "owner", "a", true},
		"another value":           {"one", "owner", `"uid":"two"`, true},
		"another owner":           {"one", "other", "a", true},
		"another object":          {"two", "owner", "a", false},
		"the UIDs change places":  {"owner", "one", "a", false},
		"a prefix of the old UID": {"on", "owner", "a", false},
	} {
		otherMessage, otherText := stored(t, test.uid, test.owner, test.value)
		if got := sameUID(otherMessage, message); got != test.want {
			t.Errorf("%s in protobuf: %t", name, got)
		}
		if got := sameUID(otherText, text); got != test.want {
			t.Errorf("%s in JSON: %t", name, got)
		}
		if got := sameUID(otherText, message); got != test.want {
			t.Errorf("%s in JSON, before in protobuf: %t", name, got)
		}
		spaced := []byte(strings.ReplaceAll(string(otherText), `"uid":"`, `"uid": "`))
		if got := sameUID(spaced, text); got != test.want {
			t.Errorf("%s in JSON with spaces: %t", name, got)
		}
	}
}

// The server makes this comparison for each write that it sees. Its cost must not depend on the fields of an object.
func BenchmarkSameUID(b *testing.B) {
	for _, size := range []int{1 << 10, 16 << 10, 256 << 10} {
		message, text := stored(b, "0f4d3b52-6b25-4b7e-9d5c-3a8e1c7f2a10", "7a1e9c44-1f0d-4a3b-8a55-0c9d2e6b4f31", strings.Repeat("x", size))
		for _, form := range []struct {
			name  string
			value []byte
		}{{"protobuf", message}, {"json", text}} {
			b.Run(fmt.Sprintf("%s/%dKiB", form.name, size>>10), func(b *testing.B) {
				for b.Loop() {
					if !sameUID(form.value, form.value) {
						b.Fatal("not the same")
					}
				}
			})
		}
	}
}
