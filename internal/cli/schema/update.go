package schema

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"holdfast.dev/holdfast/internal/cli/arguments"
	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/cli/plan"
	"holdfast.dev/holdfast/internal/definition/preview"
	"holdfast.dev/holdfast/internal/finding"
	"holdfast.dev/holdfast/internal/policy"
)

const updateHelp = `Decide whether a server would accept an update of custom resources.

OLD has the objects that the server has, as "kubectl get -o yaml" prints them. NEW has
the objects as a client would send them. An object of NEW is paired with the object of
the same kind, namespace and name in OLD.

For each object the output says: unchanged, updated in place, created, must be
replaced, or refused. Every violation has the old and the new value. If an update is
refused but the same object could be created, the plan says what deleting the old
object and creating the new one loses: status, finalizers that run first, owner
references, fields that only the server's object has, and children that the server
deletes with their owner. Children are looked for in OLD and in --objects.

A rule with "while" counts if its condition is true for the object in OLD. A rule with
"unless" counts unless --may names its verb. If an object must be replaced and a rule or
an annotation keeps it from being deleted, the plan says so.

The exit code is 1 if an update is refused. Webhooks and admission policies do not run.`

const updateExamples = `  # Would the server accept an edited file?
  sed 's/size: large/size: small/' examples/widget.yaml > widget-small.yaml
  holdfast schema update --crd examples/widgets.yaml examples/widget.yaml widget-small.yaml

  # The same for what a server has now
  kubectl get widgets -o yaml | holdfast schema update --crd examples/widgets.yaml - widget-small.yaml`

// updating is one run of the command update.
type updating struct {
	catalog catalog
	output  string
	objects []string
	may     []string
	version string
}

func newUpdateCommand(version string) *cobra.Command {
	u := &updating{version: version}
	cmd := &cobra.Command{
		Use:     "update --crd FILE OLD NEW",
		Short:   "Decide whether a server would accept an update, or what must be replaced",
		Long:    updateHelp,
		Example: updateExamples,
		Args:    arguments.Exactly("OLD", "NEW"),
		RunE:    u.run,
	}
	u.catalog.addFlag(cmd)
	cmd.Flags().StringVarP(&u.output, "output", "o", "text", "output format: text, json, sarif or github")
	cmd.Flags().StringSliceVar(&u.objects, "objects", nil, "files or directories with more objects, among which children are looked for")
	cmd.Flags().StringSliceVar(&u.may, "may", nil, "verbs that the user of the update has on the objects, as rules name them after unless")
	command.TakeFiles(cmd)
	return cmd
}

func (u *updating) run(cmd *cobra.Command, args []string) error {
	format, err := finding.Parse(u.output)
	if err != nil {
		return err
	}
	if err := onlyStdin(u.catalog.args, u.objects, args); err != nil {
		return err
	}
	if err := u.catalog.load(cmd); err != nil {
		return err
	}
	oldObjects, err := readDecoded(cmd, args[:1])
	if err != nil {
		return err
	}
	newObjects, err := readDecoded(cmd, args[1:])
	if err != nil {
		return err
	}
	others := oldObjects
	if len(u.objects) > 0 {
		more, err := readDecoded(cmd, u.objects)
		if err != nil {
			return err
		}
		others = append(others, more...)
	}
	plans, err := u.judge(cmd.Context(), pairs{oldObjects, newObjects, others})
	if err != nil {
		return err
	}
	if err := u.print(cmd.OutOrStdout(), format, plans); err != nil {
		return err
	}
	refused := 0
	for _, p := range plans {
		if p.Outcome == preview.Replace || p.Outcome == preview.Invalid {
			refused++
		}
	}
	if refused > 0 {
		return command.Refused(fmt.Errorf("the server would refuse %d of %s", refused, finding.Quantity(len(plans), "object")))
	}
	return nil
}

// decoded is an object with its value.
type decoded struct {
	inputObject
	value map[string]any
}

// key returns kind, namespace and name of an object. The version does not count.
func (d decoded) key() [4]string {
	metadata, _ := d.value["metadata"].(map[string]any)
	namespace, _ := metadata["namespace"].(string)
	name, _ := metadata["name"].(string)
	return [4]string{group(d.APIVersion), d.Kind, namespace, name}
}

// readDecoded reads the objects that arguments name, with their values.
func readDecoded(cmd *cobra.Command, args []string) ([]decoded, error) {
	objects, err := readObjects(cmd, args)
	if err != nil {
		return nil, err
	}
	var all []decoded
	for _, o := range objects {
		d := decoded{inputObject: o}
		if err := utiljson.Unmarshal(o.JSON, &d.value); err != nil {
			return nil, fmt.Errorf("%s: %w", at(o.Object, ""), err)
		}
		all = append(all, d)
	}
	return all, nil
}

// pairs are the objects of one run.
type pairs struct{ old, updated, others []decoded }

// find returns the old object for a new one, nil if there is none. If the new object has no
// namespace, an old object in any namespace is taken, provided that there is only one.
func (p pairs) find(updated decoded) map[string]any {
	key := updated.key()
	var anywhere []map[string]any
	for _, old := range p.old {
		other := old.key()
		if other == key {
			return old.value
		}
		other[2] = key[2]
		if key[2] == "" && other == key {
			anywhere = append(anywhere, old.value)
		}
	}
	if len(anywhere) == 1 {
		return anywhere[0]
	}
	return nil
}

// judge decides about each new object that has a definition.
func (u *updating) judge(ctx context.Context, p pairs) ([]plan.Plan, error) {
	others := make([]map[string]any, 0, len(p.others))
	for _, o := range p.others {
		others = append(others, o.value)
	}
	may := func(verb string) bool { return slices.Contains(u.may, verb) }
	var plans []plan.Plan
	for _, updated := range p.updated {
		def, version, err := u.catalog.find(updated.Object)
		switch {
		case errors.Is(err, errNoDefinition) && !updated.Explicit:
			continue
		case err != nil:
			return nil, err
		}
		judgement := preview.Update{
			Definition: def.CustomResourceDefinition, Versions: def.versions, Version: version.Kind.Version,
			Old: p.find(updated), New: updated.value, May: may,
		}.Judge(ctx)
		one := plan.FromJudgement(judgement, updated.Object, nil)
		if one.Outcome == preview.Replace {
			one.Loss = judgement.Loss(others)
			one.Kept = plan.Kept(ctx, def.CustomResourceDefinition, policy.Deletion{
				Object: policy.Object{Version: version.Kind.Version, Content: judgement.Old}, May: may,
			})
		}
		plans = append(plans, one)
	}
	if len(plans) == 0 {
		return nil, errors.New("NEW has no object of the kinds that --crd defines")
	}
	return plans, nil
}
