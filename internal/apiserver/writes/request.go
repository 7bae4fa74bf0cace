package writes

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// errIrregular is the error of a step that the library has to take. It has a status, so that no layer of the storage replaces it.
var errIrregular error = apierrors.NewInternalError(errors.New("the library serves the request"))

// request is one write. prepare sets its fields.
type request struct {
	*Endpoint
	http            *http.Request
	namespace, name string
	body            []byte
	// options are those of an update too.
	options metav1.PatchOptions
	// manager is the name under which the write is recorded.
	manager string
	verb    requestmetrics.RequestBodyVerb
	// change returns a stored object after the write. An object that is not stored may have no fields. The managers are not recorded if bare is true.
	change func(old runtime.Object, isStored bool) (runtime.Object, error)
	// creates is true if the write may create the object although its kind forbids this to updates.
	creates       bool
	preconditions *metav1.Preconditions
	// bare is true if the object is too large with its managed fields.
	bare bool
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
		obj, isNew, err := r.store(ctx)
		if isTooLarge(err) && !r.creates {
			// As in the library, the object is stored without its managed fields then.
			r.bare = true
			obj, isNew, err = r.store(ctx)
		}
		created <- isNew
		return obj, err
	})
	if errors.Is(err, errIrregular) {
		return false
	}
	requestmetrics.RecordRequestBodySize(ctx, r.scope.Resource.GroupResource(), r.verb, len(r.body))
	gv := r.scope.Kind.GroupVersion()
	if err != nil {
		responsewriters.ErrorNegotiated(err, r.scope.Serializer, gv, w, req)
		return true
	}
	span.AddEvent("Object stored in database")
	code := http.StatusOK
	if <-created {
		code = http.StatusCreated
	}
	// The audit log of a slow request says how long its answer was transformed. Only tables and metadata are, which the library answers.
	genericapirequest.TrackTransformResponseObjectLatency(ctx, func() {})
	responsewriters.WriteObjectNegotiated(r.scope.Serializer, r.scope, gv, w, req, code, result, false)
	return true
}

// store writes the object.
func (r *request) store(ctx context.Context) (runtime.Object, bool, error) {
	return r.storage.Update(ctx, r.name, r, r.authorizingCreate(ctx), r.validatingUpdate(ctx), r.creates, r.updateOptions())
}

// isTooLarge reports whether etcd or its client refuse an object for its size.
func isTooLarge(err error) bool {
	var ofEtcd interface {
		error
		Code() codes.Code
	}
	var ofClient interface{ GRPCStatus() *status.Status }
	return errors.As(err, &ofEtcd) && ofEtcd.Code() == codes.InvalidArgument && ofEtcd.Error() == "etcdserver: request is too large" ||
		errors.As(err, &ofClient) && ofClient.GRPCStatus().Code() == codes.ResourceExhausted &&
			strings.Contains(ofClient.GRPCStatus().Message(), "trying to send message larger than max")
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
