package history

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubectl/pkg/util/completion"

	"holdfast.dev/holdfast/internal/fieldhistory"
)

// complete completes the type and the name of an object, and the fields, numbers and UIDs of its history.
func complete(cmd *cobra.Command, factory cmdutil.Factory, uid *string, outputs ...string) {
	cmd.ValidArgsFunction = completion.ResourceTypeAndNameCompletionFunc(factory)
	completeFlag(cmd, "output", func(fieldhistory.List) []string { return outputs }, nil)
	read := func(cmd *cobra.Command, args []string) (fieldhistory.List, error) {
		of, err := find(factory, args, *uid)
		if err != nil {
			return fieldhistory.List{}, err
		}
		return of.history(cmd)
	}
	completeFlag(cmd, "field", fieldsOf, read)
	completeFlag(cmd, "to", numbersOf, read)
	completeFlag(cmd, "uid", func(list fieldhistory.List) []string { return list.OtherUIDs }, read)
}

// completeFlag completes a flag with values of a history, if the command has the flag.
func completeFlag(cmd *cobra.Command, flag string, values func(fieldhistory.List) []string,
	read func(cmd *cobra.Command, args []string) (fieldhistory.List, error),
) {
	if cmd.Flags().Lookup(flag) == nil {
		return
	}
	// This cannot fail: the flag exists and has no function yet.
	_ = cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		var list fieldhistory.List
		if read != nil {
			var err error
			if list, err = read(cmd, args); err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
		}
		return slices.DeleteFunc(values(list), func(v string) bool { return !strings.HasPrefix(v, prefix) }), cobra.ShellCompDirectiveNoFileComp
	})
}

// fieldsOf returns the fields that a history has changes of.
func fieldsOf(list fieldhistory.List) []string {
	var fields []string
	for _, entry := range list.Items {
		for _, change := range entry.Changes {
			fields = append(fields, change.Path)
		}
	}
	slices.Sort(fields)
	return slices.Compact(fields)
}

// numbersOf returns the numbers of the entries, each with a description for the shell.
func numbersOf(list fieldhistory.List) []string {
	var numbers []string
	for _, entry := range list.Items {
		numbers = append(numbers, fmt.Sprintf("%s\t%s, %s ago", strconv.FormatInt(entry.Number, 10), by(entry), duration.HumanDuration(time.Since(entry.Time))))
	}
	return numbers
}
