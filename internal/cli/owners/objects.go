package owners

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"holdfast.dev/holdfast/internal/apiserver/fieldownership"
	"holdfast.dev/holdfast/internal/cli/ownershipcheck"
	"holdfast.dev/holdfast/ownership"
)

// objects reads the objects that a command line names, with the data about the ownership of
// their fields.
type objects struct {
	factory cmdutil.Factory
	types   *ownershipcheck.Types
	// files are the files with the objects, if the arguments name none.
	files resource.FilenameOptions
}

var errNoObject = errors.New("name an object: TYPE NAME, TYPE/NAME or -f FILE")

// owned is an object with the data about the ownership of its fields.
type owned struct {
	*unstructured.Unstructured
	kind *ownership.Type
	// commands are the commands that set the fields, as far as the server knows them.
	commands ownership.Commands
	info     *resource.Info
}

// subject returns the object for package ownership.
func (o owned) subject() ownership.Subject {
	return ownership.Subject{Type: o.kind, Object: o.Object, Managers: o.GetManagedFields(), Commands: o.commands}
}

// find reads the objects that the arguments name, as TYPE NAME or TYPE/NAME, or that the
// files contain. Of a file it takes only the names of its objects.
func (o objects) find(cmd *cobra.Command, args []string) ([]owned, error) {
	namespace, enforceNamespace, err := o.factory.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, err
	}
	if err := o.files.RequireFilenameOrKustomize(); len(args) == 0 && err != nil {
		return nil, errNoObject
	}
	infos, err := o.factory.NewBuilder().Unstructured().NamespaceParam(namespace).DefaultNamespace().
		FilenameParam(enforceNamespace, &o.files).ResourceTypeOrNameArgs(false, args...).Flatten().Latest().Do().Infos()
	if err != nil {
		return nil, err
	}
	if len(infos) == 0 {
		return nil, errNoObject
	}
	schemas := o.schemas(cmd)
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

// schemas returns the schemas that the server publishes.
func (o objects) schemas(cmd *cobra.Command) ownershipcheck.Schemas {
	return ownershipcheck.Schemas{Get: func(path string) ([]byte, error) {
		client, err := o.factory.RESTClient()
		if err != nil {
			return nil, err
		}
		return client.Get().AbsPath(path).SetHeader("Accept", "application/json").Do(cmd.Context()).Raw()
	}}
}

// commandsOf returns the commands that wrote an object, as far as the server has recorded
// them. A server other than Holdfast ignores the query parameter and returns the object
// itself; the result is then empty.
func commandsOf(cmd *cobra.Command, info *resource.Info) ownership.Commands {
	data, err := info.Client.Get().NamespaceIfScoped(info.Namespace, info.Namespaced()).
		Resource(info.Mapping.Resource.Resource).Name(info.Name).Param("holdfast", "commands").Do(cmd.Context()).Raw()
	if err != nil {
		return ownership.Commands{}
	}
	return fieldownership.DecodeCommands(data)
}
