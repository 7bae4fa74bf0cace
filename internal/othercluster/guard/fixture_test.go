package guard_test

import (
	"context"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/native/judgement"
	"holdfast.dev/holdfast/internal/othercluster/guard"
	"holdfast.dev/holdfast/internal/othercluster/guard/setup"
	"holdfast.dev/holdfast/internal/othercluster/installation"
	"holdfast.dev/holdfast/internal/policy"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// fixture is a server with a guard.
type fixture struct {
	*testing.T
	server *servertest.Server
	client dynamic.Interface
	// url is the URL of the guard, health that of its health checks.
	url, health string
	// reviews and checks are the listeners of the guard.
	reviews, checks net.Listener
	// warnings are the warnings of the last request.
	warnings *recorder
	// repeated counts the requests of all users that were sent again.
	repeated *atomic.Int64
	// policiesOnly is that of the configuration of the guard, and files are those of its keys, none for the Secret.
	policiesOnly bool
	files        []string
	// account means that the guard has the rights of its service account, and not those of an administrator.
	account bool
	// edit changes the configuration of the guard. It may be nil.
	edit func(*guard.Config)
	// stop stops the guard.
	stop func()
}

// recorder records the warnings of one client.
type recorder struct{ texts []string }

// HandleWarningHeader implements rest.WarningHandler.
func (r *recorder) HandleWarningHeader(_ int, _, text string) { r.texts = append(r.texts, text) }

// start starts a server that judges no field ownership, as the servers of others. run starts the guard.
func start(t *testing.T) *fixture {
	t.Helper()
	return startWith(t, apiserver.Config{Ownership: string(judgement.Off), WithoutPolicies: true})
}

// startWith starts a server with a configuration.
func startWith(t *testing.T, of apiserver.Config) *fixture {
	t.Helper()
	f := &fixture{T: t, server: servertest.Start(t, of), warnings: &recorder{}, repeated: &atomic.Int64{}}
	config := f.withPatience(f.server.Config(t))
	config.WarningHandler = f.warnings
	var err error
	if f.client, err = dynamic.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	return f
}

// run installs and runs a guard until the test ends.
func (f *fixture) run() {
	f.Helper()
	f.install()
	f.serve()
}

// install installs a guard. It opens the listeners.
func (f *fixture) install() {
	f.Helper()
	for _, listener := range []*net.Listener{&f.reviews, &f.checks} {
		var err error
		if *listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			f.Fatal(err)
		}
	}
	address := &url.URL{Scheme: "https", Host: f.reviews.Addr().String()}
	f.url, f.health = address.String(), "http://"+f.checks.Addr().String()
	installed := setup.Config{URL: address}
	if err := setup.Install(f.Context(), f.server.Config(f.T), installed, func(installation.Outcome) {}); err != nil {
		f.Fatal(err)
	}
	// A guard ends if the server does not serve the kind of policies yet.
	waittest.Until(f.T, "policies are served", func() error {
		_, err := f.of(policies).List(f.Context(), metav1.ListOptions{})
		return err
	})
}

// serve runs an installed guard until the test ends.
func (f *fixture) serve() {
	f.Helper()
	ready, ended := make(chan struct{}), make(chan error, 1)
	ctx, cancel := context.WithCancel(context.WithoutCancel(f.Context()))
	access := f.server.Config(f.T)
	if f.account {
		const name = "system:serviceaccount:holdfast-guard:holdfast-guard"
		right := authorizationv1.ResourceAttributes{Verb: "list", Group: policy.Policies().Group, Resource: policy.Policies().Resource}
		servertest.AwaitRight(f.T, f.server.Client(f.T), name, right)
		access = f.server.As(f.T, name, "system:serviceaccounts", "system:serviceaccounts:holdfast-guard", "system:authenticated")
	}
	config := guard.Config{
		Client: access, Webhook: f.reviews, Health: f.checks, URL: f.url, Ready: func() { close(ready) },
		PoliciesOnly: f.policiesOnly,
	}
	if len(f.files) > 0 {
		config.CertFile, config.KeyFile, config.CAFile = f.files[0], f.files[1], f.files[2]
	}
	if f.edit != nil {
		f.edit(&config)
	}
	go func() { ended <- guard.Run(ctx, config) }()
	select {
	case <-ready:
	case err := <-ended:
		cancel()
		f.Fatalf("guard: %v", err)
	}
	f.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			f.Errorf("guard ended with %v", err)
		}
	})
	f.Cleanup(f.stop)
}

// create creates an object of YAML, when its kind is served. On a busy machine etcd may not confirm a write in time.
func (f *fixture) create(resource, text string) {
	f.Helper()
	obj := yamltest.Object(f, text)
	unconfirmed := false
	waittest.Until(f.T, "POST "+resource, func() error {
		_, err := f.of(resource).Create(f.Context(), obj, metav1.CreateOptions{})
		switch {
		case unconfirmed && apierrors.IsAlreadyExists(err):
			return nil
		case apierrors.IsTimeout(err):
			unconfirmed = true
		case err != nil && !apierrors.IsNotFound(err):
			f.Fatal(err)
		}
		return err
	})
}

// of returns the client of a resource, such as default/configmaps or immutabilitypolicies.v1alpha1.guard.holdfast.dev.
func (f *fixture) of(resource string) dynamic.ResourceInterface {
	namespace, name, namespaced := strings.Cut(resource, "/")
	if !namespaced {
		namespace, name = "", resource
	}
	gvr, _ := schema.ParseResourceArg(name)
	if gvr == nil {
		gvr = &schema.GroupVersionResource{Version: "v1", Resource: name}
	}
	return f.client.Resource(*gvr).Namespace(namespace)
}

// patch sends a merge patch and returns the answer as text.
func (f *fixture) patch(resource, name, patch string, subresources ...string) string {
	f.Helper()
	f.warnings.texts = nil
	data := yamltest.JSON(f, patch)
	_, err := f.of(resource).Patch(f.Context(), name, types.MergePatchType, data, metav1.PatchOptions{}, subresources...)
	return outcome(err)
}

// outcome returns the code and the message of an error, "ok" for none.
func outcome(err error) string {
	if err == nil {
		return "ok"
	}
	return string(apierrors.ReasonForError(err)) + ": " + err.Error()
}

// guarded waits until the webhook configuration has a resource.
func (f *fixture) guarded(resource string) {
	f.Helper()
	waittest.Until(f.T, resource+" is guarded", func() bool {
		found, err := f.of("validatingwebhookconfigurations.v1.admissionregistration.k8s.io").Get(f.Context(), guard.Name, metav1.GetOptions{})
		if err != nil {
			return false
		}
		text, err := found.MarshalJSON()
		return err == nil && strings.Contains(string(text), `"`+resource+`"`)
	})
}

var _ rest.WarningHandler = &recorder{}

const (
	policies    = "immutabilitypolicies.v1alpha1.guard.holdfast.dev"
	definitions = "customresourcedefinitions.v1.apiextensions.k8s.io"
	widgets     = "default/widgets.v1.example.com"
)
