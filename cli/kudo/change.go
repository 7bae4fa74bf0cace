package kudo

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/util/retry"

	"holdfast.dev/holdfast/operator/admission"
	"holdfast.dev/holdfast/operator/api"
	"holdfast.dev/holdfast/parameters"
)

// change is a write of an Instance that is there.
type change struct {
	// what it is called when it is refused.
	what string
	// edit makes the wanted Instance of the stored one.
	edit func(instance *api.Instance) error
	// stores says that the values are sent as they will be stored, with those that
	// are pinned by this write.
	stores bool
	// target is the OperatorVersion of a package that the server may not have yet,
	// nil for none.
	target *api.OperatorVersion
}

// judgement is what a change would come to.
type judgement struct {
	before, after *api.Instance
	decision      parameters.Decision
}

// judge decides about a change as admission would.
func (s *server) judge(ctx context.Context, name string, c change) (*judgement, error) {
	before, err := s.instance(ctx, name)
	if err != nil {
		return nil, err
	}
	after := before.DeepCopy()
	// A request of an earlier write is none of this one.
	delete(after.Annotations, api.RollbackAnnotation)
	if err := c.edit(after); err != nil {
		return nil, err
	}
	result, err := admission.Review{
		Old: before, New: after,
		Version: func(name string) (*api.OperatorVersion, error) {
			if c.target != nil && c.target.Name == name {
				return c.target, nil
			}
			return s.version(ctx, name)
		},
		NewUID: uuid.NewUUID,
	}.Decide()
	if err != nil {
		return nil, fmt.Errorf("instance %s: %w", name, err)
	}
	return &judgement{before: before, after: after, decision: result.Decision}, nil
}

// write makes a change, judged anew each time that somebody else, such as the
// controller with its status, was faster. prepare runs before the first write.
func (s *server) write(ctx context.Context, name string, c change, prepare func() error) (*judgement, error) {
	var judged *judgement
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		var err error
		if judged, err = s.judge(ctx, name, c); err != nil {
			return err
		}
		if err := refused(c.what, judged.decision); err != nil {
			return err
		}
		if prepare != nil {
			if err := prepare(); err != nil {
				return err
			}
			prepare = nil
		}
		if c.stores {
			judged.after.Spec.Parameters = judged.decision.Values
		}
		return s.replace(ctx, judged.after)
	})
	return judged, err
}
