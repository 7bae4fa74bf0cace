package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/rest"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"holdfast.dev/holdfast/internal/fieldhistory"
)

// object is an object on the command line. It may be deleted.
type object struct {
	factory cmdutil.Factory
	info    *resource.Info
	// uid is that of a deleted object, "" for the object of the name.
	uid string
}

// find returns the object that the arguments name, as TYPE NAME or TYPE/NAME. It does not read it.
func find(factory cmdutil.Factory, args []string, uid string) (object, error) {
	namespace, _, err := factory.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return object{}, err
	}
	infos, err := factory.NewBuilder().Unstructured().NamespaceParam(namespace).DefaultNamespace().RequireObject(false).
		ResourceTypeOrNameArgs(false, args...).Flatten().Do().Infos()
	switch {
	case err != nil:
		return object{}, err
	case len(infos) != 1:
		return object{}, fmt.Errorf("name one object, not %d: TYPE NAME or TYPE/NAME", len(infos))
	}
	return object{factory, infos[0], uid}, nil
}

// String returns the name of the object as kubectl and the other commands print it.
func (o object) String() string { return o.info.ObjectName() }

// target returns the arguments for another command about the object: deployments.apps/web -n shop.
func (o object) target() string {
	text := o.info.Mapping.Resource.Resource
	if group := o.info.Mapping.Resource.Group; group != "" {
		text += "." + group
	}
	text += "/" + o.info.Name
	if o.info.Namespaced() {
		text += " -n " + o.info.Namespace
	}
	return text
}

// history reads the history of the object.
func (o object) history(cmd *cobra.Command) (fieldhistory.List, error) {
	name, value, _ := strings.Cut(fieldhistory.Query, "=")
	request := o.info.Client.Get().NamespaceIfScoped(o.info.Namespace, o.info.Namespaced()).
		Resource(o.info.Mapping.Resource.Resource).Name(o.info.Name).Param(name, value)
	if o.uid != "" {
		request.Param(fieldhistory.UIDParameter, o.uid)
	}
	data, err := answer(request.Do(cmd.Context()))
	if err != nil {
		return fieldhistory.List{}, err
	}
	var list fieldhistory.List
	// A server that does not know the query answers with the object.
	if err := json.Unmarshal(data, &list); err != nil || list.Kind != fieldhistory.ListKind {
		return fieldhistory.List{}, fmt.Errorf("%s: this server keeps no history of objects: only \"holdfast serve\" does", o)
	}
	if len(list.Items) == 0 && !list.Recording {
		return fieldhistory.List{}, o.notRecorded(list)
	}
	return list, nil
}

// notRecorded returns the error for an object without a history.
func (o object) notRecorded(list fieldhistory.List) error {
	others := ""
	if len(list.OtherUIDs) > 0 {
		others = "; deleted objects of this name have one: --uid " + strings.Join(list.OtherUIDs, ", --uid ")
	}
	namespace := ""
	if o.info.Namespaced() {
		namespace = ", or \"kubectl label namespace " + o.info.Namespace + " " + optIn + "\" for all objects of the namespace"
	}
	return fmt.Errorf("%s has no history: the server does not record its changes. \"kubectl label %s %s\" switches it on%s%s",
		o, o.target(), optIn, namespace, others)
}

// optIn is the label that switches the history on, as an argument of kubectl label.
const optIn = fieldhistory.Label + "=" + fieldhistory.LabelFields

// maxReads is how often the command reads an object and its history if the object changes between the two.
const maxReads = 5

// read reads the object, in the version of the newest entry of its history, and the history up to that state. The object is nil if it is
// deleted.
func (o object) read(cmd *cobra.Command) (*unstructured.Unstructured, fieldhistory.List, error) {
	list, err := o.history(cmd)
	if err != nil {
		return nil, list, err
	}
	for range maxReads {
		version := versionOf(list)
		switch {
		case list.Deleted != nil:
			return nil, list, nil
		case version == "":
			return nil, list, fmt.Errorf("%s: the server has recorded no change yet", o)
		}
		live, err := o.get(cmd, version)
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, list, err
		}
		// The history is read last, so that it has all writes of the object that was read.
		if list, err = o.history(cmd); err != nil {
			return nil, list, err
		}
		if live != nil && list.Deleted == nil && list.UID == string(live.GetUID()) && !isNewer(list.ResourceVersion, live.GetResourceVersion()) {
			return live, list, nil
		}
	}
	return nil, list, fmt.Errorf("%s: the object changes faster than it can be read", o)
}

// versionOf returns the version of the newest entry that can be read, "" if there is none.
func versionOf(list fieldhistory.List) string {
	for _, entry := range slices.Backward(list.Items) {
		if entry.APIVersion != "" {
			return entry.APIVersion
		}
	}
	return ""
}

// isNewer reports whether a resourceVersion is that of a later write than another one.
func isNewer(one, other string) bool {
	a, errA := strconv.ParseUint(one, 10, 64)
	b, errB := strconv.ParseUint(other, 10, 64)
	return errA == nil && errB == nil && a > b
}

// get reads the object in a version of its API, nil if it does not exist.
func (o object) get(cmd *cobra.Command, apiVersion string) (*unstructured.Unstructured, error) {
	o, err := o.inVersion(apiVersion)
	if err != nil {
		return nil, err
	}
	data, err := answer(o.info.Client.Get().NamespaceIfScoped(o.info.Namespace, o.info.Namespaced()).
		Resource(o.info.Mapping.Resource.Resource).Name(o.info.Name).Do(cmd.Context()))
	if err != nil {
		return nil, err
	}
	return decode(data)
}

// answer returns the body of an answer, or the error that the server has sent. The error of Raw does not have the text of the server.
func answer(result rest.Result) ([]byte, error) {
	data, err := result.Raw()
	if err != nil {
		return nil, result.Error()
	}
	return data, nil
}

func decode(data []byte) (*unstructured.Unstructured, error) {
	decoded, _, err := unstructured.UnstructuredJSONScheme.Decode(data, nil, nil)
	if err != nil {
		return nil, err
	}
	obj, ok := decoded.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("the answer is not an object but %T", decoded)
	}
	return obj, nil
}

// inVersion returns the object with a client for a version of its API.
func (o object) inVersion(apiVersion string) (object, error) {
	version, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return o, err
	}
	if o.info.Mapping.GroupVersionKind.GroupVersion() == version {
		return o, nil
	}
	mapper, err := o.factory.ToRESTMapper()
	if err != nil {
		return o, err
	}
	mapping, err := mapper.RESTMapping(o.info.Mapping.GroupVersionKind.GroupKind(), version.Version)
	if err != nil {
		return o, fmt.Errorf("%s: its history is in the version %s, which the server does not serve: %w", o, apiVersion, err)
	}
	client, err := o.factory.UnstructuredClientForMapping(mapping)
	if err != nil {
		return o, err
	}
	info := *o.info
	info.Mapping, info.Client = mapping, client
	o.info = &info
	return o, nil
}

// isAnswer reports whether an error is the answer of a server to a request that it understood.
func isAnswer(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && !apierrors.IsServiceUnavailable(err) && !apierrors.IsServerTimeout(err) && !apierrors.IsTimeout(err) &&
		!apierrors.IsTooManyRequests(err)
}
