package authorship_test

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/operator/authorship"
	"holdfast.dev/holdfast/internal/yamltest"
)

var (
	ann = authorship.User{
		Username: "ann", UID: "7", Groups: []string{"dev", "secret-project"}, Extra: map[string][]string{"scopes": {"a"}},
	}
	bob = authorship.User{Username: "bob"}
)

// ring returns a Keyring with keys of equal bytes. The first one seals.
func ring(fill ...string) *authorship.Keyring {
	return authorship.NewKeyring(func(context.Context) ([][]byte, error) {
		var keys [][]byte
		for _, text := range fill {
			keys = append(keys, []byte(strings.Repeat(text, authorship.KeySize)))
		}
		return keys, nil
	})
}

const plain = `{metadata: {namespace: prod, name: tok, uid: one, annotations: {holdfast.dev/judged-with: '{"digest":"d"}'}},
  spec: {operatorVersion: {name: tok-0.1.0}, parameters: {A: a, B: b}, planExecution: {planName: deploy, uid: run}}}`

// sealed returns the Instance of a text with a record.
func sealed(t *testing.T, keys *authorship.Keyring, text string, record authorship.Record) *api.Instance {
	t.Helper()
	object := yamltest.Decode[api.Instance](t, text)
	if err := keys.SetRecord(t.Context(), object, record); err != nil {
		t.Fatal(err)
	}
	return object
}

var record = authorship.Record{
	Requester: ann, Authors: authorship.Authors{"A": {ann}, "B": {bob, ann}}, Deletion: true, Instance: "one",
}

func TestRecord(t *testing.T) {
	t.Parallel()
	object := sealed(t, ring("k"), plain, record)
	got, err := ring("k").Record(t.Context(), object)
	if diff := cmp.Diff(record, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	names, found, err := authorship.NamesOn(object)
	want := authorship.Names{Requester: "ann", Authors: map[string][]string{"A": {"ann"}, "B": {"bob", "ann"}}}
	if diff := cmp.Diff(want, names); diff != "" || !found || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for name, text := range object.Annotations {
		decoded, _ := base64.RawURLEncoding.DecodeString(text[strings.LastIndex(text, ".")+1:])
		if strings.Contains(text+string(decoded), "secret-project") || strings.Contains(text+string(decoded), "scopes") {
			t.Errorf("%s shows groups or extra values: %s", name, text)
		}
	}
	if again := sealed(t, ring("k"), plain, record); !cmp.Equal(object, again) {
		t.Errorf("the same record has another text (-first +second):\n%s", cmp.Diff(object, again))
	}
}

// TestForgedRecord checks that a record opens only for the Instance and the content that it
// was sealed for.
func TestForgedRecord(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*api.Instance){
		"another namespace":  func(i *api.Instance) { i.Namespace = "test" },
		"another name":       func(i *api.Instance) { i.Name = "other" },
		"another instance":   func(i *api.Instance) { i.UID = "two" },
		"another run":        func(i *api.Instance) { i.Spec.PlanExecution.UID = "two" },
		"another plan":       func(i *api.Instance) { i.Spec.PlanExecution.PlanName = "backup" },
		"another version":    func(i *api.Instance) { i.Spec.OperatorVersion.Name = "tok-0.2.0" },
		"another value":      func(i *api.Instance) { i.Spec.Parameters["A"] = "c" },
		"another parameter":  func(i *api.Instance) { i.Spec.Parameters["C"] = "" },
		"no value":           func(i *api.Instance) { delete(i.Spec.Parameters, "A") },
		"another binding":    func(i *api.Instance) { i.Annotations[api.BindingAnnotation] = `{"digest":"e"}` },
		"no binding":         func(i *api.Instance) { delete(i.Annotations, api.BindingAnnotation) },
		"other names":        func(i *api.Instance) { i.Annotations[api.RequesterAnnotation] = `{"username":"eve"}` },
		"no record":          func(i *api.Instance) { delete(i.Annotations, api.SealedRecordAnnotation) },
		"an empty record":    func(i *api.Instance) { i.Annotations[api.SealedRecordAnnotation] = "" },
		"only the key":       func(i *api.Instance) { cut(i, strings.LastIndex(i.Annotations[api.SealedRecordAnnotation], ".")) },
		"a shorter record":   func(i *api.Instance) { cut(i, len(i.Annotations[api.SealedRecordAnnotation])-4) },
		"the plain old form": func(i *api.Instance) { i.Annotations[api.SealedRecordAnnotation] = `{"username":"root"}` },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object := sealed(t, ring("k"), plain, record)
			change(object)
			got, err := ring("k").Record(t.Context(), object)
			if !errors.Is(err, authorship.ErrUnverified) {
				t.Errorf("opened as %+v, %v", got, err)
			}
		})
	}
	other := sealed(t, ring("k"), plain, record)
	if _, err := ring("x").Record(t.Context(), other); !errors.Is(err, authorship.ErrUnverified) {
		t.Errorf("opened with another key: %v", err)
	}
}

func cut(i *api.Instance, at int) {
	i.Annotations[api.SealedRecordAnnotation] = i.Annotations[api.SealedRecordAnnotation][:at]
}

// TestGeneratedName checks that a record which was sealed before the server generated the
// name opens afterwards, and for no Instance with another prefix.
func TestGeneratedName(t *testing.T) {
	t.Parallel()
	fresh := authorship.Record{Requester: ann}
	text := strings.Replace(plain, "name: tok, uid: one", "generateName: tok-", 1)
	object := sealed(t, ring("k"), text, fresh)
	again := sealed(t, ring("k"), strings.Replace(text, "generateName: tok-", "generateName: tok-, name: tok-x2", 1), fresh)
	if object.Annotations[api.SealedRecordAnnotation] != again.Annotations[api.SealedRecordAnnotation] {
		t.Error("the record is another one after the name was generated")
	}
	for name, opens := range map[string]bool{"tok-a1": true, "other": false} {
		object.Name, object.UID = name, "one"
		if got, err := ring("k").Record(t.Context(), object); (err == nil) != opens || opens && got.Requester.Username != "ann" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// TestRotation checks that the first key seals and all keys open, and that a Keyring finds a
// key that is added later.
func TestRotation(t *testing.T) {
	t.Parallel()
	object := sealed(t, ring("a"), plain, record)
	if _, err := ring("b", "a").Record(t.Context(), object); err != nil {
		t.Errorf("the second key does not open: %v", err)
	}
	keys := []string{"a"}
	growing := authorship.NewKeyring(func(context.Context) ([][]byte, error) {
		var all [][]byte
		for _, text := range keys {
			all = append(all, []byte(strings.Repeat(text, authorship.KeySize)))
		}
		return all, nil
	})
	if _, err := growing.Record(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	keys = []string{"b", "a"}
	if _, err := growing.Record(t.Context(), sealed(t, ring("b", "a"), plain, record)); err != nil {
		t.Errorf("a new key is not found: %v", err)
	}
	broken := authorship.NewKeyring(func(context.Context) ([][]byte, error) { return nil, errors.New("the server is away") })
	if _, err := broken.Record(t.Context(), object); err == nil || errors.Is(err, authorship.ErrUnverified) {
		t.Errorf("without a key: %v", err)
	}
	if err := ring().Load(t.Context()); err == nil {
		t.Error("no key is no error")
	}
	short := authorship.NewKeyring(func(context.Context) ([][]byte, error) { return [][]byte{[]byte("short")}, nil })
	if err := short.Load(t.Context()); err == nil {
		t.Error("a short key is no error")
	}
}

// TestHistory checks that the authors of recorded parameters open only for these records.
func TestHistory(t *testing.T) {
	t.Parallel()
	object, keys := yamltest.Decode[api.Instance](t, plain), ring("k")
	var records []api.Record
	var history []authorship.Authors
	for _, version := range []string{"1", "2", "3", "4", "5", "6", "7"} {
		records = append(records, api.Record{OperatorVersion: version, Parameters: map[string]string{"A": version}})
		history = append(history, authorship.Authors{"A": {{Username: version}}})
	}
	if err := api.SetRecords(object, records); err != nil {
		t.Fatal(err)
	}
	if err := keys.SetHistory(t.Context(), object, history); err != nil {
		t.Fatal(err)
	}
	got, err := keys.History(t.Context(), object)
	if diff := cmp.Diff(history[2:], got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if err := keys.SetHistory(t.Context(), object, history[:2]); err == nil {
		t.Error("two of five histories are accepted")
	}
	if err := api.SetRecords(object, records[:1]); err != nil {
		t.Fatal(err)
	}
	if _, err := keys.History(t.Context(), object); !errors.Is(err, authorship.ErrUnverified) {
		t.Errorf("opened for other records: %v", err)
	}
	if err := errors.Join(api.SetRecords(object, nil), keys.SetHistory(t.Context(), object, nil)); err != nil {
		t.Error(err)
	}
	if _, found := object.Annotations[api.SealedHistoryAnnotation]; found {
		t.Error("a history without records")
	}
}

// TestSubject checks that a text of one purpose does not open for another.
func TestSubject(t *testing.T) {
	t.Parallel()
	keys := ring("k")
	text, err := keys.Seal(t.Context(), authorship.Subject{Purpose: "one", About: "a"}, "content")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		purpose, about string
		opens          bool
	}{{"one", "a", true}, {"two", "a", false}, {"one", "b", false}} {
		var got string
		err := keys.Open(t.Context(), authorship.Subject{Purpose: test.purpose, About: test.about}, text, &got)
		if (err == nil) != test.opens || test.opens && got != "content" {
			t.Errorf("%s about %s: %q, %v", test.purpose, test.about, got, err)
		}
	}
}

// FuzzRecord opens any text and expects ErrUnverified.
func FuzzRecord(f *testing.F) {
	f.Add("v1.abc.AAAA")
	f.Add("v1..")
	keys := ring("k")
	f.Fuzz(func(t *testing.T, text string) {
		object := &api.Instance{}
		api.SetAnnotation(object, api.SealedRecordAnnotation, text)
		if _, err := keys.Record(t.Context(), object); !errors.Is(err, authorship.ErrUnverified) {
			t.Fatal(err)
		}
	})
}
