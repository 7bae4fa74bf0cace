package journal_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/replacement/journal"
	"holdfast.dev/holdfast/internal/yamltest"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// newEntry returns the journal of a ConfigMap whose level 1 becomes 2.
func newEntry(t testing.TB) *journal.Entry {
	t.Helper()
	return &journal.Entry{
		Resource: configMaps, UID: "u1", ResourceVersion: "7", User: "alice", Host: "h", FieldManager: "m", Propagation: "Background",
		Old: yamltest.Object(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: ns}, data: {level: "1"}}`),
		New: yamltest.Object(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: ns, `+
			`annotations: {kubectl.kubernetes.io/last-applied-configuration: two}}, data: {level: "2"}}`),
	}
}

// A journal is read as it was written.
func TestRead(t *testing.T) {
	t.Parallel()
	entry := newEntry(t)
	entry.Refusal = strings.Repeat("no", 10000)
	secret, err := entry.Secret()
	if err != nil {
		t.Fatal(err)
	}
	if secret.Namespace != "ns" || secret.Labels[journal.Label] != journal.LabelValue || secret.Annotations[journal.ObjectAnnotation] != "ConfigMap/a" {
		t.Errorf("metadata %v", secret.ObjectMeta)
	}
	read, err := journal.Read(secret)
	if err != nil {
		t.Fatal(err)
	}
	if read.UID != "u1" || read.ResourceVersion != "7" || read.User != "alice" || read.Host != "h" || read.FieldManager != "m" ||
		read.Propagation != "Background" || read.Resource != configMaps || len(read.Refusal) != 4096 {
		t.Errorf("read %+v", read)
	}
	for name, level := range map[*unstructured.Unstructured]string{read.Old: "1", read.New: "2"} {
		if got, _, _ := unstructured.NestedString(name.Object, "data", "level"); got != level {
			t.Errorf("level %s, want %s", got, level)
		}
	}
}

// A Secret that is no journal is refused, and the error names it.
func TestReadRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*corev1.Secret)
		want   string
	}{
		"another type":  {func(s *corev1.Secret) { s.Type = corev1.SecretTypeOpaque }, `its type is "Opaque"`},
		"no journal":    {func(s *corev1.Secret) { delete(s.Data, "journal") }, "journal: unexpected end of JSON input"},
		"no old object": {func(s *corev1.Secret) { delete(s.Data, "old") }, "old: "},
		"another object": {func(s *corev1.Secret) {
			s.Data["new"] = []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}`)
		}, "new: the object is /b, not ns/a"},
		"a copy": {func(s *corev1.Secret) { s.Name = "copy" }, "the journal of configmaps ns/a is ns/holdfast-replacement-"},
		"no precondition": {func(s *corev1.Secret) {
			s.Data["journal"] = []byte(`{"resource":"configmaps","namespace":"ns","name":"a"}`)
		}, "uid and resourceVersion are required"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			secret, err := newEntry(t).Secret()
			if err != nil {
				t.Fatal(err)
			}
			test.change(secret)
			_, err = journal.Read(secret)
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "the Secret ns/"+secret.Name+" is not a journal") {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

// A journal that no Secret can hold is refused, also if only the refusal of the server would make it too large.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	entry := newEntry(t)
	fill := func(size int) error {
		text := strings.Repeat("x", size/2)
		entry.Old.Object["data"], entry.New.Object["data"] = map[string]any{"x": text}, map[string]any{"x": text}
		_, err := entry.Secret()
		return err
	}
	if err := fill(1 << 20); err == nil || !strings.Contains(err.Error(), "a Secret may have 1048576") {
		t.Errorf("error %v", err)
	}
	largest := 1<<20 - 2000
	for fill(largest) != nil {
		largest -= 1000
	}
	entry.Refusal = strings.Repeat("\x01", 1<<20)
	if _, err := entry.Secret(); err != nil {
		t.Errorf("the journal of %d bytes does not fit with a refusal: %v", largest, err)
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	const prefix = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: ns, creationTimestamp: "2026-01-01T00:00:00Z", `
	tests := map[string]struct {
		stored  string
		refused bool
		want    journal.State
	}{
		"nothing":                  {want: journal.Absent},
		"nothing after a refusal":  {refused: true, want: journal.Refused},
		"the old object":           {stored: prefix + `uid: u1, resourceVersion: "7"}, data: {level: "1"}}`, want: journal.Unchanged},
		"the old object, changed":  {stored: prefix + `uid: u1, resourceVersion: "8"}, data: {level: "1"}}`, want: journal.Changed},
		"the old object, deleting": {stored: prefix + `uid: u1, resourceVersion: "8", deletionTimestamp: "2026-01-01T00:00:00Z"}}`, want: journal.Deleting},
		"the new object": {
			stored: prefix + `uid: u2, annotations: {x: "y", kubectl.kubernetes.io/last-applied-configuration: two}}, data: {level: "3"}}`,
			want:   journal.Created,
		},
		"another object":               {stored: prefix + `uid: u2, annotations: {kubectl.kubernetes.io/last-applied-configuration: three}}, data: {level: "2"}}`, want: journal.Foreign},
		"the old object again":         {stored: prefix + `uid: u2, managedFields: []}, data: {level: "1"}}`, want: journal.Foreign},
		"the old object, restored":     {stored: prefix + `uid: u2, managedFields: []}, data: {level: "1"}, status: {}}`, refused: true, want: journal.Restored},
		"another object after refusal": {stored: prefix + `uid: u2}, data: {level: "4"}}`, refused: true, want: journal.Foreign},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			entry := newEntry(t)
			if test.refused {
				entry.Refusal = "no"
			}
			var stored *unstructured.Unstructured
			if test.stored != "" {
				stored = yamltest.Object(t, test.stored)
			}
			if got := entry.Judge(stored); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// A stored Job can be created again: the server makes the selector and the labels with the UID.
func TestCreatable(t *testing.T) {
	t.Parallel()
	job := yamltest.Object(t, `{apiVersion: batch/v1, kind: Job, metadata: {name: a, uid: u, resourceVersion: "1", labels: {controller-uid: u, app: a}},
		spec: {selector: {matchLabels: {batch.kubernetes.io/controller-uid: u}},
			template: {metadata: {labels: {controller-uid: u, batch.kubernetes.io/controller-uid: u, app: a}}}}}`)
	want := yamltest.Object(t, `{apiVersion: batch/v1, kind: Job, metadata: {name: a, labels: {app: a}},
		spec: {template: {metadata: {labels: {app: a}}}}}`)
	if got, err := journal.Creatable(job).MarshalJSON(); err != nil || string(got) != text(t, want) {
		t.Errorf("%v: %s", err, got)
	}
	if job.GetUID() == "" {
		t.Error("the stored object was changed")
	}
}

func text(t testing.TB, object *unstructured.Unstructured) string {
	t.Helper()
	out, err := object.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// No content of a Secret makes Read panic, and what it accepts can be written and judged.
func FuzzRead(f *testing.F) {
	secret, err := newEntry(f).Secret()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(secret.Data["journal"], secret.Data["old"], secret.Data["new"])
	f.Add([]byte("{}"), []byte("{}"), []byte("[]"))
	f.Fuzz(func(t *testing.T, entry, oldObject, newObject []byte) {
		changed := secret.DeepCopy()
		changed.Data = map[string][]byte{"journal": entry, "old": oldObject, "new": newObject}
		read, err := journal.Read(changed)
		if err != nil {
			return
		}
		read.Judge(read.Old)
		read.Object()
		if _, err := read.Secret(); err != nil {
			t.Error(err)
		}
	})
}
