package write

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversionscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	requestmetrics "k8s.io/apiserver/pkg/endpoints/handlers/metrics"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"holdfast.dev/holdfast/internal/apiserver/custom/object"
	"holdfast.dev/holdfast/internal/apiserver/managers"
	"holdfast.dev/holdfast/internal/apiserver/requestbody"
)

// apply is the patch type of a server-side apply.
const apply = types.ApplyYAMLPatchType

// PatchTypes are the media types of patches of custom resources. A strategic merge patch needs a Go type and is not among them.
var PatchTypes = []string{string(types.JSONPatchType), string(types.MergePatchType), string(apply)}

// request is one write. Its methods are the steps.
type request struct {
	*Endpoint
	http *http.Request
	verb string

	// readTarget sets the following fields. name is empty until a new object is decoded.
	namespace, name string
	// pathName is the name in the path of a create. Most paths of a create have none.
	pathName string
	accepted negotiation.MediaTypeOptions
	// patchType is empty for create and update, and input is the form of the body of these.
	patchType types.PatchType
	input     runtime.SerializerInfo

	body []byte

	// readOptions sets the following fields. directive says what the server does with unknown fields.
	options   *metav1.UpdateOptions
	force     bool
	manager   string
	directive string

	// decode sets one of the following fields: the object of a create or update, or the configuration of an apply.
	received      *object.Object
	configuration map[string]any

	// ready is the new object that a create stores.
	ready *object.Object
	// withoutManagers is set if the object is too large to be stored with its managed fields.
	withoutManagers bool
	// closed is the reason that no object can be created.
	closed error
	// created reports whether the write created the object.
	created bool
}

// readTarget reads which object the request writes, and in which form the client wants the answer.
func (r *request) readTarget(context.Context) (err error) {
	if r.verb == "patch" {
		mediaType, _, _ := strings.Cut(r.http.Header.Get("Content-Type"), ";")
		if r.patchType = types.PatchType(mediaType); !slices.Contains(PatchTypes, mediaType) {
			return negotiation.NewUnsupportedMediaTypeError(PatchTypes)
		}
	}
	if r.verb == "create" {
		r.namespace, err = r.Scope.Namer.Namespace(r.http)
		if info, ok := genericapirequest.RequestInfoFrom(r.http.Context()); ok {
			r.pathName = info.Name
		}
	} else {
		r.namespace, r.name, err = r.Scope.Namer.Name(r.http)
	}
	if err != nil {
		return err
	}
	if r.accepted, _, err = negotiation.NegotiateOutputMediaType(r.http, r.Scope.Serializer, r.Scope); err != nil || r.verb != "create" {
		return err
	}
	// As in Kubernetes, a create reads this before the body, and an update after it.
	return r.readInput()
}

// readInput reads the form of the body.
func (r *request) readInput() (err error) {
	r.input, err = negotiation.NegotiateInputSerializer(r.http, false, r.Scope.Serializer)
	return err
}

func (r *request) readBody(ctx context.Context) (err error) {
	defer r.http.Body.Close()
	if r.body, err = requestbody.Read(r.http, r.Scope.MaxRequestBodyBytes); err == nil {
		requestmetrics.RecordRequestBodySize(ctx, r.Scope.Resource.GroupResource(), requestmetrics.RequestBodyVerb(r.verb), len(r.body))
	}
	return err
}

// readOptions reads the query of the request. The options of all verbs are stored as UpdateOptions. Only those of a patch have one field
// more, which is stored in force.
func (r *request) readOptions(context.Context) error {
	options := &metav1.PatchOptions{}
	if err := metainternalversionscheme.ParameterCodec.DecodeParameters(r.http.URL.Query(), r.Scope.MetaGroupVersion, options); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	r.options = &metav1.UpdateOptions{DryRun: options.DryRun, FieldManager: options.FieldManager, FieldValidation: options.FieldValidation}
	r.options.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("UpdateOptions"))
	var errs field.ErrorList
	kind := "UpdateOptions"
	switch r.verb {
	case "create":
		kind, errs = "CreateOptions", validation.ValidateCreateOptions(r.createOptions())
	case "patch":
		kind, errs = "PatchOptions", validation.ValidatePatchOptions(options, r.patchType)
	default:
		errs = validation.ValidateUpdateOptions(r.options)
	}
	if len(errs) > 0 {
		return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: kind}, "", errs)
	}
	r.force = options.Force != nil && *options.Force
	if r.directive = options.FieldValidation; r.directive == "" {
		r.directive = metav1.FieldValidationWarn
	}
	r.manager = managers.NameOf(options.FieldManager, r.http.UserAgent())
	return nil
}

func (r *request) createOptions() *metav1.CreateOptions {
	out := &metav1.CreateOptions{DryRun: r.options.DryRun, FieldManager: r.options.FieldManager, FieldValidation: r.options.FieldValidation}
	out.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("CreateOptions"))
	return out
}

// checkTarget refuses an object with another name or namespace than the request has. The store checks the name of a new object.
func (r *request) checkTarget(obj *object.Object) error {
	if err := rest.EnsureObjectNamespaceMatchesRequestNamespace(
		rest.ExpectedNamespaceForResource(r.namespace, r.Scope.Resource), obj); err != nil {
		return err
	}
	if r.verb == "create" {
		// Kubernetes takes the name in the body, although the client is authorized for the name in the path.
		if r.pathName != "" && obj.GetName() != r.pathName {
			return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", obj.GetName(), r.pathName))
		}
		return nil
	}
	if obj.GetName() == "" {
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s based on URL) was undeterminable: name must be provided", r.name))
	}
	if obj.GetName() != r.name {
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", obj.GetName(), r.name))
	}
	return nil
}

func (r *request) refuseCreate() error { return Terminating(r.Scope.Resource.GroupResource()) }

// Terminating returns the error of a create while the definition of the resource is being deleted.
func Terminating(resource schema.GroupResource) error {
	err := apierrors.NewMethodNotSupported(resource, "create")
	err.ErrStatus.Message = "create not allowed while custom resource definition is terminating"
	return err
}
