package series

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/cli/difference"
)

// printDifferences prints what a dry run would change.
func (f *follower) printDifferences(ctx context.Context, plans []planned) error {
	if !f.dryRun.IsSet() {
		return nil
	}
	if f.missing {
		previous, err := f.previous(ctx, plans)
		if err != nil {
			return err
		}
		text, err := difference.Unified(memberName(f.members.kind, f.to), contentOf(previous), contentOf(f.content))
		if err != nil {
			return err
		}
		fmt.Fprint(f.out, command.Diff(f.cmd, f.out, text))
	}
	for _, p := range plans {
		text, err := difference.Unified(p.String(), stripped(p.live), stripped(p.result))
		if err != nil {
			return err
		}
		fmt.Fprint(f.out, command.Diff(f.cmd, f.out, text))
	}
	return nil
}

// previous reads the member that the first reference has now, nil if it does not exist.
func (f *follower) previous(ctx context.Context, plans []planned) (*unstructured.Unstructured, error) {
	if len(plans) == 0 || !f.members.has(plans[0].changes[0].from) {
		return nil, nil
	}
	name := plans[0].changes[0].from
	found, err := f.objects(f.members.kind).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, command.Unable(fmt.Errorf("read %s: %w", memberName(f.members.kind, name), withRight(err)))
	}
	return found, nil
}

// contentOf returns the content of a member, without its metadata.
func contentOf(object *unstructured.Unstructured) *unstructured.Unstructured {
	if object == nil {
		return nil
	}
	content := map[string]any{}
	for _, field := range []string{"apiVersion", "kind", "type", "data", "binaryData", "immutable"} {
		if v, found := object.Object[field]; found {
			content[field] = v
		}
	}
	return (&unstructured.Unstructured{Object: content}).DeepCopy()
}

// stripped returns a workload without what every write changes.
func stripped(object *unstructured.Unstructured) *unstructured.Unstructured {
	out := object.DeepCopy()
	out.SetManagedFields(nil)
	out.SetResourceVersion("")
	out.SetGeneration(0)
	delete(out.Object, "status")
	return out
}
