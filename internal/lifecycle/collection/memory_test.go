package collection

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/references"
)

func keyOf(namespace, name string) key {
	return key{kind: references.ConfigMap, namespace: namespace, name: name}
}

// A namespace with many collected objects displaces its own records, not those of others.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	m := newMemory(nil, nil)
	m.secret = make([]byte, secretSize)
	text := content{[]byte("text")}
	add := func(k key) { m.contents = m.with(map[key]entry{k: m.newEntry(k, "first", text)}) }
	for i := range 10 {
		add(keyOf("small", fmt.Sprint(i)))
	}
	for i := range maxRecords + 100 {
		add(keyOf("large", fmt.Sprint(i)))
	}
	decoded := decode(m.encode())
	if small, large := len(decoded.records["small"]), len(decoded.records["large"]); small != 10 || large != maxRecords-10 {
		t.Errorf("%d records of the small namespace, %d of the large one", small, large)
	}
	m.contents = decoded
	for name, test := range map[string]struct {
		key  key
		uid  types.UID
		text content
		want bool
	}{
		"same content":       {keyOf("small", "0"), "second", text, true},
		"same object":        {keyOf("small", "0"), "first", text, false},
		"other content":      {keyOf("small", "0"), "second", content{[]byte("te"), []byte("xt")}, false},
		"other name":         {keyOf("small", "x"), "second", text, false},
		"other namespace":    {keyOf("large", "0"), "second", text, false},
		"other kind":         {key{kind: references.Secret, namespace: "small", name: "0"}, "second", text, false},
		"the oldest is gone": {keyOf("large", "109"), "second", text, false},
		"newer ones stay":    {keyOf("large", "110"), "second", text, true},
	} {
		if got := m.hasName(test.key, test.uid) && m.hasContent(test.key, test.uid, test.text); got != test.want {
			t.Errorf("%s: recreated %t, want %t", name, got, test.want)
		}
	}
}

// If more objects are due than the memory has records, all of them are deleted in the end, and those of other namespaces need not wait for them.
func TestMemoryOfManyObjects(t *testing.T) {
	t.Parallel()
	m := newMemory(nil, nil)
	m.secret = make([]byte, secretSize)
	var queue []key
	for i := range maxRecords + 1000 {
		queue = append(queue, keyOf("large", fmt.Sprint(i)))
	}
	queue = append(queue, keyOf("small", "0"))
	now := time.Now()
	smallAt := 0
	for turns := 0; len(queue) > 0; turns++ {
		if turns > 300 {
			t.Fatalf("%d objects are left", len(queue))
		}
		var again []key
		for _, k := range queue {
			if len(m.pending) == 8 { // the memory stores records while the others wait
				m.contents = m.with(m.pending)
				clear(m.pending)
			}
			switch {
			case !m.begin(k, now):
				again = append(again, k)
			case m.remember(k, "uid", content{[]byte("text")}):
				m.end(k)
				if k.namespace == "small" {
					smallAt = turns
				}
			default:
				again = append(again, k)
			}
		}
		m.contents = m.with(m.pending)
		clear(m.pending)
		queue = again
	}
	if smallAt > 1 {
		t.Errorf("the object of the other namespace has waited for %d turns", smallAt)
	}
	// What was begun and never ended is forgotten.
	for i := range maxOpenOfNamespace {
		m.begin(keyOf("large", fmt.Sprint(i)), now)
	}
	if last := keyOf("large", "last"); m.begin(last, now) || !m.begin(last, now.Add(2*openFor)) {
		t.Error("objects that were begun count for too short, or for ever")
	}
}

// FuzzDecode reads any data of the Secret.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("0123456789abcdef0123456789abcdef"), []byte("x"))
	f.Add(make([]byte, secretSize), make([]byte, recordSize))
	f.Fuzz(func(t *testing.T, secret, records []byte) {
		read := decode(map[string][]byte{secretKey: secret, "a": records})
		if len(secret) != secretSize {
			return
		}
		if again := decode(read.encode()); len(again.records["a"]) != len(read.records["a"]) {
			t.Errorf("%d records, and %d when they are read again", len(read.records["a"]), len(again.records["a"]))
		}
	})
}
