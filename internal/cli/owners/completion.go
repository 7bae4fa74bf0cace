package owners

import (
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/kubectl/pkg/util/completion"
)

// completeObjects completes the type and the name of an object of the server, and the fields of
// that object for the flag --field.
func completeObjects(cmd *cobra.Command, o objects) {
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		return completion.ResourceTypeAndNameCompletionFunc(o.factory)(cmd, args, prefix)
	}
	if cmd.Flags().Lookup("field") == nil {
		return
	}
	// This cannot fail: the flag exists and has no function yet.
	_ = cmd.RegisterFlagCompletionFunc("field", func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		found, err := o.find(cmd, args)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var fields []string
		for _, one := range found {
			for _, field := range one.report().Fields {
				if strings.HasPrefix(field.Field, prefix) {
					fields = append(fields, field.Field)
				}
			}
		}
		return fields, cobra.ShellCompDirectiveNoFileComp
	})
}
