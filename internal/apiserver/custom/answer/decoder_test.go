package answer

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/apiserver/custom/object"
)

// A request is pruned. A strict one has an error for each field that the schema does not have, and for each duplicate key.
func TestRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	serializer, ok := w.endpoint(t, w.v1, plain{}).scope.Serializer.(Serializer)
	if !ok {
		t.Fatal("the endpoint has another serializer")
	}
	tests := map[string]struct{ text, want, strict string }{
		"valid": {
			`{"apiVersion":"sea.example.com/v1","kind":"Ship","status":{"ready":true}}`,
			`{"apiVersion":"sea.example.com/v1","kind":"Ship","status":{"ready":true}}`, "",
		},
		"unknown": {
			`{"apiVersion":"sea.example.com/v1","kind":"Ship","metadata":{"other":1},"status":{"ready":true,"wet":true}}`,
			`{"apiVersion":"sea.example.com/v1","kind":"Ship","metadata":{},"status":{"ready":true}}`,
			`unknown field "metadata.other", unknown field "status.wet"`,
		},
		"duplicate": {
			`{"apiVersion":"sea.example.com/v1","kind":"Ship","status":{"ready":true,"ready":false}}`,
			`{"apiVersion":"sea.example.com/v1","kind":"Ship","status":{"ready":false}}`, "ready", // the libraries have two messages
		},
		"no kind": {`{"apiVersion":"sea.example.com/v1"}`, "", "Object 'Kind' is missing"},
	}
	for name, test := range tests {
		for _, info := range serializer.Standard() {
			t.Run(name+" "+info.MediaType, func(t *testing.T) {
				t.Parallel()
				into := object.New(w.v1.GroupVersionKind())
				_, _, err := serializer.DecoderToVersion(info.StrictSerializer, nil).Decode([]byte(test.text), nil, into)
				if (err == nil) != (test.strict == "") || err != nil && !strings.Contains(err.Error(), test.strict) {
					t.Errorf("strictly: %v, want %q", err, test.strict)
				}
				into = object.New(w.v1.GroupVersionKind())
				_, _, err = serializer.DecoderToVersion(info.Serializer, nil).Decode([]byte(test.text), nil, into)
				if test.want == "" {
					if err == nil {
						t.Error("there is no error")
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				got, err := w.format.Append(nil, into.Object)
				if diff := cmp.Diff(test.want, string(got)); diff != "" || err != nil {
					t.Errorf("%v (-want +got):\n%s", err, diff)
				}
			})
		}
	}
}
