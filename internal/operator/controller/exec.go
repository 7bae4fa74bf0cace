package controller

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/exec"
	"k8s.io/streaming/pkg/httpstream"

	"holdfast.dev/holdfast/internal/operator/authorship"
	"holdfast.dev/holdfast/internal/operator/render"
)

const (
	// maxPipeFile is the largest size of a file that a Pipe task reads. A ConfigMap or Secret
	// cannot hold more.
	maxPipeFile = 1 << 20
	// maxMessage is how much of the error output of a command is kept.
	maxMessage = 1 << 10
	// execTimeout bounds one command.
	execTimeout = time.Minute
)

// errTooLarge is the error of a file that is too large, and the cause with which readFile cancels
// a command that prints too much.
var errTooLarge = errors.New("larger than 1 MiB")

// readFile reads a file from the container of a pipe pod, with the rights of the requester. It
// returns a fatal error if the file is missing, too large or not a regular file.
func (e *execution) readFile(ctx context.Context, pod *unstructured.Unstructured, file string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, execTimeout)
	defer cancel()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	// tar does not follow a symbolic link at the end of the path. A link in place of a folder can lead out of the volume, to files of
	// the container, which has no others than the init container that wrote the link. The limit leaves space for the headers and the
	// padding of tar.
	archive := &limitedBuffer{limit: maxPipeFile + 16<<10, full: func() { end(errTooLarge) }}
	message := &limitedBuffer{limit: maxMessage}
	command := []string{"tar", "-cf", "-", "-C", path.Dir(file), "./" + path.Base(file)}
	executor, err := e.executor(pod, command)
	if err == nil {
		err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: archive, Stderr: message})
	}
	if err != nil && errors.Is(context.Cause(ctx), errTooLarge) {
		err = errTooLarge
	}
	if err != nil {
		return nil, fmt.Errorf("%s: file %s: %w", title(pod), file, execError(err, message.String()))
	}
	content, err := unpack(&archive.Buffer)
	if err != nil {
		return nil, fatalf("%s: file %s: %w", title(pod), file, err)
	}
	return content, nil
}

// executor returns the executor of a command. It uses WebSockets, and SPDY if the server or a
// proxy before it does not support WebSockets.
func (e *execution) executor(pod *unstructured.Unstructured, command []string) (remotecommand.Executor, error) {
	user := e.user.identity
	config := rest.CopyConfig(e.server.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user.Username, UID: user.UID, Groups: user.Groups, Extra: user.Extra}
	url := e.server.Typed.CoreV1().RESTClient().Post().Namespace(pod.GetNamespace()).Resource("pods").Name(pod.GetName()).
		SubResource("exec").VersionedParams(&corev1.PodExecOptions{
		Container: render.PipeContainer, Command: command, Stdout: true, Stderr: true,
	}, scheme.ParameterCodec).URL()
	webSocket, err := remotecommand.NewWebSocketExecutor(config, http.MethodGet, url.String())
	if err != nil {
		return nil, err
	}
	spdy, err := remotecommand.NewSPDYExecutor(config, http.MethodPost, url)
	if err != nil {
		return nil, err
	}
	return remotecommand.NewFallbackExecutor(webSocket, spdy, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
}

// execError returns a fatal error if a command would fail again in the same way.
func execError(err error, message string) error {
	var exit exec.CodeExitError
	var status apierrors.APIStatus
	switch {
	case errors.Is(err, errTooLarge):
		return fatalError{err}
	case errors.As(err, &exit):
		return fatalf("tar ended with code %d: %s", exit.Code, strings.TrimSpace(message))
	case !errors.As(err, &status):
		return err
	}
	switch status.Status().Code {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return fatalf("no kubelet serves exec for the pod: %w", err)
	}
	return fatalIfPermanent(err)
}

// unpack returns the content of the only file of an archive.
func unpack(archive io.Reader) ([]byte, error) {
	files := tar.NewReader(archive)
	header, err := files.Next()
	switch {
	case err != nil:
		return nil, fmt.Errorf("output of tar: %w", err)
	case header.Typeflag != tar.TypeReg:
		return nil, errors.New("not a regular file")
	case header.Size > maxPipeFile:
		return nil, errTooLarge
	}
	content, err := io.ReadAll(files)
	if err != nil {
		return nil, fmt.Errorf("output of tar: %w", err)
	}
	return content, nil
}

// limitedBuffer keeps the first bytes that are written to it. It calls full, if that is set,
// when there are more.
type limitedBuffer struct {
	bytes.Buffer
	limit int
	full  func()
}

// Write implements io.Writer.
func (b *limitedBuffer) Write(text []byte) (int, error) {
	kept := min(len(text), b.limit-b.Len())
	b.Buffer.Write(text[:kept])
	if kept < len(text) && b.full != nil {
		b.full()
	}
	return len(text), nil
}

// mayExec returns a Forbidden error if a user may not run commands in a pod.
func (e *execution) mayExec(ctx context.Context, user authorship.User, pod target) error {
	allowed, err := e.allows(ctx, user, authorizationv1.ResourceAttributes{
		Verb: "create", Version: "v1", Resource: "pods", Subresource: "exec", Namespace: pod.GetNamespace(), Name: pod.GetName(),
	})
	if err == nil && !allowed {
		err = apierrors.NewForbidden(corev1.Resource("pods/exec"), pod.GetName(),
			fmt.Errorf("user %q cannot create resource \"pods/exec\" in namespace %q", user.Username, pod.GetNamespace()))
	}
	return err
}
