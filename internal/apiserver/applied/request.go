package applied

import (
	"context"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/endpoints/handlers/finisher"
	requestmetrics "k8s.io/apiserver/pkg/endpoints/handlers/metrics"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/component-base/tracing"
)

const (
	// timeout bounds a write. It is that of Kubernetes.
	timeout = 34 * time.Second
	// slow is the duration from which the log has the steps of a write.
	slow = 500 * time.Millisecond
)

// request is one apply. prepare sets its fields.
type request struct {
	*Endpoint
	http            *http.Request
	namespace, name string
	body            []byte
	options         metav1.PatchOptions
	// configuration is the decoded body, for the first attempt to store the object.
	configuration map[string]any
}

// serve takes the steps of the handler of the library.
func (r *request) serve(w http.ResponseWriter) {
	ctx, span := tracing.Start(r.http.Context(), "Patch",
		attribute.String("method", r.http.Method), attribute.String("url", r.http.URL.Path), attribute.String("protocol", r.http.Proto),
		attribute.String("user-agent", r.http.UserAgent()), attribute.String("audit-id", audit.GetAuditIDTruncated(r.http.Context())))
	defer span.End(slow)
	req := r.http.WithContext(ctx)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	ctx = genericapirequest.WithNamespace(ctx, r.namespace)
	requestmetrics.RecordRequestBodySize(ctx, r.scope.Resource.GroupResource(), requestmetrics.Patch, len(r.body))
	audit.LogRequestPatch(req.Context(), r.body)

	// After a timeout, the store may still write the object, and nothing reads this.
	created := make(chan bool, 1)
	result, err := finisher.FinishRequest(ctx, func() (runtime.Object, error) {
		obj, isNew, err := r.storage.Update(ctx, r.name, r, r.authorizingCreate(ctx), r.validatingUpdate(ctx), true, r.updateOptions())
		created <- isNew
		return obj, err
	})
	gv := r.scope.Kind.GroupVersion()
	if err != nil {
		responsewriters.ErrorNegotiated(err, r.scope.Serializer, gv, w, req)
		return
	}
	span.AddEvent("Object stored in database")
	status := http.StatusOK
	if <-created {
		status = http.StatusCreated
	}
	responsewriters.WriteObjectNegotiated(r.scope.Serializer, r.scope, gv, w, req, status, result, false)
}

// updateOptions are the options of the request, as the store takes them.
func (r *request) updateOptions() *metav1.UpdateOptions {
	o := &metav1.UpdateOptions{DryRun: r.options.DryRun, FieldManager: r.options.FieldManager, FieldValidation: r.options.FieldValidation}
	o.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("UpdateOptions"))
	return o
}

// createOptions are the options of the request, as admission takes them if the request creates the object.
func (r *request) createOptions() *metav1.CreateOptions {
	o := &metav1.CreateOptions{DryRun: r.options.DryRun, FieldManager: r.options.FieldManager, FieldValidation: r.options.FieldValidation}
	o.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("CreateOptions"))
	return o
}
