package gate_test

import (
	"context"
	"errors"
	"fmt"
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

// growing has one object, and gets another one after its first scan, as if a client writes it while the kind is still open.
type growing struct {
	// between is the spec of the other object, empty for none.
	between string
	// scans has the revision after which each scan begins.
	scans []int64
}

// Scan implements gate.Objects.
func (g *growing) Scan(_ context.Context, _ schema.GroupResource, after int64, visit func(storage.Stored) error) (int64, error) {
	g.scans = append(g.scans, after)
	specs := map[int64]string{5: `{"a": "x"}`}
	if len(g.scans) > 1 && g.between != "" {
		specs[8] = g.between
	}
	last := int64(len(g.scans)) * 7
	for revision, spec := range specs {
		if revision <= after {
			continue
		}
		name := fmt.Sprintf("at%d", revision)
		text := fmt.Sprintf(`{"apiVersion": "gate.example.com/v1", "kind": "Boat", "metadata": {"name": %q}, "spec": %s}`, name, spec)
		if err := visit(storage.Stored{Namespace: "default", Name: name, Revision: revision, Text: []byte(text)}); err != nil {
			return 0, err
		}
	}
	return last, nil
}

// TestBetweenScans writes an object after the first scan and before the kind is closed. The second scan reads what was written since the
// first one, and decides.
func TestBetweenScans(t *testing.T) {
	t.Parallel()
	old := yamltest.Decode[definition.CustomResourceDefinition](t, define("", ab, ""))
	for name, test := range map[string]struct {
		policy           definition.GatePolicy
		updated, between string
		// open is true if the kind need not be closed.
		open bool
		want string
	}{
		"nothing is written":                   {policy: definition.RefuseLoss, updated: a},
		"an object without the field":          {policy: definition.RefuseLoss, updated: a, between: `{"a": "xx"}`},
		"an object with the field":             {policy: definition.RefuseLoss, updated: a, between: `{"b": "z"}`, want: "the field is gone: stored objects lose it when they are read"},
		"an object that becomes invalid":       {policy: definition.RefuseLoss, updated: narrow + ", b: {type: string}", between: `{"a": "xx"}`},
		"the field, below another policy":      {policy: definition.RefuseBreaking, updated: a, between: `{"b": "z"}`, want: "the field is gone"},
		"the field, below a policy that warns": {policy: definition.Warn, updated: a, between: `{"b": "z"}`, open: true},
	} {
		t.Run(name, func(t *testing.T) {
			objects := &growing{between: test.between}
			review := gate.New(gate.Config{Policy: test.policy, Timeout: time.Hour, Objects: objects}).Review(false)
			crd := yamltest.Decode[definition.CustomResourceDefinition](t, define("", test.updated, ""))
			err := review.Update(t.Context(), old, crd, false)
			if test.open {
				if err != nil || len(objects.scans) != 1 {
					t.Errorf("%v, scans after %v", err, objects.scans)
				}
				return
			}
			if !errors.Is(err, gate.ErrMustClose) {
				t.Fatalf("the first scan: %v, want %v", err, gate.ErrMustClose)
			}
			err = review.Update(t.Context(), old, crd, true)
			switch {
			case test.want == "" && err != nil:
				t.Errorf("the second scan: %v", err)
			case test.want != "" && (!apierrors.IsInvalid(err) || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "(1 stored object")):
				t.Errorf("the second scan: %v, want %s", err, test.want)
			}
			if len(objects.scans) != 2 || objects.scans[0] != 0 || objects.scans[1] != 7 {
				t.Errorf("the scans begin after %v, want 0 and 7", objects.scans)
			}
		})
	}
}
