package ownership_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/ownership"
)

func TestParsePath(t *testing.T) {
	tests := map[string]struct{ text, want, wantErr string }{
		"as it is written":        {text: `.spec.template.spec.containers[name="web"].image`},
		"without the first dot":   {text: "spec.replicas", want: ".spec.replicas"},
		"without quotes":          {text: "spec.containers[name=web].image", want: `.spec.containers[name="web"].image`},
		"two keys":                {text: `.spec.ports[port=80,protocol="TCP"].name`},
		"a key that needs quotes": {text: `.metadata.annotations["example.com/a.b"]`},
		"a member":                {text: `.metadata.finalizers[="a/b"]`},
		"nothing":                 {wantErr: "field: required"},
		"two dots": {
			text: ".spec..replicas", wantErr: `field ".spec..replicas": at "..replicas": a name must follow the dot`,
		},
		"an index":                  {text: ".a[0]", wantErr: `field ".a[0]": at "[0]": an item is named by its keys`},
		"an open bracket":           {text: `.a["b"`, wantErr: "the bracket is not closed"},
		"an open quote":             {text: `.a["b`, wantErr: "the quote is not closed"},
		"a key without a value":     {text: ".a[b=]", wantErr: "a value must follow"},
		"something after a bracket": {text: ".a[b=1]c", wantErr: "must go on with a dot or a bracket"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path, err := ownership.ParsePath(test.text)
			if test.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), test.wantErr) {
					t.Fatalf("got %v, %v, want the error %q", path, err, test.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if test.want == "" {
				test.want = test.text
			}
			if got := path.String(); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// The text of a path that was read is read as the same path.
func FuzzParsePath(f *testing.F) {
	for _, text := range []string{`.a.b[c="d",e=1].f["g h"][=true]`, "a", "[", `.a["\x00"]`, "[=1]"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		path, err := ownership.ParsePath(text)
		if err != nil {
			return
		}
		written := path.String()
		if strings.Contains(written, "…") {
			return
		}
		again, err := ownership.ParsePath(written)
		if err != nil {
			t.Fatalf("%q is written as %q, which cannot be read: %v", text, written, err)
		}
		if diff := cmp.Diff(path, again); diff != "" {
			t.Errorf("%q is written as %q (-first +again):\n%s", text, written, diff)
		}
	})
}
