package kubelet

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericrest "k8s.io/apiserver/pkg/registry/generic/rest"
	"k8s.io/apiserver/pkg/registry/rest"
)

// log serves pods/log.
type log struct {
	connector
	kubelets *Kubelets
	pods     rest.Getter
}

var (
	_ rest.GetterWithOptions = &log{}
	_ rest.StorageMetadata   = &log{}
)

// Log serves pods/log.
func (k *Kubelets) Log(pods rest.Getter) rest.Storage { return &log{kubelets: k, pods: pods} }

// New implements rest.Storage.
func (*log) New() runtime.Object { return &corev1.Pod{} }

// NewGetOptions implements rest.GetterWithOptions.
func (*log) NewGetOptions() (runtime.Object, bool, string) { return &corev1.PodLogOptions{}, false, "" }

// ProducesMIMETypes implements rest.StorageMetadata.
func (*log) ProducesMIMETypes(string) []string { return []string{"text/plain"} }

// ProducesObject implements rest.StorageMetadata.
func (*log) ProducesObject(string) any { return "" }

// OverrideMetricsVerb implements endpoints.StorageMetricsOverride. Metrics count a log with the
// streams and not with the short GET requests, as in Kubernetes.
func (*log) OverrideMetricsVerb(verb string) string {
	if verb == "GET" {
		return "CONNECT"
	}
	return verb
}

// Get implements rest.GetterWithOptions.
func (l *log) Get(ctx context.Context, name string, options runtime.Object) (runtime.Object, error) {
	wanted, ok := options.(*corev1.PodLogOptions)
	if !ok {
		return nil, fmt.Errorf("unexpected options %T", options)
	}
	if errs := validateLogOptions(wanted); len(errs) > 0 {
		return nil, apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("PodLogOptions").GroupKind(), name, errs)
	}
	pod, err := getPod(ctx, l.pods, name)
	if err != nil {
		return nil, err
	}
	container, err := chooseContainer(pod, wanted.Container)
	if err != nil {
		return nil, err
	}
	if pod.Spec.NodeName == "" {
		// A pod without a node has an empty log, as in Kubernetes.
		return &text{LocationStreamer: &genericrest.LocationStreamer{}}, nil
	}
	kubelet, err := l.kubelets.find(ctx, pod.Spec.NodeName)
	if err != nil {
		return nil, err
	}
	transport := l.kubelets.direct
	if wanted.InsecureSkipTLSVerifyBackend {
		transport = l.kubelets.unverified
	}
	path := fmt.Sprintf("/containerLogs/%s/%s/%s", pod.Namespace, pod.Name, container)
	return &text{target: kubelet.target(), LocationStreamer: &genericrest.LocationStreamer{
		Location: kubelet.url(path, logQuery(wanted)), Transport: transport, ContentType: "text/plain", Flush: wanted.Follow,
		ResponseChecker: genericrest.NewGenericHttpResponseChecker(corev1.Resource("pods/log"), name),
		RedirectChecker: genericrest.PreventRedirects,
	}}, nil
}

// logQuery returns the query of a request for a log to the kubelet.
func logQuery(options *corev1.PodLogOptions) url.Values {
	query := url.Values{}
	for name, on := range map[string]bool{"follow": options.Follow, "previous": options.Previous, "timestamps": options.Timestamps} {
		if on {
			query.Set(name, "true")
		}
	}
	for name, number := range map[string]*int64{
		"sinceSeconds": options.SinceSeconds, "tailLines": options.TailLines, "limitBytes": options.LimitBytes,
	} {
		if number != nil {
			query.Set(name, strconv.FormatInt(*number, 10))
		}
	}
	if options.SinceTime != nil {
		query.Set("sinceTime", options.SinceTime.Format(time.RFC3339))
	}
	if options.Stream != nil {
		query.Set("stream", *options.Stream)
	}
	return query
}

// validateLogOptions has the rules of Kubernetes.
func validateLogOptions(options *corev1.PodLogOptions) field.ErrorList {
	var errs field.ErrorList
	for name, bound := range map[string]struct {
		number *int64
		least  int64
	}{"tailLines": {options.TailLines, 0}, "limitBytes": {options.LimitBytes, 1}, "sinceSeconds": {options.SinceSeconds, 1}} {
		if bound.number != nil && *bound.number < bound.least {
			errs = append(errs, field.Invalid(field.NewPath(name), *bound.number, fmt.Sprintf("must be greater than or equal to %d", bound.least)))
		}
	}
	if options.SinceSeconds != nil && options.SinceTime != nil {
		errs = append(errs, field.Forbidden(field.NewPath(""), "at most one of `sinceTime` or `sinceSeconds` may be specified"))
	}
	switch {
	case options.Stream == nil:
	case *options.Stream != corev1.LogStreamAll && *options.Stream != corev1.LogStreamStdout && *options.Stream != corev1.LogStreamStderr:
		errs = append(errs, field.NotSupported(field.NewPath("stream"), *options.Stream,
			[]string{corev1.LogStreamAll, corev1.LogStreamStdout, corev1.LogStreamStderr}))
	case *options.Stream != corev1.LogStreamAll && options.TailLines != nil:
		errs = append(errs, field.Forbidden(field.NewPath(""), "`tailLines` and specific `stream` are mutually exclusive for now"))
	}
	return errs
}

// text is a log that the server streams to a client. Errors name the target, which is the kubelet.
type text struct {
	*genericrest.LocationStreamer
	target string
}

// InputStream implements rest.ResourceStreamer.
func (t *text) InputStream(ctx context.Context, version, accept string) (io.ReadCloser, bool, string, error) {
	stream, flush, contentType, err := t.LocationStreamer.InputStream(ctx, version, accept)
	if err != nil {
		err = badGateway(t.target, err)
	}
	return stream, flush, contentType, err
}
