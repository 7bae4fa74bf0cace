package series

import (
	"context"
	"fmt"
	"maps"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/series"
)

// restore creates the member again if it was deleted before the references to it were stored. Until then no object may refer to it, so that a
// server may delete it as unused, although the command has found it. From then on the server keeps it.
func (f *follower) restore(ctx context.Context) error {
	if f.dryRun.IsSet() {
		return nil
	}
	name := memberName(f.members.kind, f.to)
	for attempt := 1; ; attempt++ {
		found, err := f.objects(f.members.kind).Get(ctx, f.to, metav1.GetOptions{})
		switch {
		case err != nil && !apierrors.IsNotFound(err):
			return command.Unable(fmt.Errorf("read %s: %w", name, withRight(err)))
		case err == nil && found.GetDeletionTimestamp() != nil:
			return refused("%s was deleted meanwhile, and references point to it: it is gone when its finalizers are (%s). "+
				"Then create its content again with \"holdfast series roll %s\"", name, strings.Join(found.GetFinalizers(), ", "), f.members.identity)
		case err == nil && found.GetUID() == f.content.GetUID():
			return nil
		case err == nil:
			return f.accept(name, found)
		}
		created, err := f.objects(f.members.kind).Create(ctx, again(f.content), metav1.CreateOptions{FieldManager: f.members.manager()})
		switch {
		case err == nil:
			f.content, f.restored = created, true
			f.say("%s was deleted meanwhile, and is created again", name)
			return nil
		case !apierrors.IsAlreadyExists(err) || attempt == attempts:
			return refused("%s was deleted meanwhile, and references point to it. Create it again: %w", name, withRight(err))
		}
	}
}

// accept checks a member that another client has created after it was deleted.
func (f *follower) accept(name string, found *unstructured.Unstructured) error {
	switch same, err := sameContent(f.members.kind, found, f.content); {
	case err != nil:
		return command.Unable(fmt.Errorf("read %s: %w", name, err))
	case !same:
		return refused("%s was deleted meanwhile, and another client has created it with other content. References point to it: "+
			"run \"holdfast series rollback %s --to HASH\" with another member", name, f.members.identity)
	}
	return nil
}

// again returns a member as a client creates it: without what the server sets, and without the mark of an unused object.
func again(member *unstructured.Unstructured) *unstructured.Unstructured {
	out := contentOf(member)
	out.SetName(member.GetName())
	out.SetNamespace(member.GetNamespace())
	out.SetLabels(member.GetLabels())
	annotations := maps.Clone(member.GetAnnotations())
	delete(annotations, series.UnusedSinceAnnotation)
	if len(annotations) > 0 {
		out.SetAnnotations(annotations)
	}
	return out
}
