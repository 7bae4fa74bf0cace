package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/cli-runtime/pkg/resource"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"holdfast.dev/holdfast/apiserver/fieldownership"
	"holdfast.dev/holdfast/cli/ownershipcheck"
	"holdfast.dev/holdfast/ownership"
)

// objects reads the objects that a command line names, with the data about the ownership of
// their fields.
type objects struct {
	factory cmdutil.Factory
	types   *ownershipcheck.Types
}

// owned is an object with the data about the ownership of its fields.
type owned struct {
	*unstructured.Unstructured
	kind *ownership.Type
	// commands are the commands that set the fields, as far as the server knows them.
	commands ownership.Commands
	info     *resource.Info
}

// fields returns the fields of the object. If all metadata is set by the server, metadata
// itself would be an empty field; it is left out. The note is not empty if the ownership is
// not fully known.
func (o owned) fields() ([]ownership.Field, string) {
	fields, note := ownership.Owners(o.kind, o.Object, o.GetManagedFields(), o.commands)
	isMetadata := func(f ownership.Field) bool { return f.Path.Len() == 1 && f.Path.Last().Name == "metadata" }
	return slices.DeleteFunc(fields, isMetadata), note
}

// ownerOf returns the owners of a field, "" if there is none. Owners are kubectl apply and
// the managers of server-side apply, which would set the field again. An empty map or list
// counts as not owned.
func ownerOf(f ownership.Field) string {
	switch value := f.Value.(type) {
	case map[string]any:
		if len(value) == 0 {
			return ""
		}
	case []any:
		if len(value) == 0 {
			return ""
		}
	}
	var names []string
	if f.Applied {
		names = append(names, "kubectl apply")
	}
	for _, manager := range f.Managers {
		names = append(names, "server-side apply ("+manager+")")
	}
	return strings.Join(names, ", ")
}

// find reads the objects that the arguments name, as TYPE NAME or TYPE/NAME.
func (o objects) find(cmd *cobra.Command, args []string) ([]owned, error) {
	namespace, _, err := o.factory.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, err
	}
	infos, err := o.factory.NewBuilder().Unstructured().NamespaceParam(namespace).DefaultNamespace().
		ResourceTypeOrNameArgs(false, args...).Flatten().Latest().Do().Infos()
	if err != nil {
		return nil, err
	}
	if len(infos) == 0 {
		return nil, errors.New("name an object: TYPE NAME or TYPE/NAME")
	}
	client, err := o.factory.RESTClient()
	if err != nil {
		return nil, err
	}
	schemas := ownershipcheck.Schemas{Get: func(path string) ([]byte, error) {
		return client.Get().AbsPath(path).SetHeader("Accept", "application/json").Do(cmd.Context()).Raw()
	}}
	var found []owned
	for _, info := range infos {
		obj, ok := info.Object.(*unstructured.Unstructured)
		if !ok {
			return nil, fmt.Errorf("%s: not an object but %T", info.ObjectName(), info.Object)
		}
		found = append(found, owned{obj, o.types.Of(obj.GroupVersionKind(), schemas), commandsOf(cmd, info), info})
	}
	return found, nil
}

// commandsOf returns the commands that wrote an object, as far as the server has recorded
// them. A server other than Holdfast ignores the query parameter and returns the object
// itself; the result is then empty.
func commandsOf(cmd *cobra.Command, info *resource.Info) ownership.Commands {
	data, err := info.Client.Get().NamespaceIfScoped(info.Namespace, info.Namespaced()).
		Resource(info.Mapping.Resource.Resource).Name(info.Name).Param("holdfast", "commands").Do(cmd.Context()).Raw()
	var list fieldownership.CommandList
	if err != nil || json.Unmarshal(data, &list) != nil || list.Kind != "CommandList" {
		return ownership.Commands{}
	}
	return ownership.Commands{Entries: list.Items}
}

func newOwnersCommand(factory cmdutil.Factory) *cobra.Command {
	output := ""
	cmd := &cobra.Command{
		Use:   "owners (TYPE NAME | TYPE/NAME)",
		Short: "Show who owns each field of an object, and who set it last",
		Long: `Show an object with, for each field, who owns it, who set it last, and when.

A field in the last-applied configuration is owned by kubectl apply, a field of
server-side apply by its manager: the next apply of a file takes it back. All
other fields are free. Where the server remembers the command that set a field it
is named, else the manager that the object names for it.`,
		Example: `  holdfast owners deployment/web
  holdfast owners deployment web -o json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if output != "" && output != "json" {
				return fmt.Errorf("output %q: must be json", output)
			}
			found, err := objects{factory, ownershipcheck.NewTypes()}.find(cmd, args)
			if err != nil {
				return err
			}
			if output == "json" {
				return printOwnersJSON(cmd.OutOrStdout(), found)
			}
			for i, o := range found {
				if i > 0 {
					_, _ = fmt.Fprintln(cmd.OutOrStdout())
				}
				if err := printOwners(cmd.OutOrStdout(), o); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "json prints every field as an object")
	return cmd
}

// fieldJSON is a field in the output of -o json.
type fieldJSON struct {
	Field string `json:"field"`
	Value any    `json:"value"`
	Owner string `json:"owner,omitempty"`
	SetBy string `json:"setBy,omitempty"`
	At    string `json:"at,omitempty"`
}

func printOwnersJSON(out io.Writer, found []owned) error {
	type object struct {
		Object string      `json:"object"`
		Note   string      `json:"note,omitempty"`
		Fields []fieldJSON `json:"fields"`
	}
	var list []object
	for _, o := range found {
		fields, note := o.fields()
		one := object{Object: o.info.ObjectName(), Note: note, Fields: []fieldJSON{}}
		for _, f := range fields {
			value := f.Value
			if o.kind.Redacted {
				value = redacted
			}
			one.Fields = append(one.Fields, fieldJSON{
				Field: f.Path.String(), Value: value, Owner: ownerOf(f), SetBy: f.Set.Name, At: timeText(f.Set.Time),
			})
		}
		list = append(list, one)
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(list)
}

// timeText formats a time, "" if it is unknown.
func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// redacted is printed instead of the values of Secrets.
const redacted = "<redacted>"

func printOwners(out io.Writer, o owned) error {
	fields, note := o.fields()
	tree := newOwnersTree(fields, o.kind.Redacted)
	tree.colour = printers.AllowsColorOutput(out)
	if note != "" {
		if _, err := fmt.Fprintf(out, "Not all is known: %s\n", note); err != nil {
			return err
		}
	}
	return tree.print(out)
}
