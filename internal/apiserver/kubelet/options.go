package kubelet

import (
	"net/url"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
)

// AddToScheme registers the conversions from the query of a request to options. The libraries of
// Kubernetes have only the conversions to a query. An invalid number or boolean has the same effect
// as in Kubernetes.
func AddToScheme(scheme *runtime.Scheme) error {
	for _, add := range []error{
		decode(scheme, func(q query, o *corev1.PodExecOptions) {
			o.Stdin, o.Stdout, o.Stderr, o.TTY = q.boolean("stdin"), q.boolean("stdout"), q.boolean("stderr"), q.boolean("tty")
			o.Container, o.Command = q.text("container"), q.Values["command"]
		}),
		decode(scheme, func(q query, o *corev1.PodAttachOptions) {
			o.Stdin, o.Stdout, o.Stderr, o.TTY = q.boolean("stdin"), q.boolean("stdout"), q.boolean("stderr"), q.boolean("tty")
			o.Container = q.text("container")
		}),
		decode(scheme, func(q query, o *corev1.PodPortForwardOptions) { q.ports("ports", &o.Ports) }),
		decode(scheme, func(q query, o *corev1.PodLogOptions) {
			o.Container = q.text("container")
			o.Follow, o.Previous, o.Timestamps = q.boolean("follow"), q.boolean("previous"), q.boolean("timestamps")
			o.InsecureSkipTLSVerifyBackend = q.boolean("insecureSkipTLSVerifyBackend")
			q.number("sinceSeconds", &o.SinceSeconds)
			q.number("tailLines", &o.TailLines)
			q.number("limitBytes", &o.LimitBytes)
			q.time("sinceTime", &o.SinceTime)
			if q.Has("stream") {
				stream := q.text("stream")
				o.Stream = &stream
			}
		}),
		decode(scheme, func(q query, o *corev1.NodeProxyOptions) { o.Path = q.text("path") }),
		decode(scheme, func(q query, o *corev1.PodProxyOptions) { o.Path = q.text("path") }),
		decode(scheme, func(q query, o *corev1.ServiceProxyOptions) { o.Path = q.text("path") }),
	} {
		if add != nil {
			return add
		}
	}
	return nil
}

// decode registers the conversion of a query to options of type T. The conversion returns the first
// error that the methods of query report while into reads the parameters.
func decode[T any](scheme *runtime.Scheme, into func(query, *T)) error {
	return scheme.AddConversionFunc((*url.Values)(nil), (*T)(nil), func(from, to any, scope conversion.Scope) error {
		var err error
		into(query{Values: *from.(*url.Values), scope: scope, err: &err}, to.(*T))
		return err
	})
}

// query reads parameters as Kubernetes does.
type query struct {
	url.Values
	scope conversion.Scope
	err   *error
}

func (q query) fail(err error) {
	if *q.err == nil {
		*q.err = err
	}
}

func (q query) text(name string) string { return q.Get(name) }

func (q query) boolean(name string) (on bool) {
	if values, ok := q.Values[name]; ok {
		q.fail(runtime.Convert_Slice_string_To_bool(&values, &on, q.scope))
	}
	return on
}

func (q query) number(name string, into **int64) {
	if values, ok := q.Values[name]; ok {
		q.fail(runtime.Convert_Slice_string_To_Pointer_int64(&values, into, q.scope))
	}
}

func (q query) time(name string, into **metav1.Time) {
	if values, ok := q.Values[name]; ok {
		q.fail(metav1.Convert_Slice_string_To_Pointer_v1_Time(&values, into, q.scope))
	}
}

func (q query) ports(name string, into *[]int32) {
	if values, ok := q.Values[name]; ok {
		q.fail(metav1.Convert_Slice_string_To_Slice_int32(&values, into, q.scope))
	}
}
