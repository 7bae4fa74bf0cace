package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/apiserver/storage"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/definition/assessment"
	"holdfast.dev/holdfast/internal/definition/change"
)

// read reads the objects that were written since the last call. If an object was written between two calls, both count it. The numbers can be
// too high then, but only those in warnings: after the second call of a review, a refusal has only changes that hit no object in the first one.
func (r *Review) read(ctx context.Context) error {
	if !r.report.Reads {
		return nil
	}
	timeout := r.timeout()
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	revision, err := r.scanObjects(bounded, assessment.ResourceOf(r.report.Old), r.revision, func(stored storage.Stored) error {
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
		err = bounded.Err() // the time ended while the last object was judged, and the report leaves that object out
	}
	switch {
	case err == nil:
		r.revision = revision
		return nil
	case errors.Is(bounded.Err(), context.DeadlineExceeded):
		r.report.Late = timeout
		return nil
	}
	if r.strict {
		return err
	}
	return unreadable(r.report.CRD, err)
}

// scanObjects calls a function for every object of a resource that was written after a revision. It waits while too many other reviews read
// objects. The server itself does not wait: it reads the objects of four definitions at the same time at most, see package lifecycle.
func (r *Review) scanObjects(ctx context.Context, resource schema.GroupResource, after int64, visit func(storage.Stored) error) (int64, error) {
	if !r.strict {
		select {
		case r.gate.scanning <- struct{}{}:
			defer func() { <-r.gate.scanning }()
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	return r.gate.Objects.Scan(ctx, resource, after, visit)
}

// unreadable returns the answer to a write if the objects cannot be read. The error may name an object, so that it is in the log only.
func unreadable(crd *definition.CustomResourceDefinition, err error) error {
	klog.ErrorS(err, "the stored objects of a definition cannot be read", "definition", crd.Name)
	return assessment.Unreadable(crd, errors.New("the log of the server has the reason"))
}

// former returns a definition that keeps everything, if objects of the kind of a new definition are stored. Compared with it, the new
// definition shows what it does to these objects. late says that the objects could not be read in time.
func (r *Review) former(
	ctx context.Context, crd *definition.CustomResourceDefinition,
) (_ *definition.CustomResourceDefinition, late bool, _ error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout())
	defer cancel()
	var stored []string
	_, err := r.scanObjects(ctx, assessment.ResourceOf(crd), 0, func(s storage.Stored) error {
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
	switch {
	case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, true, nil
	case err != nil:
		return nil, false, unreadable(crd, err)
	case len(stored) == 0:
		return nil, false, nil
	}
	return change.Anything(crd, stored), false, nil
}
