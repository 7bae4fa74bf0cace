package gate_test

import (
	"context"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/apiserver/gate"
	"holdfast.dev/holdfast/internal/apiserver/storage"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/yamltest"
)

// oneObject has one stored object, in a version.
type oneObject string

// Scan implements gate.Objects.
func (version oneObject) Scan(ctx context.Context, _ schema.GroupResource, _ int64, visit func(storage.Stored) error) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	text := `{"apiVersion": "gate.example.com/` + string(version) + `", "kind": "Boat", "metadata": {"name": "b"}}`
	return 7, visit(storage.Stored{Name: "b", Text: []byte(text)})
}

// TestStrictReview removes a stored version with the policy warn. A strict review refuses it if an object is stored in the version.
func TestStrictReview(t *testing.T) {
	t.Parallel()
	old := yamltest.Decode[definition.CustomResourceDefinition](t, define("warn", "a: {type: string}", "a: {type: string}"))
	old.Status.StoredVersions = []string{"v1", "v2"}
	crd := old.DeepCopy()
	crd.Status.StoredVersions = []string{"v2"}
	for name, test := range map[string]struct {
		version string
		strict  bool
		refused bool
	}{
		"a client":                     {version: "v1"},
		"the server":                   {version: "v1", strict: true, refused: true},
		"the server, and all are done": {version: "v2", strict: true},
	} {
		t.Run(name, func(t *testing.T) {
			// A strict review is not bound by the timeout.
			g := gate.New(gate.Config{Policy: definition.Warn, Timeout: time.Nanosecond, Objects: oneObject(test.version)})
			review := g.Review(false)
			if test.strict {
				review = g.StrictReview()
			}
			err := review.UpdateStatus(t.Context(), old, crd)
			if refused := apierrors.IsInvalid(err); refused != test.refused || !refused && err != nil {
				t.Fatalf("got %v, want refused %t", err, test.refused)
			}
			if test.refused && !strings.Contains(err.Error(), "version v1 is gone, although objects are stored in it") {
				t.Error(err)
			}
		})
	}
}

// slowObjects has objects that cannot be read in time.
type slowObjects struct{}

// Scan implements gate.Objects.
func (slowObjects) Scan(ctx context.Context, _ schema.GroupResource, _ int64, _ func(storage.Stored) error) (int64, error) {
	<-ctx.Done()
	return 0, ctx.Err()
}

// TestCreateTimeout creates a definition while the objects of an earlier one cannot be read in time. A policy that refuses then answers
// with a timeout.
func TestCreateTimeout(t *testing.T) {
	t.Parallel()
	for policy, refused := range map[definition.GatePolicy]bool{definition.Warn: false, definition.RefuseBreaking: true, definition.RefuseLoss: true} {
		g := gate.New(gate.Config{Policy: policy, Timeout: time.Millisecond, Objects: slowObjects{}})
		crd := yamltest.Decode[definition.CustomResourceDefinition](t, define("", "a: {type: string}", ""))
		err := g.Review(false).Create(t.Context(), crd)
		if apierrors.IsTimeout(err) != refused || !refused && err != nil {
			t.Errorf("policy %s: %v", policy, err)
		}
	}
}
