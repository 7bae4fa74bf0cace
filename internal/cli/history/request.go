package history

import (
	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/ownership"
)

// request is the write that takes the object back. The dry run and the write are the same request.
type request struct {
	object
	body   []byte
	create bool
}

// request returns the write for the change. The resourceVersion in the body makes the server answer 409 if the object has changed.
func (u *undo) request() (request, error) {
	of, err := u.inVersion(u.version)
	return request{of, encode(u.body()), u.live == nil}, err
}

// send sends the request. It returns the object that the server stores, and the warnings of the server, but for those about the ownership
// of fields: the command shows the owners itself.
func (r request) send(cmd *cobra.Command, dryRun bool) (*unstructured.Unstructured, []string, error) {
	var request *rest.Request
	if r.create {
		request = r.info.Client.Post()
	} else {
		request = r.info.Client.Put().Name(r.info.Name)
	}
	request.NamespaceIfScoped(r.info.Namespace, r.info.Namespaced()).Resource(r.info.Mapping.Resource.Resource).
		Param("fieldManager", manager).SetHeader("Content-Type", "application/json").Body(r.body).WarningHandler(rest.NoWarnings{})
	if dryRun {
		request.Param("dryRun", metav1.DryRunAll)
	}
	result := request.Do(cmd.Context())
	var warnings []string
	for _, warning := range result.Warnings() {
		if !ownership.IsWarning(warning.Text) {
			warnings = append(warnings, warning.Text)
		}
	}
	data, err := answer(result)
	if err != nil {
		return nil, warnings, err
	}
	obj, err := decode(data)
	return obj, warnings, err
}

// isMoved reports whether the server has refused a write because the object is not as it was read.
func isMoved(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsNotFound(err)
}
