package cli

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/resource"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"holdfast.dev/holdfast/cli/ownershipcheck"
	"holdfast.dev/holdfast/ownership"
)

// The values of --to.
const (
	toApply      = "apply"
	toImperative = "imperative"
)

func newTransferCommand(factory cmdutil.Factory) *cobra.Command {
	var fields []string
	to := ""
	cmd := &cobra.Command{
		Use:   "transfer (TYPE NAME | TYPE/NAME) --field FIELD --to (apply|imperative)",
		Short: "Move the ownership of a field between kubectl apply and imperative commands",
		Long: `Move the ownership of a field between kubectl apply and imperative commands.

Only the last-applied configuration of the object is rewritten; the field keeps
its value. A field given to apply is cleared by the next apply of a file that does
not have it; a field given to imperative commands is left alone by that.`,
		Example: `  # An autoscaler sets the replicas from now on: take them out of the file, then
  holdfast transfer deployment/web --field .spec.replicas --to imperative

  # What was set by hand goes into the file
  holdfast transfer deployment web --field '.spec.template.spec.containers[name="web"].image' --to apply`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			found, err := objects{factory, ownershipcheck.NewTypes()}.find(cmd, args)
			if err != nil {
				return err
			}
			if len(found) != 1 {
				return fmt.Errorf("name one object, not %d", len(found))
			}
			return transfer(cmd, found[0], fields, to)
		},
	}
	cmd.Flags().StringArrayVar(&fields, "field", nil, "path of the field, as owners prints it (more than once for several)")
	cmd.Flags().StringVar(&to, "to", "", "who owns the field from now on: apply or imperative")
	return cmd
}

// transfer rewrites the last-applied configuration of an object.
func transfer(cmd *cobra.Command, o owned, fields []string, to string) error {
	change := ownership.AddApplied
	switch to {
	case toApply:
	case toImperative:
		change = ownership.RemoveApplied
	default:
		return fmt.Errorf("--to %q: must be %s or %s", to, toApply, toImperative)
	}
	if len(fields) == 0 {
		return errors.New("--field: required")
	}
	obj, text := o.Object, ""
	for _, field := range fields {
		path, err := ownership.ParsePath(field)
		if err != nil {
			return err
		}
		if text, err = change(o.kind, obj, path); err != nil {
			return fmt.Errorf("%s: %w", o.info.ObjectName(), err)
		}
		obj = ownership.WithLastApplied(obj, text)
	}
	// The resourceVersion makes the server refuse the patch if the object has changed. The
	// new configuration would otherwise lose an apply made in between.
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": o.info.ResourceVersion, "annotations": map[string]string{ownership.LastApplied: text},
	}})
	if err != nil {
		return err
	}
	helper := resource.NewHelper(o.info.Client, o.info.Mapping).WithFieldManager("holdfast-transfer")
	if _, err := helper.Patch(o.info.Namespace, o.info.Name, types.MergePatchType, patch, &metav1.PatchOptions{}); err != nil {
		return err
	}
	for _, field := range fields {
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s field %s transferred to %s\n", o.info.ObjectName(), field, to); err != nil {
			return err
		}
	}
	return nil
}
