package guard_test

import (
	"context"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/apiserver"
	"holdfast.dev/holdfast/apiserver/servertest"
	"holdfast.dev/holdfast/guard"
	"holdfast.dev/holdfast/guard/setup"
	"holdfast.dev/holdfast/installation"
	"holdfast.dev/holdfast/native/judgement"
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
	// policiesOnly is that of the configuration of the guard, and files are those of its keys, none for the Secret.
	policiesOnly bool
	files        []string
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
	return startServer(t, apiserver.Config{Ownership: string(judgement.Off)})
}

// startServer starts a server with a configuration.
func startServer(t *testing.T, of apiserver.Config) *fixture {
	t.Helper()
	f := &fixture{T: t, server: servertest.Start(t, of), warnings: &recorder{}}
	config := f.server.Config(t)
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
	servertest.Eventually(f.T, "policies are served", func() bool {
		_, err := f.of(policies).List(f.Context(), metav1.ListOptions{})
		return err == nil
	})
}

// serve runs an installed guard until the test ends.
func (f *fixture) serve() {
	f.Helper()
	ready, ended := make(chan struct{}), make(chan error, 1)
	ctx, cancel := context.WithCancel(context.WithoutCancel(f.Context()))
	config := guard.Config{
		Client: f.server.Config(f.T), Webhook: f.reviews, Health: f.checks, URL: f.url, Ready: func() { close(ready) },
		PoliciesOnly: f.policiesOnly,
	}
	if len(f.files) > 0 {
		config.CertFile, config.KeyFile, config.CAFile = f.files[0], f.files[1], f.files[2]
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

// create creates an object of YAML, when its kind is served.
func (f *fixture) create(resource, text string) {
	f.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
		f.Fatal(err)
	}
	servertest.Eventually(f.T, "POST "+resource, func() bool {
		_, err := f.of(resource).Create(f.Context(), obj, metav1.CreateOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			f.Fatal(err)
		}
		return err == nil
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
	data, err := yaml.YAMLToJSON([]byte(patch))
	if err != nil {
		f.Fatal(err)
	}
	_, err = f.of(resource).Patch(f.Context(), name, types.MergePatchType, data, metav1.PatchOptions{}, subresources...)
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
	servertest.Eventually(f.T, resource+" is guarded", func() bool {
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

const widgetsDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: string}, note: {type: string}, replicas: {type: integer}}}
          status: {type: object, properties: {phase: {type: string}, replicas: {type: integer}}}
`

// TestPolicies runs a guard for policies about a custom resource and a built-in one. Our server does not
// know the policies, so it behaves like any other API server.
func TestPolicies(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.run()
	f.create(definitions, widgetsDefinition)
	f.create(policies, `
apiVersion: guard.holdfast.dev/v1alpha1
kind: ImmutabilityPolicy
metadata: {name: sizes}
spec:
  resources: [widgets.example.com]
  rules: [immutable spec.size, immutable spec.replicas, immutable status.phase]
`)
	f.create(policies, `
apiVersion: guard.holdfast.dev/v1alpha1
kind: ImmutabilityPolicy
metadata: {name: workloads}
spec:
  resources: [deployments.apps, leases.coordination.k8s.io]
  rules: [immutable spec.strategy, immutable spec.minReadySecond]
  objectSelector: {matchLabels: {tier: gold}}
`)
	f.create(policies, `
apiVersion: guard.holdfast.dev/v1alpha1
kind: ImmutabilityPolicy
metadata: {name: configuration}
spec: {mode: warn, resources: [configmaps], rules: [addition-only data]}
`)
	f.create(widgets, `{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, spec: {size: small, replicas: 1}}`)
	if got := f.patch(widgets, "w", `{status: {phase: new}}`, "status"); got != "ok" {
		t.Fatal(got)
	}
	const deployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: NAME, labels: {tier: NAME}}, ` +
		`spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}`
	for _, name := range []string{"gold", "silver"} {
		f.create("default/deployments.v1.apps", strings.ReplaceAll(deployment, "NAME", name))
	}
	f.create("default/configmaps", `{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: x}}`)
	f.create("kube-system/configmaps", `{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: x}}`)
	for _, resource := range []string{"widgets", "widgets/scale", "widgets/status", "deployments", "configmaps"} {
		f.guarded(resource)
	}

	const prefix = `BadRequest: admission webhook "immutable.guard.holdfast.dev" denied the request: `
	const deployments = "default/deployments.v1.apps"
	f.asks(widgets, "w", `{spec: {size: big}}`)
	f.asks(widgets, "w", `{spec: {replicas: 3}}`, "scale")
	f.asks(widgets, "w", `{status: {phase: old}}`, "status")
	f.asks(deployments, "gold", `{spec: {strategy: {type: Recreate, rollingUpdate: null}}}`)
	f.asks("default/configmaps", "c", `{data: {a: null}}`)
	for name, test := range map[string]struct {
		got, want string
	}{
		"a rule": {
			f.patch(widgets, "w", `{spec: {size: big}}`),
			prefix + `Widget.example.com "w" cannot be changed this way: ` +
				`spec.size: immutable: changed from "small" to "big", which policy sizes forbids`,
		},
		"no rule": {f.patch(widgets, "w", `{spec: {note: hello}}`), "ok"},
		"scale": {
			f.patch(widgets, "w", `{spec: {replicas: 3}}`, "scale"),
			prefix + `Widget.example.com "w" cannot be changed this way: ` +
				`spec.replicas: immutable: changed from 1 to 3, which policy sizes forbids`,
		},
		"scale, unchanged": {f.patch(widgets, "w", `{spec: {replicas: 1}}`, "scale"), "ok"},
		"status": {
			f.patch(widgets, "w", `{status: {phase: old}}`, "status"),
			prefix + `Widget.example.com "w" cannot be changed this way: ` +
				`status.phase: immutable: changed from "new" to "old", which policy sizes forbids`,
		},
		"a built-in kind": {
			f.patch(deployments, "gold", `{spec: {strategy: {type: Recreate, rollingUpdate: null}}}`),
			prefix + `Deployment.apps "gold" cannot be changed this way: spec.strategy.rollingUpdate: immutable: removed ` +
				`{"maxSurge":"25%","maxUnavailable":"25%"}, which policy workloads forbids; ` +
				`spec.strategy.type: immutable: changed from "RollingUpdate" to "Recreate", which policy workloads forbids`,
		},
		"another label":       {f.patch(deployments, "silver", `{spec: {strategy: {type: Recreate, rollingUpdate: null}}}`), "ok"},
		"an excluded place":   {f.patch("kube-system/configmaps", "c", `{data: {a: null}}`), "ok"},
		"scale of a built-in": {f.patch(deployments, "gold", `{spec: {replicas: 3}}`, "scale"), "ok"},
	} {
		if test.got != test.want {
			t.Errorf("%s: got %s\nwant %s", name, test.got, test.want)
		}
	}
	if got := f.patch("default/configmaps", "c", `{data: {a: null}}`); got != "ok" ||
		strings.Join(f.warnings.texts, " ") != `data.a: addition only: removed "x", which policy configuration forbids` {
		t.Errorf("warn: %s, %q", got, f.warnings.texts)
	}
	f.wantStatus("workloads", "False", "leases.coordination.k8s.io: this resource is never guarded",
		"spec.minReadySecond: the resource has no such field")
	f.wantStatus("sizes", "True", "all rules are in force")
	f.uninstalled()
}

// wantStatus waits for the condition of a policy.
func (f *fixture) wantStatus(policy, status string, messages ...string) {
	f.Helper()
	servertest.Eventually(f.T, "status of policy "+policy, func() bool {
		found, err := f.of(policies).Get(f.Context(), policy, metav1.GetOptions{})
		if err != nil {
			f.Fatal(err)
		}
		conditions, _, _ := unstructured.NestedSlice(found.Object, "status", "conditions")
		if len(conditions) != 1 {
			return false
		}
		condition, _ := conditions[0].(map[string]any)
		text, _ := condition["message"].(string)
		for _, message := range messages {
			if !strings.Contains(text, message) {
				return false
			}
		}
		return condition["status"] == status
	})
}

// uninstalled stops the guard and checks that guarded objects cannot be updated without it. Then it removes
// the guard, and they can.
func (f *fixture) uninstalled() {
	f.Helper()
	f.stop()
	if got := f.patch(widgets, "w", `{spec: {note: again}}`); !strings.HasPrefix(got, "InternalError: ") {
		f.Errorf("without a guard: %s", got)
	}
	var deleted []string
	report := func(outcome installation.Outcome) {
		deleted = append(deleted, outcome.Object.GetKind()+"/"+outcome.Object.GetName())
	}
	if err := setup.Uninstall(f.Context(), f.server.Config(f.T), setup.UninstallOptions{Report: report}); err != nil {
		f.Fatal(err)
	}
	want := "ClusterRoleBinding/holdfast-guard-configuration ValidatingWebhookConfiguration/holdfast-guard"
	if got := strings.Join(deleted, " "); !strings.HasPrefix(got, want) || strings.Contains(got, "CustomResourceDefinition") {
		f.Errorf("deleted %s", got)
	}
	servertest.Eventually(f.T, "the guard is not asked", func() bool { return f.patch(widgets, "w", `{spec: {size: big}}`) == "ok" })
}
