package ownership_test

import (
	"testing"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/internal/yamltest"
	"holdfast.dev/holdfast/ownership"
)

const fuzzModel = `{"type":"object","properties":{
"spec":{"type":"object","properties":{
 "ports":{"type":"array","x-kubernetes-patch-strategy":"merge","x-kubernetes-patch-merge-key":"port",
  "x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["port","protocol"],"items":{"$ref":"#/x/m"}},
 "names":{"type":"array","x-kubernetes-patch-strategy":"merge","x-kubernetes-list-type":"set","items":{"type":"string"}},
 "whole":{"type":"object","x-kubernetes-map-type":"atomic","additionalProperties":{"type":"string"}},
 "size":{"type":"integer"},"either":{"anyOf":[{"type":"integer"},{"type":"string"}]},
 "list":{"type":"array","items":{"type":"object"}}}}}}`

// FuzzJudge asserts that a judgement does not panic, that its warnings are short, and
// that a write without changes has no findings.
func FuzzJudge(f *testing.F) {
	model := *yamltest.Known[spec.Schema](f, fuzzModel)
	models := map[string]*spec.Schema{"m": &model}
	typ := &ownership.Type{}
	var err error
	if typ.Applied, err = ownership.NewView(models, "m", ownership.ClientSide); err != nil {
		f.Fatal(err)
	}
	if typ.Managed, err = ownership.NewView(models, "m", ownership.ServerSide); err != nil {
		f.Fatal(err)
	}
	f.Add(`{"spec":{"ports":[{"port":1}]}}`, `{"spec":{"ports":[{"port":1,"protocol":"TCP"}]}}`, `{"spec":{"ports":[]}}`,
		`{"f:spec":{"f:ports":{"k:{\"port\":1,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}}}}`, uint8(0))
	f.Add(`{"spec":{"names":["a"],"whole":{"a":"b"}}}`, `{"spec":{"names":["a","b"],"whole":{}}}`, `{"spec":{"names":null}}`,
		`{"f:spec":{"f:names":{"v:\"a\"":{}},"f:whole":{}}}`, uint8(1))
	// The managed fields name parts of a value that the schema treats as one field.
	f.Add(`{}`, `{"spec":{"whole":{"a":{"b":{"c":1}}}}}`, `{"spec":{"whole":{"a":{"b":{"c":2}}}}}`,
		`{"f:spec":{"f:whole":{"f:a":{"f:b":{"f:c":{}}}}}}`, uint8(0))
	f.Add(`{}`, `{"spec":{"size":{"a":{"b":1}},"either":{"a":{"b":1}}}}`, `{"spec":{"size":{"a":{"b":2}},"either":{"a":{"b":2}}}}`,
		`{"f:spec":{"f:size":{"f:a":{"f:b":{}}},"f:either":{"f:a":{"f:b":{}}}}}`, uint8(5))
	f.Add(`{}`, `{"spec":{"list":[{"a":{"b":1}}]}}`, `{"spec":{"list":[{"a":{"b":2}}]}}`,
		`{"f:spec":{"f:list":{"k:{\"a\":1}":{"f:a":{"f:b":{}}}}}}`, uint8(2))
	f.Add(`[`, `{"metadata":{"annotations":[]}}`, `{"metadata":1}`, `{"i:1":{}}`, uint8(2))
	requests := []ownership.Request{
		{Command: "kubectl patch"}, {Command: "kubectl apply"}, {Command: "kubectl edit"},
		{FieldManager: "x"}, {Command: "kubectl replace"},
		{FieldManager: "m", ServerSide: true, Forced: true},
	}
	f.Fuzz(func(t *testing.T, applied, live, updated, managed string, who uint8) {
		var oldObj, newObj map[string]any
		if utiljson.Unmarshal([]byte(live), &oldObj) != nil || oldObj == nil {
			t.Skip()
		}
		if utiljson.Unmarshal([]byte(updated), &newObj) != nil || newObj == nil {
			t.Skip()
		}
		annotate(oldObj, applied)
		managers := []metav1.ManagedFieldsEntry{{Manager: "m", Operation: "Apply", FieldsV1: metav1.NewFieldsV1(managed)}}
		write := ownership.Write{
			Type: typ, Live: oldObj, New: newObj, LiveManagers: managers, NewManagers: managers,
			Writer: ownership.ParseWriter(requests[int(who)%len(requests)]),
		}
		verdict := ownership.Judge(write, ownership.NewCache(1<<10))
		total := 0
		for _, line := range verdict.Warnings() {
			total += utf8.RuneCountInString(line)
		}
		if total > 4000 {
			t.Errorf("%d runes", total)
		}
		verdict.Refusals()
		typ.Changed(oldObj, newObj, 10)
		if write.New = oldObj; write.Writer.Act == ownership.Imperative {
			if same := ownership.Judge(write, nil); len(same.Findings) > 0 {
				t.Errorf("%q in a write that changes nothing", same.Warnings())
			}
		}
	})
}

func annotate(obj map[string]any, applied string) {
	meta, ok := obj["metadata"].(map[string]any)
	if !ok {
		meta = map[string]any{}
		obj["metadata"] = meta
	}
	annotations, ok := meta["annotations"].(map[string]any)
	if !ok {
		annotations = map[string]any{}
		meta["annotations"] = annotations
	}
	annotations[ownership.LastApplied] = applied
}
