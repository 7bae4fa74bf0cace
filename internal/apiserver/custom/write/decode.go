package write

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"

	"holdfast.dev/holdfast/internal/apiserver/custom/object"
)

// decode decodes the body. The object of a create or update conforms afterwards: the decoder of the scope calls Version.Receive.
func (r *request) decode(ctx context.Context) error {
	switch {
	case r.patchType == apply:
		return r.decodeConfiguration(ctx)
	case r.patchType != "":
		return r.checkPatch(ctx)
	}
	if r.verb == "update" {
		if err := r.readInput(); err != nil {
			return err
		}
	}
	into := object.New(r.Scope.Kind)
	kind := r.Scope.Kind
	obj, gvk, err := r.decoder(r.input).Decode(r.body, &kind, into)
	if err != nil {
		strict, isStrict := runtime.AsStrictDecodingError(err)
		if !isStrict || obj == nil || r.directive != metav1.FieldValidationWarn {
			return r.decodingError(err, into, gvk)
		}
		warn(ctx, strict.Errors())
	}
	if !r.Scope.AcceptsGroupVersion(gvk.GroupVersion()) {
		return apierrors.NewBadRequest(fmt.Sprintf("the API version in the data (%s) does not match the expected API version (%s)",
			gvk.GroupVersion(), r.Scope.Kind.GroupVersion()))
	}
	r.received = object.From(obj)
	audit.LogRequestObject(ctx, obj, gvk.GroupVersion(), r.Scope.Resource, r.Scope.Subresource, r.Scope.Serializer)
	if r.verb == "create" {
		r.name = r.received.GetName()
		rest.WipeObjectMetaSystemFields(r.received)
	}
	if err := r.checkTarget(r.received); err != nil {
		return err
	}
	removeDuplicateReferences(ctx, r.received, handlers.DuplicateOwnerReferencesWarningFormat)
	return nil
}

// decoder returns the decoder of the scope for a media type. It finds unknown fields and duplicate keys, unless the client sent
// fieldValidation=Ignore.
func (r *request) decoder(info runtime.SerializerInfo) runtime.Decoder {
	serializer := info.StrictSerializer
	if r.directive == metav1.FieldValidationIgnore {
		serializer = info.Serializer
	}
	return r.Scope.Serializer.DecoderToVersion(serializer, r.Scope.HubGroupVersion)
}

// decodingError returns the error for a body that cannot be decoded, in the words of Kubernetes.
func (r *request) decodingError(err error, into runtime.Object, gvk *schema.GroupVersionKind) error {
	kinds, _, kindErr := r.Scope.Typer.ObjectKinds(into)
	if kindErr != nil {
		return apierrors.NewBadRequest(kindErr.Error())
	}
	if gvk != nil && gvk.Kind != "" {
		return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", gvk.Kind, gvk.Version, kinds[0].Kind, err))
	}
	return apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): %v (%s)", kinds[0].Kind, err, excerpt(r.body)))
}

// excerpt returns the beginning of a body for an error: as text if it may be JSON, else as hexadecimal digits.
func excerpt(body []byte) string {
	const most = 30
	shown, more := body, ""
	if len(body) > most {
		shown, more = body[:most], " ..."
	}
	switch {
	case len(body) == 0:
		return "<empty>"
	case body[0] == '{':
		return string(shown) + more
	}
	return hex.EncodeToString(shown) + more
}

// warn adds a warning for each error that a strict decoder found. The errors of a YAML decoder have several lines.
func warn(ctx context.Context, errs []error) {
	for _, err := range errs {
		message := err.Error()
		_, lines, isYAML := strings.Cut(message, "yaml: unmarshal errors:\n")
		if !isYAML {
			warning.AddWarning(ctx, "", message)
			continue
		}
		for line := range strings.SplitSeq(lines, "\n") {
			warning.AddWarning(ctx, "", strings.TrimSpace(line))
		}
	}
}
