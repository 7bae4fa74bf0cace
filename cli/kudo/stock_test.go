package kudo_test

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
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

// Plain clients meet the refusals of our own server, in its words.
func testPlainWrites(t *testing.T, s *stock) {
	if err := s.create(t, tokVersions); err != nil {
		t.Fatal(err)
	}
	if err := s.create(t, tokInstance); err != nil {
		t.Fatal(err)
	}
	if ready := s.ended(t, "tok"); ready.Reason != string(api.Complete) {
		t.Fatalf("%s: %s", ready.Reason, ready.Message)
	}
	if diff := cmp.Diff(map[string]string{"TOKENS": "256"}, s.instance(t, "tok").Spec.Parameters); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	config, err := s.client.CoreV1().ConfigMaps(s.namespace).Get(t.Context(), "tok", metav1.GetOptions{})
	if err != nil || config.Data["tokens"] != "256" {
		t.Errorf("rendered %v, %v", config.Data, err)
	}

	const denied = `admission webhook "instances.kudo.dev" denied the request: `
	const invalid = denied + `Instance.kudo.dev "tok" is invalid: `
	upgrade := `{"spec":{"operatorVersion":{"name":"tok-0.2.0"}}}`
	for patch, want := range map[string]string{
		`{"spec":{"parameters":{"TOKENS":"8","NOBODY":"1"}}}`: invalid + `[spec.parameters[TOKENS]: Forbidden: parameter 'TOKENS' is immutable but was changed from '256' to '8', ` +
			`spec.parameters[NOBODY]: Forbidden: parameter 'NOBODY' is unknown: operator version tok-0.1.0 has no such parameter]`,
		`{"spec":{"parameters":{"TOKENS":null}}}`: invalid + `spec.parameters[TOKENS]: Forbidden: parameter 'TOKENS' is immutable but was removed (value '256')`,
		`{"spec":{"parameters":null}}`:            invalid + `spec.parameters[TOKENS]: Forbidden: parameter 'TOKENS' is immutable but was removed (value '256')`,
		upgrade: invalid + `[spec.parameters[CPUS]: Forbidden: parameter 'CPUS' was changed to immutable in operator version 0.2.0 but no value was provided, ` +
			`spec.parameters[REGION]: Forbidden: parameter 'REGION' was added in operator version 0.2.0, but no value was provided (default would be north)]`,
	} {
		if err := s.patch(t.Context(), "tok", patch); !apierrors.IsInvalid(err) || err.Error() != want {
			t.Errorf("%s (-want +got):\n%s", patch, cmp.Diff(want, err.Error()))
		}
	}
	if err := s.patch(t.Context(), "tok", `{"spec":{"parameters":{"TOKENS":"256","CPUS":"2"}}}`); err != nil {
		t.Fatal(err)
	}
	s.settle(t)

	// While a plan runs.
	if err := s.patch(t.Context(), "tok", `{"spec":{"planExecution":{"planName":"linger"}}}`); err != nil {
		t.Fatal(err)
	}
	err = s.patch(t.Context(), "tok", `{"spec":{"parameters":{"CPUS":"3"}}}`)
	if want := denied + `Operation cannot be fulfilled on instances.kudo.dev "tok": plan 'linger' is running: wait until it has ended`; !apierrors.IsConflict(err) || err.Error() != want {
		t.Errorf("while a plan runs: %v", err)
	}
	if err := s.resource("instances").Delete(t.Context(), "tok", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	servertest.Eventually(t, "the instance is gone", func() bool { return s.names(t, "instances") == "" })

	// With consent, and with the wish to go back.
	if err := s.create(t, tokInstance); err != nil {
		t.Fatal(err)
	}
	s.settle(t)
	consent := `{"metadata":{"annotations":{"holdfast.dev/given-parameters":"{\"operatorVersion\":\"tok-0.2.0\",\"names\":[\"CPUS\",\"REGION\"]}"}}}`
	for _, patch := range []string{consent, upgrade} {
		if err := s.patch(t.Context(), "tok", patch); err != nil {
			t.Fatal(err)
		}
	}
	s.settle(t)
	if diff := cmp.Diff(map[string]string{"TOKENS": "256", "CPUS": "1", "REGION": "north"}, s.instance(t, "tok").Spec.Parameters); diff != "" {
		t.Errorf("upgraded (-want +got):\n%s", diff)
	}
	back := `{"metadata":{"annotations":{"holdfast.dev/rollback-to":"tok-0.1.0"}},"spec":{"operatorVersion":{"name":"tok-0.1.0"}}}`
	if err := s.patch(t.Context(), "tok", back); err != nil {
		t.Fatal(err)
	}
	s.settle(t)
	rolledBack := s.instance(t, "tok")
	if diff := cmp.Diff(map[string]string{"TOKENS": "256"}, rolledBack.Spec.Parameters); diff != "" || rolledBack.Annotations[api.RollbackAnnotation] != "" {
		t.Errorf("rolled back, %v (-want +got):\n%s", rolledBack.Annotations, diff)
	}

	// A version is what it is.
	version, err := s.resource("operatorversions").Get(t.Context(), "tok-0.1.0", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := unstructured.SetNestedField(version.Object, "9.9", "spec", "appVersion"); err != nil {
		t.Fatal(err)
	}
	_, err = s.resource("operatorversions").Update(t.Context(), version, metav1.UpdateOptions{})
	if want := "spec: Forbidden: an operator version never changes: a new version is a new object"; !apierrors.IsInvalid(err) || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("another spec: %v", err)
	}
}

// A package does what its installer may, whatever the installer says of itself.
func testStockRights(t *testing.T, s *stock) {
	if err := s.create(t, `
apiVersion: kudo.dev/v1beta1
kind: OperatorVersion
metadata: {name: greedy-0.1.0}
spec:
  operator: {name: greedy}
  version: 0.1.0
  templates:
    settings.yaml: "{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Name }}-settings'}}"
    power.yaml: |
      apiVersion: rbac.authorization.k8s.io/v1
      kind: ClusterRoleBinding
      metadata: {name: '{{ .Name }}-power'}
      roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
      subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: eve}]
  tasks: [{name: all, kind: Apply, spec: {resources: [settings.yaml, power.yaml]}}]
  plans: {deploy: {phases: [{name: main, steps: [{name: all, tasks: [all]}]}]}}
`); err != nil {
		t.Fatal(err)
	}
	if _, err := s.client.RbacV1().RoleBindings(s.namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "eve"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "eve"}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eve := s.world
	eve.dynamic = dynamic.NewForConfigOrDie(s.server.As(t, "eve"))
	servertest.Eventually(t, "eve may write instances", func() bool {
		return eve.create(t, `{apiVersion: kudo.dev/v1beta1, kind: Instance, metadata: {name: mine, annotations: {holdfast.dev/requested-by: '{"username":"root","groups":["system:masters"]}'}},
  spec: {operatorVersion: {name: greedy-0.1.0}}}`) == nil
	})
	requester, _, err := api.RequestedBy(s.instance(t, "mine"))
	if err != nil || requester.Username != "eve" {
		t.Errorf("requested by %+v, %v", requester, err)
	}
	ready := s.ended(t, "mine")
	if ready.Reason != string(api.FatalError) || !strings.Contains(ready.Message, `ClusterRoleBinding mine-power`) || !strings.Contains(ready.Message, `"eve" cannot`) {
		t.Errorf("the plan ended with %s: %s", ready.Reason, ready.Message)
	}
	if _, err := s.client.CoreV1().ConfigMaps(s.namespace).Get(t.Context(), "mine-settings", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the other object: %v", err)
	}
	testAccountInstalls(t, s)
	// Nor can it be changed afterwards.
	if err := eve.patch(t.Context(), "mine", `{"metadata":{"annotations":{"holdfast.dev/requested-by":"{\"username\":\"root\"}"}}}`); err != nil {
		t.Fatal(err)
	}
	if requester, _, err = api.RequestedBy(s.instance(t, "mine")); err != nil || requester.Username != "eve" {
		t.Errorf("requested by %+v, %v", requester, err)
	}
	// The same package, by somebody who may.
	if err := s.patch(t.Context(), "mine", `{"spec":{"planExecution":{"planName":"deploy"}}}`); err != nil {
		t.Fatal(err)
	}
	if ready := s.ended(t, "mine"); ready.Reason != string(api.Complete) {
		t.Errorf("the plan ended with %s: %s", ready.Reason, ready.Message)
	}
}

// A user who is more than a name, such as an account with a token, is impersonated
// with all of it.
func testAccountInstalls(t *testing.T, s *stock) {
	t.Helper()
	if err := s.create(t, tokVersions); err != nil {
		t.Fatal(err)
	}
	if _, err := s.client.RbacV1().RoleBindings(s.namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "account"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: s.namespace, Name: "default"}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	var token *authenticationv1.TokenRequest
	servertest.Eventually(t, "the account is there", func() bool {
		var err error
		token, err = s.client.CoreV1().ServiceAccounts(s.namespace).CreateToken(t.Context(), "default", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		return err == nil
	})
	config := rest.AnonymousClientConfig(s.server.Config(t))
	config.BearerToken = token.Status.Token
	account := s.world
	account.dynamic = dynamic.NewForConfigOrDie(config)
	servertest.Eventually(t, "the account may write instances", func() bool { return account.create(t, tokInstance) == nil })
	requester, _, err := api.RequestedBy(s.instance(t, "tok"))
	if err != nil || requester.UID == "" || len(requester.Extra) == 0 {
		t.Errorf("requested by %+v, %v", requester, err)
	}
	if ready := s.ended(t, "tok"); ready.Reason != string(api.Complete) {
		t.Errorf("the plan ended with %s: %s", ready.Reason, ready.Message)
	}
}

// What a policy of a user makes of a write is judged, not what the client sent.
func testMeddling(t *testing.T, s *stock) {
	for _, text := range []string{tokVersions, tokInstance} {
		if err := s.create(t, text); err != nil {
			t.Fatal(err)
		}
	}
	s.settle(t)
	policies := s.client.AdmissionregistrationV1()
	name := metav1.ObjectMeta{Name: "meddle"}
	if _, err := policies.MutatingAdmissionPolicies().Create(t.Context(), &admissionregistrationv1.MutatingAdmissionPolicy{
		ObjectMeta: name,
		Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": s.namespace}},
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{"kudo.dev"}, APIVersions: []string{"*"}, Resources: []string{"instances"}},
				}}},
			},
			ReinvocationPolicy: admissionregistrationv1.IfNeededReinvocationPolicy,
			Mutations: []admissionregistrationv1.Mutation{{
				PatchType: admissionregistrationv1.PatchTypeJSONPatch,
				JSONPatch: &admissionregistrationv1.JSONPatch{Expression: `[JSONPatch{op: "add", path: "/spec/parameters/TOKENS", value: "9"}]`},
			}},
		},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := policies.MutatingAdmissionPolicyBindings().Create(t.Context(), &admissionregistrationv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: name, Spec: admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: "meddle"},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	servertest.Eventually(t, "the policy in force, and what it does refused", func() bool {
		found := s.instance(t, "tok")
		if found.Spec.Parameters["TOKENS"] != "256" {
			t.Fatalf("TOKENS is %q", found.Spec.Parameters["TOKENS"])
		}
		err := s.patch(t.Context(), "tok", `{"metadata":{"labels":{"a":"`+found.ResourceVersion+`"}}}`)
		return apierrors.IsInvalid(err) && strings.Contains(err.Error(), "parameter 'TOKENS' is immutable but was changed from '256' to '9'")
	})
}

// Init changes nothing where nothing differs, and says so.
func testInitAgain(t *testing.T, s *stock) {
	out := s.must(t, "init", "--webhook-url", s.address)
	for line := range strings.Lines(out) {
		if !strings.HasSuffix(line, " unchanged\n") {
			t.Errorf("changed: %s", line)
		}
	}
	if lines := strings.Count(out, "\n"); lines != 14 {
		t.Errorf("%d objects:\n%s", lines, out)
	}
	// The manager moves into the cluster, and out of it again. The certificate of
	// the one is not for the other; the authority stays.
	secrets := s.client.CoreV1().Secrets("kudo-system")
	before, err := secrets.Get(t.Context(), "kudo-webhook", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out = s.must(t, "init", "--image", "holdfast:test")
	for _, want := range []string{"secret/kudo-webhook configured\n", "deployment/kudo-manager created\n", "service/kudo-webhook created\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in:\n%s", want, out)
		}
	}
	after, err := secrets.Get(t.Context(), "kudo-webhook", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before.Data["ca.crt"], after.Data["ca.crt"]) || bytes.Equal(before.Data["tls.crt"], after.Data["tls.crt"]) {
		t.Error("not the authority stays, or the certificate does")
	}
	hooks, err := s.client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), "kudo-webhook", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, hook := range hooks.Webhooks {
		service := hook.ClientConfig.Service
		if hook.ClientConfig.URL != nil || service == nil || service.Name != "kudo-webhook" || *service.Path != "/validate" || !bytes.Equal(hook.ClientConfig.CABundle, after.Data["ca.crt"]) {
			t.Errorf("%s is reached by %v", hook.Name, hook.ClientConfig)
		}
	}
	out = s.must(t, "init", "--webhook-url", s.address, "--wait")
	for _, want := range []string{"deployment/kudo-manager deleted\n", "service/kudo-webhook deleted\n", "the webhook answers\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in:\n%s", want, out)
		}
	}
	s.judged(t)
}

// Without webhooks anybody could say that they are anybody: no plan is run, and init
// does not take such Instances over.
func testWithoutWebhooks(t *testing.T, s *stock) {
	own := *s
	own.world = s.enter(t, "unguarded")
	if err := own.create(t, tokVersions); err != nil {
		t.Fatal(err)
	}
	configurations := s.client.AdmissionregistrationV1()
	if err := configurations.ValidatingWebhookConfigurations().Delete(t.Context(), "kudo-webhook", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := configurations.MutatingWebhookConfigurations().Delete(t.Context(), "kudo-webhook", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	servertest.Eventually(t, "the manager no longer leads", func() bool { return s.leader(t) == "" })
	forged := `{apiVersion: kudo.dev/v1beta1, kind: Instance, metadata: {name: forged, annotations: {holdfast.dev/requested-by: '{"username":"root","groups":["system:masters"]}'}},
  spec: {operatorVersion: {name: tok-0.1.0}, planExecution: {planName: deploy, uid: one}}}`
	servertest.Eventually(t, "nobody judges", func() bool {
		if err := own.create(t, forged); err != nil {
			return false
		}
		requester, _, err := api.RequestedBy(own.instance(t, "forged"))
		if err == nil && requester.Username == "root" {
			return true
		}
		// It was still judged.
		if err := own.resource("instances").Delete(t.Context(), "forged", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		return false
	})
	if _, err := s.run(t, "init", "--webhook-url", s.address); err == nil || !strings.Contains(err.Error(), "unguarded/forged") {
		t.Errorf("init: %v", err)
	}
	all, err := s.dynamic.Resource(api.GroupVersion.WithResource("instances")).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, each := range all.Items {
		w := s.world
		w.namespace = each.GetNamespace()
		if err := w.patch(t.Context(), each.GetName(), `{"metadata":{"annotations":{"holdfast.dev/requested-by":null}}}`); err != nil {
			t.Fatal(err)
		}
	}
	s.must(t, "init", "--webhook-url", s.address, "--wait")
	if ready := own.ended(t, "forged"); ready.Reason != string(api.FatalError) {
		t.Errorf("the plan ended with %s: %s", ready.Reason, ready.Message)
	}
	if _, err := s.client.CoreV1().ConfigMaps(own.namespace).Get(t.Context(), "forged", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("what its plan renders: %v", err)
	}
}

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

// TestInitBuiltIn: our own server needs nothing, and lets nobody run plans twice.
func TestInitBuiltIn(t *testing.T) {
	w := start(t)
	out, err := run(t.Context(), "init", "--kubeconfig", w.kubeconfig)
	if err != nil || out != "this server admits and runs operator packages itself: nothing is installed\n" {
		t.Errorf("init: %v, %q", err, out)
	}
	if _, err := w.client.CoreV1().Namespaces().Get(t.Context(), "kudo-system", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("namespace: %v", err)
	}
	_, err = run(t.Context(), "manager", "--kubeconfig", w.kubeconfig, "--webhook-address", "127.0.0.1:0", "--health-address", "")
	if err == nil || err.Error() != "this server admits and runs operator packages itself" {
		t.Errorf("manager: %v", err)
	}
}

// TestInitRefused: what cannot work says why, and writes nothing.
func TestInitRefused(t *testing.T) {
	server := servertest.Start(t, apiserver.Config{WithoutOperators: true})
	kubeconfig := server.Kubeconfig()
	for _, test := range []struct {
		want string
		args []string
	}{
		{`--webhook-url "http://a": must be https://HOST[:PORT][/PATH]`, []string{"init", "--webhook-url", "http://a"}},
		{`--output goes with --dry-run`, []string{"init", "-o", "yaml"}},
		{`output "xml": must be yaml or json`, []string{"init", "--dry-run", "-o", "xml"}},
		{`run "holdfast kudo init" first`, []string{"manager", "--webhook-address", "127.0.0.1:0", "--health-address", ""}},
		{`--webhook-address: listen tcp: address nowhere`, []string{"manager", "--webhook-address", "nowhere"}},
		{`--tls-cert-file and --tls-private-key-file belong together`, []string{"manager", "--tls-cert-file", "a"}},
		{`certificate of the webhook, none with key none: open none`, []string{
			"manager", "--tls-cert-file", "none", "--tls-private-key-file", "none", "--webhook-address", "127.0.0.1:0", "--health-address", "",
		}},
	} {
		if out, err := run(t.Context(), append(test.args, "--kubeconfig", kubeconfig)...); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("kudo %s: %v\n%s", strings.Join(test.args, " "), err, out)
		}
	}

	// An Instance from before anybody judged may say anything of its rights.
	w := world{kubeconfig: kubeconfig, namespace: "default", client: server.Client(t), dynamic: dynamic.NewForConfigOrDie(server.Config(t))}
	definitions, err := api.CustomResourceDefinitions()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range definitions {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(text, &object.Object); err != nil {
			t.Fatal(err)
		}
		crds := w.dynamic.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
		if _, err := crds.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	forged := `{apiVersion: kudo.dev/v1beta1, kind: Instance, metadata: {name: forged, annotations: {holdfast.dev/requested-by: '{"username":"root","groups":["system:masters"]}'}},
  spec: {operatorVersion: {name: any}, planExecution: {planName: deploy, uid: one}}}`
	servertest.Eventually(t, "instances are served", func() bool { return w.create(t, forged) == nil })
	_, err = run(t.Context(), "init", "--kubeconfig", kubeconfig)
	if err == nil || !strings.Contains(err.Error(), "default/forged") {
		t.Errorf("init: %v", err)
	}
	if _, err := w.client.CoreV1().Namespaces().Get(t.Context(), "kudo-system", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("namespace: %v", err)
	}
	if err := w.patch(t.Context(), "forged", `{"metadata":{"annotations":{"holdfast.dev/requested-by":null}}}`); err != nil {
		t.Fatal(err)
	}
	if out, err := run(t.Context(), "init", "--kubeconfig", kubeconfig); err != nil {
		t.Errorf("init: %v\n%s", err, out)
	}
}
