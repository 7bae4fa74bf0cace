package kubelet

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/registry/rest"
	translator "k8s.io/apiserver/pkg/util/proxy"
	"k8s.io/streaming/pkg/httpstream/wsstream"
)

// stream serves exec, attach or portforward of pods.
type stream struct {
	connector
	kubelets *Kubelets
	pods     rest.Getter
	rights   authorizer.Authorizer
	// path is the first part of the path on the kubelet.
	path string
	// options returns a new object for the query of a request.
	options func() runtime.Object
}

var _ rest.Connecter = &stream{}

// Exec serves pods/exec.
func (k *Kubelets) Exec(pods rest.Getter, rights authorizer.Authorizer) rest.Storage {
	return &stream{kubelets: k, pods: pods, rights: rights, path: "exec", options: func() runtime.Object { return &corev1.PodExecOptions{} }}
}

// Attach serves pods/attach.
func (k *Kubelets) Attach(pods rest.Getter, rights authorizer.Authorizer) rest.Storage {
	return &stream{
		kubelets: k, pods: pods, rights: rights, path: "attach", options: func() runtime.Object { return &corev1.PodAttachOptions{} },
	}
}

// PortForward serves pods/portforward.
func (k *Kubelets) PortForward(pods rest.Getter, rights authorizer.Authorizer) rest.Storage {
	return &stream{
		kubelets: k, pods: pods, rights: rights, path: "portForward",
		options: func() runtime.Object { return &corev1.PodPortForwardOptions{} },
	}
}

// New implements rest.Storage.
func (s *stream) New() runtime.Object { return s.options() }

// NewConnectOptions implements rest.Connecter.
func (s *stream) NewConnectOptions() (runtime.Object, bool, string) { return s.options(), false, "" }

// ConnectMethods implements rest.Connecter.
func (s *stream) ConnectMethods() []string { return upgradeMethods }

// Connect implements rest.Connecter.
func (s *stream) Connect(ctx context.Context, name string, options runtime.Object, responder rest.Responder) (http.Handler, error) {
	if err := requireCreate(ctx, s.rights); err != nil {
		return nil, err
	}
	pod, err := getPod(ctx, s.pods, name)
	if err != nil {
		return nil, err
	}
	path, query, err := s.target(pod, options)
	if err != nil {
		return nil, err
	}
	if pod.Spec.NodeName == "" {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("pod %s does not have a host assigned", name))
	}
	kubelet, err := s.kubelets.find(ctx, pod.Spec.NodeName)
	if err != nil {
		return nil, err
	}
	f := forwarding{location: kubelet.url(path, query), transport: s.kubelets.direct, target: kubelet.target(), responder: responder}
	return translate(f, options), nil
}

// translate returns the handler of a stream. The kubelet speaks SPDY, so the handler translates
// the WebSocket protocols of clients to SPDY.
func translate(f forwarding, options runtime.Object) http.Handler {
	handler := f.stream()
	var streams translator.Options
	switch options := options.(type) {
	case *corev1.PodExecOptions:
		streams = translator.Options{Stdin: options.Stdin, Stdout: options.Stdout, Stderr: options.Stderr, Tty: options.TTY}
	case *corev1.PodAttachOptions:
		streams = translator.Options{Stdin: options.Stdin, Stdout: options.Stdout, Stderr: options.Stderr, Tty: options.TTY}
	default:
		return translator.NewTranslatingHandler(handler, translator.NewTunnelingHandler(handler), wsstream.IsWebSocketRequestWithTunnelingProtocol)
	}
	translated := translator.NewStreamTranslatorHandler(f.location, f.transport, 0, streams)
	return translator.NewTranslatingHandler(handler, translated, wsstream.IsWebSocketRequestWithStreamCloseProtocol)
}

// target returns the path and query of a request to the kubelet.
func (s *stream) target(pod *corev1.Pod, options runtime.Object) (string, url.Values, error) {
	query := url.Values{}
	set := func(name string, on bool) {
		if on {
			query.Set(name, "1")
		}
	}
	var named string
	switch options := options.(type) {
	case *corev1.PodExecOptions:
		named = options.Container
		set(corev1.ExecStdinParam, options.Stdin)
		set(corev1.ExecStdoutParam, options.Stdout)
		set(corev1.ExecStderrParam, options.Stderr)
		set(corev1.ExecTTYParam, options.TTY)
		query["command"] = options.Command
	case *corev1.PodAttachOptions:
		named = options.Container
		set(corev1.ExecStdinParam, options.Stdin)
		set(corev1.ExecStdoutParam, options.Stdout)
		set(corev1.ExecStderrParam, options.Stderr)
		set(corev1.ExecTTYParam, options.TTY)
	case *corev1.PodPortForwardOptions:
		if len(options.Ports) > 0 {
			query.Set(corev1.PortHeader, joinPorts(options.Ports))
		}
		return fmt.Sprintf("/%s/%s/%s", s.path, pod.Namespace, pod.Name), query, nil
	default:
		return "", nil, fmt.Errorf("unexpected options %T", options)
	}
	container, err := chooseContainer(pod, named)
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/%s/%s/%s/%s", s.path, pod.Namespace, pod.Name, container), query, nil
}

func joinPorts(ports []int32) string {
	texts := make([]string, len(ports))
	for i, port := range ports {
		texts[i] = strconv.Itoa(int(port))
	}
	return strings.Join(texts, ",")
}

var errNoRequest = errors.New("no request in the context")
