package kubectl_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strconv"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"
)

const (
	// streamIdle and streamCreation are the timeouts of a kubelet.
	streamIdle, streamCreation = time.Hour, 30 * time.Second
	// kubeletClient is the user name in the certificate that the server presents to kubelets.
	kubeletClient = "kube-apiserver-kubelet-client"
)

// startKubelet is the script command kubelet. It creates a Node with the given name and serves the
// API of its kubelet: logs, exec, attach and port-forward, with the library that container runtimes
// use. A command in a container is run as a process of the test.
func startKubelet(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: kubelet NODE")
	}
	config, err := clientcmd.BuildConfigFromFlags("", ts.Getenv("KUBECONFIG"))
	ts.Check(err)
	server := httptest.NewUnstartedServer(kubeletHandler())
	clients := x509.NewCertPool()
	clients.AppendCertsFromPEM(config.CAData)
	server.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients} //nolint:gosec // a test
	server.StartTLS()
	ts.Defer(server.Close)
	host, port, err := net.SplitHostPort(server.Listener.Addr().String())
	ts.Check(err)
	number, err := strconv.ParseInt(port, 10, 32)
	ts.Check(err)
	nodes := kubernetes.NewForConfigOrDie(config).CoreV1().Nodes()
	node, err := nodes.Create(context.Background(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: args[0]}}, metav1.CreateOptions{})
	ts.Check(err)
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: host}}
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(number)
	_, err = nodes.UpdateStatus(context.Background(), node, metav1.UpdateOptions{})
	ts.Check(err)
	ts.Setenv("KUBELET_PORT", port)
}

func kubeletHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/containerLogs/{namespace}/{pod}/{container}", serveLog)
	mux.HandleFunc("/exec/{namespace}/{pod}/{container}", func(w http.ResponseWriter, r *http.Request) {
		remotecommand.ServeExec(w, r, host{}, r.PathValue("pod"), "", r.PathValue("container"), r.URL.Query()["command"],
			streams(r), streamIdle, streamCreation, remotecommand.SupportedStreamingProtocols)
	})
	mux.HandleFunc("/attach/{namespace}/{pod}/{container}", func(w http.ResponseWriter, r *http.Request) {
		remotecommand.ServeAttach(w, r, host{}, r.PathValue("pod"), "", r.PathValue("container"),
			streams(r), streamIdle, streamCreation, remotecommand.SupportedStreamingProtocols)
	})
	mux.HandleFunc("/portForward/{namespace}/{pod}", func(w http.ResponseWriter, r *http.Request) {
		portforward.ServePortForward(w, r, host{}, r.PathValue("pod"), "", &portforward.V4Options{},
			streamIdle, streamCreation, portforward.SupportedProtocols)
	})
	mux.HandleFunc("/pods", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "echo\n") })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name := r.TLS.PeerCertificates[0].Subject.CommonName; name != kubeletClient {
			http.Error(w, name+" may not", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func streams(r *http.Request) *remotecommand.Options {
	on := func(name string) bool { return r.URL.Query().Get(name) == "1" }
	return &remotecommand.Options{Stdin: on("input"), Stdout: on("output"), Stderr: on("error"), TTY: on("tty")}
}

// serveLog answers with the query of the request. With follow, it sends two lines, one after the other.
func serveLog(w http.ResponseWriter, r *http.Request) {
	_, _ = fmt.Fprintf(w, "log of %s in %s: %s\n", r.PathValue("container"), r.PathValue("pod"), r.URL.RawQuery)
	if r.URL.Query().Get("follow") == "true" {
		_ = http.NewResponseController(w).Flush()
		_, _ = io.WriteString(w, "another line\n")
	}
}

// host runs commands on the host of the test.
type host struct{}

// ExecInContainer implements remotecommand.Executor.
func (host) ExecInContainer(
	ctx context.Context, _, _, _ string, cmd []string, in io.Reader, out, stderr io.WriteCloser, _ bool,
	_ <-chan remotecommand.TerminalSize, _ time.Duration,
) error {
	process := exec.CommandContext(ctx, cmd[0], cmd[1:]...) //nolint:gosec // the test chooses the command
	process.Stdin, process.Stdout, process.Stderr = in, out, stderr
	var exit *exec.ExitError
	if err := process.Run(); errors.As(err, &exit) {
		return utilexec.CodeExitError{Err: err, Code: exit.ExitCode()}
	} else if err != nil {
		return err
	}
	return nil
}

// AttachContainer implements remotecommand.Attacher.
func (host) AttachContainer(
	_ context.Context, pod, _, container string, in io.Reader, out, _ io.WriteCloser, _ bool, _ <-chan remotecommand.TerminalSize,
) error {
	_, err := fmt.Fprintf(out, "attached to %s in %s\n", container, pod)
	if err == nil && in != nil {
		_, err = io.Copy(out, in)
	}
	return err
}

// PortForward implements portforward.PortForwarder: every port answers a request with its number. It
// reads the request first, because a client discards an answer that arrives before it has sent its
// request.
func (host) PortForward(_ context.Context, pod, _ string, port int32, stream io.ReadWriteCloser) error {
	if _, err := http.ReadRequest(bufio.NewReader(stream)); err != nil {
		return err
	}
	_, err := fmt.Fprintf(stream, "HTTP/1.0 200 OK\r\n\r\nport %d of %s\n", port, pod)
	return err
}
