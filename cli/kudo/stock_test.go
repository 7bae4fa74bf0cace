package kudo_test

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/apiserver"
	"holdfast.dev/holdfast/apiserver/servertest"
	"holdfast.dev/holdfast/cli"
	"holdfast.dev/holdfast/operator/api"
)

// stock is a cluster that knows nothing of operator packages but what
// `holdfast kudo init` brought it, with a manager beside it.
type stock struct {
	world
	server  *servertest.Server
	address string
	// stop ends the manager and says how it ended.
	stop func() error
}

func startStock(t *testing.T) *stock {
	t.Helper()
	server := servertest.Start(t, apiserver.Config{WithoutOperators: true})
	s := &stock{server: server, world: world{
		kubeconfig: server.Kubeconfig(), namespace: "default",
		client: server.Client(t), dynamic: dynamic.NewForConfigOrDie(server.Config(t)),
	}}
	// The manager needs its keys before it can say where it is.
	s.must(t, "init", "--webhook-url", "https://127.0.0.1:9")
	s.manage(t)
	out := s.must(t, "init", "--webhook-url", s.address, "--wait")
	for _, want := range []string{"secret/kudo-webhook unchanged\n", "mutatingwebhookconfiguration/kudo-webhook configured\n", "the webhook answers\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in:\n%s", want, out)
		}
	}
	if err := s.create(t, tokVersions); err != nil {
		t.Fatal(err)
	}
	s.judged(t)
	return s
}

// judged waits until both webhooks are asked where the manager is: the server learns
// of each by itself.
func (s *stock) judged(t *testing.T) {
	t.Helper()
	resource := s.dynamic.Resource(api.GroupVersion.WithResource("instances")).Namespace("default")
	servertest.Eventually(t, "instances are judged", func() bool {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(tokInstance), &object.Object); err != nil {
			t.Fatal(err)
		}
		_, err := resource.Create(t.Context(), object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil
	})
}

// run runs a command that is about no one namespace.
func (s *stock) run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	return run(t.Context(), append(args, "--kubeconfig", s.kubeconfig)...)
}

func run(ctx context.Context, args ...string) (string, error) {
	var out bytes.Buffer
	err := cli.Run(ctx, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &out}, append([]string{"kudo"}, args...))
	return out.String(), err
}

func (s *stock) must(t *testing.T, args ...string) string {
	t.Helper()
	out, err := s.run(t, args...)
	if err != nil {
		t.Fatalf("kudo %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// manage starts a manager with the account that init made for it, and no other
// rights.
func (s *stock) manage(t *testing.T) {
	t.Helper()
	kubeconfig := s.account(t)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	said, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := cli.Run(ctx, cli.Streams{In: strings.NewReader(""), Out: out, Err: io.Discard}, []string{
			"kudo", "manager", "--kubeconfig", kubeconfig, "--webhook-address", "127.0.0.1:0", "--health-address", "127.0.0.1:0", "--unattended",
		})
		_ = out.CloseWithError(io.EOF)
		ended <- err
	}()
	s.stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Errorf("manager ended with %v", err)
		}
	})
	line := make([]byte, 256)
	n, err := said.Read(line)
	address, found := strings.CutPrefix(string(line[:n]), "holdfast: manager answers at ")
	if err != nil || !found {
		t.Fatalf("manager: %v, says %q", err, line[:n])
	}
	s.address = strings.TrimSpace(address)
}

// account is a kubeconfig of the manager's ServiceAccount, whose rights are in force.
func (s *stock) account(t *testing.T) string {
	t.Helper()
	token, err := s.client.CoreV1().ServiceAccounts("kudo-system").CreateToken(t.Context(), "kudo-manager", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.LoadFromFile(s.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for name := range config.AuthInfos {
		config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	}
	own := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, own); err != nil {
		t.Fatal(err)
	}
	client := kubernetes.NewForConfigOrDie(servertest.Config(t, own))
	for _, what := range []authorizationv1.SelfSubjectAccessReviewSpec{
		{ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: "kudo-system", Verb: "get", Resource: "secrets", Name: "kudo-webhook"}},
		{NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: "/readyz/poststarthook/operator-kinds", Verb: "get"}},
	} {
		servertest.Eventually(t, "the account of the manager has its rights", func() bool {
			review, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), &authorizationv1.SelfSubjectAccessReview{Spec: what}, metav1.CreateOptions{})
			return err == nil && review.Status.Allowed
		})
	}
	return own
}

// A cluster that init was run for holds what our own server holds.
func TestStock(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	s := startStock(t)
	for name, test := range map[string]func(*testing.T, world){
		"install":       testInstall,
		"update":        testUpdate,
		"upgrade":       testUpgrade,
		"rollback":      testRollback,
		"plans":         testPlans,
		"get-uninstall": testGetAndUninstall,
		"zookeeper":     testZooKeeper,
		"left-behind":   testNothingIsLeftBehind,
	} {
		t.Run(name, func(t *testing.T) { test(t, s.enter(t, name)) })
	}
	for name, test := range map[string]func(*testing.T, *stock){
		"plain":  testPlainWrites,
		"rights": testStockRights,
		"meddle": testMeddling,
		"again":  testInitAgain,
	} {
		t.Run(name, func(t *testing.T) {
			own := *s
			own.world = s.enter(t, name)
			test(t, &own)
		})
	}
	testWithoutWebhooks(t, s)
	testWithoutManager(t, s)
}

const tokVersions = `
apiVersion: kudo.dev/v1beta1
kind: OperatorVersion
metadata: {name: tok-0.1.0}
spec:
  operator: {name: tok}
  version: 0.1.0
  parameters: [{name: TOKENS, default: "256", immutable: true}, {name: CPUS, default: "1"}]
  templates:
    config.yaml: "{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Name }}'}, data: {tokens: '{{ .Params.TOKENS }}', cpus: '{{ .Params.CPUS }}'}}"
  tasks: [{name: config, kind: Apply, spec: {resources: [config.yaml]}}, {name: wait, kind: Dummy}]
  plans:
    deploy: {phases: [{name: main, steps: [{name: config, tasks: [config]}]}]}
    linger: {phases: [{name: main, steps: [{name: wait, tasks: [wait]}]}]}
---
apiVersion: kudo.dev/v1beta1
kind: OperatorVersion
metadata: {name: tok-0.2.0}
spec:
  operator: {name: tok}
  version: 0.2.0
  parameters: [{name: TOKENS, default: "1", immutable: true}, {name: CPUS, default: "1", immutable: true}, {name: REGION, default: north, immutable: true}]
  tasks: [{name: nothing, kind: Dummy, spec: {done: true}}]
  plans: {deploy: {phases: [{name: main, steps: [{name: nothing, tasks: [nothing]}]}]}}
`

// create creates the objects of a YAML text.
func (w world) create(t *testing.T, text string) error {
	t.Helper()
	for document := range strings.SplitSeq(text, "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			t.Fatal(err)
		}
		_, err := w.resource(strings.ToLower(object.GetKind())+"s").Create(t.Context(), object, metav1.CreateOptions{})
		if err != nil {
			return err
		}
	}
	return nil
}

// ended waits until the plan of an Instance has ended, and says how.
func (w world) ended(t *testing.T, name string) metav1.Condition {
	t.Helper()
	w.settle(t)
	for _, condition := range w.instance(t, name).Status.Conditions {
		if condition.Type == api.ReadyCondition {
			return condition
		}
	}
	t.Fatalf("%s: no plan has run", name)
	return metav1.Condition{}
}

const tokInstance = `{apiVersion: kudo.dev/v1beta1, kind: Instance, metadata: {name: tok}, spec: {operatorVersion: {name: tok-0.1.0}}}`

// leader is who holds the Lease of the managers, "" for nobody.
func (s *stock) leader(t *testing.T) string {
	t.Helper()
	lease, err := s.client.CoordinationV1().Leases("kudo-system").Get(t.Context(), "kudo-manager", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// Without a manager nothing is written that it would judge; it hands its Lease over.
func testWithoutManager(t *testing.T, s *stock) {
	if err := s.stop(); err != nil {
		t.Fatalf("manager ended with %v", err)
	}
	if leader := s.leader(t); leader != "" {
		t.Errorf("%s still leads", leader)
	}
	w := s.world
	w.namespace = "plain"
	err := w.patch(t.Context(), "tok", `{"metadata":{"labels":{"a":"b"}}}`)
	if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), `failed calling webhook "instances.kudo.dev"`) {
		t.Errorf("a write that nobody judges: %v", err)
	}
	if err := w.resource("instances").Delete(t.Context(), "tok", metav1.DeleteOptions{}); err != nil {
		t.Errorf("a deletion: %v", err)
	}
}
