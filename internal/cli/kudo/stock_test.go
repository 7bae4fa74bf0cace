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
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/cli"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// stock is a server without built-in operator packages, for which `holdfast kudo init` was
// run, and a manager for it. It stands for a stock Kubernetes cluster.
type stock struct {
	cluster
	// address is the URL of the manager's webhook.
	address string
	// stop ends the manager and returns its error.
	stop func() error
	// kubelet answers the manager's requests for pods/exec.
	kubelet *kubelet
}

// startStock starts a server and a manager, and waits until the webhooks are in force.
func startStock(t *testing.T) *stock {
	t.Helper()
	server := servertest.Start(t, apiserver.Config{WithoutOperators: true})
	s := &stock{cluster: clusterOf(t, server), kubelet: &kubelet{root: t.TempDir()}}
	s.kubelet.webSockets.Store(true)
	// The manager needs its keys to start, and its address is only known after that. So init
	// runs twice, first with an address that does not work.
	s.initialize(t, "--webhook-url", "https://127.0.0.1:9")
	s.manage(t)
	out := s.initialize(t, "--webhook-url", s.address, "--wait")
	for _, want := range []string{
		"secret/kudo-webhook unchanged\n", "mutatingwebhookconfiguration/kudo-webhook configured\n", "the webhook answers\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in:\n%s", want, out)
		}
	}
	if err := s.create(t, tokVersions); err != nil {
		t.Fatal(err)
	}
	s.awaitWebhooks(t)
	return s
}

// awaitWebhooks waits until the server calls both webhooks at the address of the manager. The
// server learns of each configuration separately.
func (s *stock) awaitWebhooks(t *testing.T) {
	t.Helper()
	resource := s.Dynamic.Resource(api.GroupVersion.WithResource("instances")).Namespace("default")
	waittest.Until(t, "instances are judged", func() error {
		object := yamltest.Object(t, tokInstance)
		_, err := resource.Create(t.Context(), object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	})
}

// run runs a command that does not depend on a namespace.
func (s *stock) run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	return run(t.Context(), append(args, "--kubeconfig", s.kubeconfig)...)
}

// run runs a command of kudo and returns what it prints.
func run(ctx context.Context, args ...string) (string, error) {
	var out bytes.Buffer
	err := cli.Run(ctx, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &out}, append([]string{"kudo"}, args...))
	return out.String(), err
}

// must runs a command that must succeed.
func (s *stock) must(t *testing.T, args ...string) string {
	t.Helper()
	out, err := s.run(t, args...)
	if err != nil {
		t.Fatalf("kudo %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// managerAccount is the service account of the manager. It is not the default, so that all tests
// of the stock cluster depend on --service-account.
const managerAccount = "operators"

// initialize runs init with the service account of the manager.
func (s *stock) initialize(t *testing.T, args ...string) string {
	t.Helper()
	return s.must(t, append([]string{"init", "--service-account", managerAccount}, args...)...)
}

// manage starts a manager with the rights of the service account that init has created. Between
// it and the server is a proxy that serves exec.
func (s *stock) manage(t *testing.T) {
	t.Helper()
	kubeconfig := s.behind(t, servertest.Config(t, s.account(t)), s.kubelet.serveExec).kubeconfig
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	printed, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := cli.Run(ctx, cli.Streams{In: strings.NewReader(""), Out: out, Err: io.Discard}, []string{
			"kudo", "manager", "--kubeconfig", kubeconfig, "--unattended", "--service-account", managerAccount,
			"--webhook-address", "127.0.0.1:0", "--health-address", "127.0.0.1:0",
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
	n, err := printed.Read(line)
	address, found := strings.CutPrefix(string(line[:n]), "holdfast: manager answers at ")
	if err != nil || !found {
		t.Fatalf("manager: %v, printed %q", err, line[:n])
	}
	s.address = strings.TrimSpace(address)
}

// account returns the path of a kubeconfig for the service account of the manager. It waits
// until the rights of the account are in force.
func (s *stock) account(t *testing.T) string {
	t.Helper()
	accounts := s.CoreV1().ServiceAccounts("kudo-system")
	token, err := accounts.CreateToken(t.Context(), managerAccount, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
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
	for _, right := range []authorizationv1.SelfSubjectAccessReviewSpec{
		{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: "kudo-system", Verb: "get", Resource: "secrets", Name: "kudo-webhook",
		}},
		{NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: "/readyz/poststarthook/operator-kinds", Verb: "get"}},
	} {
		waittest.Until(t, "the account of the manager has its rights", func() bool {
			review := &authorizationv1.SelfSubjectAccessReview{Spec: right}
			review, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
			return err == nil && review.Status.Allowed
		})
	}
	return own
}

// TestStock checks that a cluster for which init was run enforces the same rules as a
// Holdfast server.
func TestStock(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	s := startStock(t)
	runTests(t, s.cluster, anyServer)
	for name, test := range map[string]func(*testing.T, *stock){
		"plain":  testPlainWrites,
		"rights": testStockRights,
		"delete": testStockDeletion,
		"in-use": testStockVersionInUse,
		"policy": testMutatingPolicy,
		"again":  testInitAgain,
		"pipe":   testPipe,
	} {
		t.Run(name, func(t *testing.T) {
			own := *s
			own.cluster = s.enter(t, name)
			test(t, &own)
		})
	}
	// It needs the node of testPipe.
	t.Run("pipe-refused", func(t *testing.T) {
		own := *s
		own.cluster = s.enter(t, "pipe-refused")
		testPipeRefused(t, &own)
	})
	testWithoutWebhooks(t, s)
	testWithoutManager(t, s)
}

// tokVersions are two versions of an operator. The second one has more immutable parameters.
const tokVersions = `
apiVersion: kudo.dev/v1beta1
kind: OperatorVersion
metadata: {name: tok-0.1.0}
spec:
  operator: {name: tok}
  version: 0.1.0
  parameters: [{name: TOKENS, default: "256", immutable: true}, {name: CPUS, default: "1"}]
  templates:
    config.yaml: "{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Name }}'},
      data: {tokens: '{{ .Params.TOKENS }}', cpus: '{{ .Params.CPUS }}'}}"
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
  parameters: [{name: TOKENS, default: "1", immutable: true}, {name: CPUS, default: "1", immutable: true},
    {name: REGION, default: north, immutable: true}]
  tasks: [{name: nothing, kind: Dummy, spec: {done: true}}]
  plans: {deploy: {phases: [{name: main, steps: [{name: nothing, tasks: [nothing]}]}]}}
`

// create creates the objects of a YAML text.
func (c cluster) create(t *testing.T, text string) error {
	t.Helper()
	for document := range strings.SplitSeq(text, "\n---\n") {
		object := yamltest.Object(t, document)
		_, err := c.resource(strings.ToLower(object.GetKind())+"s").Create(t.Context(), object, metav1.CreateOptions{})
		if err != nil {
			return err
		}
	}
	return nil
}

// awaitEnd waits until the plan of an Instance has ended and returns its Ready condition.
func (c cluster) awaitEnd(t *testing.T, name string) metav1.Condition {
	t.Helper()
	c.awaitPlans(t)
	for _, condition := range c.instance(t, name).Status.Conditions {
		if condition.Type == api.ReadyCondition {
			return condition
		}
	}
	t.Fatalf("%s: no plan has run", name)
	return metav1.Condition{}
}

const tokInstance = `{apiVersion: kudo.dev/v1beta1, kind: Instance, metadata: {name: tok}, spec: {operatorVersion: {name: tok-0.1.0}}}`

// leader returns the holder of the Lease of the managers, "" if there is none.
func (s *stock) leader(t *testing.T) string {
	t.Helper()
	lease, err := s.CoordinationV1().Leases("kudo-system").Get(t.Context(), "kudo-manager", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// testWithoutManager checks that a manager releases its Lease when it ends, and that without a
// manager Instances cannot be written but can be deleted.
func testWithoutManager(t *testing.T, s *stock) {
	if err := s.stop(); err != nil {
		t.Fatalf("manager ended with %v", err)
	}
	if leader := s.leader(t); leader != "" {
		t.Errorf("%s still leads", leader)
	}
	c := s.cluster
	c.Namespace = "plain"
	err := c.patch(t.Context(), "tok", `{"metadata":{"labels":{"a":"b"}}}`)
	if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), `failed calling webhook "instances.kudo.dev"`) {
		t.Errorf("a write without a manager: %v", err)
	}
	if err := c.resource("instances").Delete(t.Context(), "tok", metav1.DeleteOptions{}); err != nil {
		t.Errorf("a deletion: %v", err)
	}
}
