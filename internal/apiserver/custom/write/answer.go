package write

import (
	"context"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversionscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1beta1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/util/apihelpers"

	"holdfast.dev/holdfast/internal/apiserver/custom/object"
)

// answer writes the stored object in the form that the client accepts: the object, its metadata, or a table with one row.
func (r *request) answer(ctx context.Context, w http.ResponseWriter, result runtime.Object) error {
	status := http.StatusOK
	if r.created {
		status = http.StatusCreated
	}
	serializer, gv := r.Scope.Serializer, r.Scope.Kind.GroupVersion()
	var err error
	genericapirequest.TrackTransformResponseObjectLatency(ctx, func() {
		if form := r.accepted.Convert; form != nil {
			serializer, gv = apihelpers.GetMetaInternalVersionCodecs(), form.GroupVersion()
			result, err = r.converted(ctx, result, *form)
		}
	})
	if err != nil {
		return err
	}
	responsewriters.WriteObjectNegotiated(serializer, r.Scope, gv, w, r.http, status, result, false)
	return nil
}

// converted returns an object as a table or as metadata. The negotiation in readTarget, and package served, have refused all other forms.
func (r *request) converted(ctx context.Context, result runtime.Object, form schema.GroupVersionKind) (runtime.Object, error) {
	if form.Kind != "Table" {
		return metadataOf(result, form.GroupVersion()), nil
	}
	options := &metav1.TableOptions{}
	if err := metainternalversionscheme.ParameterCodec.DecodeParameters(r.http.URL.Query(), metav1.SchemeGroupVersion, options); err != nil {
		return nil, err
	}
	if errs := validation.ValidateTableOptions(options); len(errs) > 0 {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("Unable to convert to Table as requested: %v", errs.ToAggregate()))
	}
	table, err := r.Scope.TableConvertor.ConvertToTable(ctx, result, options)
	if err != nil {
		return nil, err
	}
	for i := range table.Rows {
		row := &table.Rows[i].Object
		switch options.IncludeObject {
		case metav1.IncludeObject:
			row.Object, err = r.Scope.Convertor.ConvertToVersion(row.Object, r.Scope.Kind.GroupVersion())
		case metav1.IncludeNone:
			row.Object = nil
		default:
			row.Object = metadataOf(row.Object, form.GroupVersion())
		}
	}
	return table, err
}

func metadataOf(obj runtime.Object, gv schema.GroupVersion) runtime.Object {
	out := meta.AsPartialObjectMetadata(object.From(obj))
	out.SetGroupVersionKind(gv.WithKind("PartialObjectMetadata"))
	return out
}
