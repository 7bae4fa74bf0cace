package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"holdfast.dev/holdfast/internal/apiserver/storage"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/definition/assessment"
	"holdfast.dev/holdfast/internal/definition/change"
)

// read reads the objects that were written since the last call. It counts an object again that was written in between: what the policy
// refuses was not found in the first call, so the numbers are only for warnings.
func (r *Review) read(ctx context.Context) error {
	if !r.report.Reads {
		return nil
	}
	timeout := r.timeout()
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	revision, err := r.gate.Objects.Scan(bounded, assessment.ResourceOf(r.report.Old), r.revision, func(stored storage.Stored) error {
		if err := bounded.Err(); err != nil {
			return err
		}
		var object map[string]any
		if err := utiljson.Unmarshal(stored.Text, &object); err != nil {
			return fmt.Errorf("decode %s: %w", stored.FullName(), err)
		}
		r.report.Add(bounded, stored.FullName(), object)
		return nil
	})
	if err == nil {
		err = bounded.Err() // the report does not have an object whose rules were interrupted
	}
	switch {
	case err == nil:
		r.revision = revision
		return nil
	case errors.Is(bounded.Err(), context.DeadlineExceeded):
		r.report.Late = timeout
		return nil
	}
	return assessment.Unreadable(r.report.CRD, err)
}

// former returns a definition that keeps everything, if objects of the kind of a new definition are stored. Compared with it, the new
// definition shows what it does to these objects.
func (g *Gate) former(ctx context.Context, crd *definition.CustomResourceDefinition) (*definition.CustomResourceDefinition, error) {
	var stored []string
	_, err := g.Objects.Scan(ctx, assessment.ResourceOf(crd), 0, func(s storage.Stored) error {
		var object struct {
			APIVersion string `json:"apiVersion"`
		}
		if err := utiljson.Unmarshal(s.Text, &object); err != nil {
			return fmt.Errorf("decode %s: %w", s.FullName(), err)
		}
		gv, err := schema.ParseGroupVersion(object.APIVersion)
		if err == nil && !slices.Contains(stored, gv.Version) {
			stored = append(stored, gv.Version)
		}
		return err
	})
	if err != nil {
		return nil, assessment.Unreadable(crd, err)
	}
	if len(stored) == 0 {
		return nil, nil
	}
	return change.Anything(crd, stored), nil
}
