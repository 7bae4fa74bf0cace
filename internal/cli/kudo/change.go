package kudo

import (
	"context"
	"fmt"

	"k8s.io/client-go/util/retry"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/operator/decision"
	"holdfast.dev/holdfast/internal/operator/pack"
	"holdfast.dev/holdfast/parameters"
)

// change is an update of an existing Instance.
type change struct {
	// name is the name of the change in the message of a refusal.
	name string
	// edit changes the stored Instance to the wanted one.
	edit func(instance *api.Instance) error
	// sendDecided makes the client send the values that admission would store. These
	// include the values of parameters that become immutable with this write.
	sendDecided bool
	// target is the OperatorVersion of a package that the server may not have yet, nil if
	// there is none.
	target *api.OperatorVersion
	// packages are the package of target and all packages that it depends on.
	packages []*pack.Package
}

// judgement is the expected result of a change.
type judgement struct {
	before, after *api.Instance
	decision      parameters.Decision
}

// judge decides about a change in the same way as admission, for the Instance and for the
// Instances of its dependencies.
func (s *server) judge(ctx context.Context, name string, c change) (*judgement, error) {
	before, err := s.instance(ctx, name)
	if err != nil {
		return nil, err
	}
	after := before.DeepCopy()
	// A rollback that an earlier write requested must not be requested again.
	delete(after.Annotations, api.RollbackAnnotation)
	if err := c.edit(after); err != nil {
		return nil, err
	}
	tree := &tree{server: s, packages: c.packages}
	decided, err := decision.Review{Old: before, New: after, Version: tree.version(ctx)}.Judge()
	if err != nil {
		return nil, fmt.Errorf("instance %s: %w", name, err)
	}
	refusals, err := tree.judge(ctx, decided, after, nil)
	if err != nil {
		return nil, err
	}
	decided.Refusals = append(decided.Refusals, refusals...)
	return &judgement{before: before, after: after, decision: decided}, nil
}

// write judges and makes a change. If the write conflicts with another one, for example of
// the controller, it judges the change again and retries. The function prepare runs once,
// before the first write.
func (s *server) write(ctx context.Context, name string, c change, prepare func() error) (*judgement, error) {
	var judged *judgement
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		var err error
		if judged, err = s.judge(ctx, name, c); err != nil {
			return err
		}
		if err := refused(c.name, judged.decision); err != nil {
			return err
		}
		if prepare != nil {
			if err := prepare(); err != nil {
				return err
			}
			prepare = nil
		}
		if c.sendDecided {
			judged.after.Spec.Parameters = judged.decision.Values
		}
		return s.replace(ctx, judged.after)
	})
	return judged, err
}
