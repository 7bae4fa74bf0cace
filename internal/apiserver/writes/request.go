package writes

import (
	"context"
	"errors"
	"net/http"
	"strings"
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

// errIrregular is the error of a step that the library has to take.
var errIrregular = errors.New("the library serves the request")

// request is one write. prepare sets its fields.
type request struct {
	*Endpoint
	http            *http.Request
	namespace, name string
	body            []byte
	// options are those of an update too.
	options metav1.PatchOptions
	verb    requestmetrics.RequestBodyVerb
	// change returns a stored object after the write. An object that is not stored may have no fields.
	change func(old runtime.Object, isStored bool) (runtime.Object, error)
	// creates is true if the write may create the object although its kind forbids this to updates.
	creates       bool
	preconditions *metav1.Preconditions
}

// serve takes the steps of the handler of the library. It returns false if the library has to serve the request: nothing is stored or answered then.
func (r *request) serve(w http.ResponseWriter) bool {
	ctx, span := tracing.Start(r.http.Context(), map[bool]string{true: "Update", false: "Patch"}[r.http.Method == http.MethodPut],
		attribute.String("method", r.http.Method), attribute.String("url", r.http.URL.Path), attribute.String("protocol", r.http.Proto),
		attribute.String("user-agent", r.http.UserAgent()), attribute.String("audit-id", audit.GetAuditIDTruncated(r.http.Context())))
	defer span.End(slow)
	req := r.http.WithContext(ctx)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	ctx = genericapirequest.WithNamespace(ctx, r.namespace)

	// After a timeout, the store may still write the object, and nothing reads this.
	created := make(chan bool, 1)
	result, err := finisher.FinishRequest(ctx, func() (runtime.Object, error) {
		obj, isNew, err := r.storage.Update(ctx, r.name, r, r.authorizingCreate(ctx), r.validatingUpdate(ctx), r.creates, r.updateOptions())
		created <- isNew
		return obj, err
	})
	if isForLibrary(err) {
		return false
	}
	requestmetrics.RecordRequestBodySize(ctx, r.scope.Resource.GroupResource(), r.verb, len(r.body))
	gv := r.scope.Kind.GroupVersion()
	if err != nil {
		responsewriters.ErrorNegotiated(err, r.scope.Serializer, gv, w, req)
		return true
	}
	span.AddEvent("Object stored in database")
	status := http.StatusOK
	if <-created {
		status = http.StatusCreated
	}
	responsewriters.WriteObjectNegotiated(r.scope.Serializer, r.scope, gv, w, req, status, result, false)
	return true
}

// isForLibrary reports whether the library has to serve a request after an error. It writes an object that is too large for etcd without
// its managed fields.
func isForLibrary(err error) bool {
	if err == nil {
		return false
	}
	return errors.Is(err, errIrregular) || strings.Contains(err.Error(), "request is too large") ||
		strings.Contains(err.Error(), "trying to send message larger than max")
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
