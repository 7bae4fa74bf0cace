package token_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/access/token"
	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/yamltest"
)

const (
	issuerName = "https://issuer.example"
	namespace  = "tokens"
)

var api = authenticator.Audiences{"api"}

// fixture is a server with a few objects, and an issuer and authenticator that the
// test uses directly instead of through the server.
type fixture struct {
	client  kubernetes.Interface
	issuer  *token.Issuer
	objects token.Objects
	tokens  *token.Authenticator
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{client: servertest.Start(t, apiserver.Config{}).Client(t)}
	var err error
	if f.issuer, err = token.NewIssuer(issuerName, newKey(t)); err != nil {
		t.Fatal(err)
	}
	f.objects = token.Objects{
		ServiceAccounts: corelisters.NewServiceAccountLister(emptyIndexer()),
		Pods:            corelisters.NewPodLister(emptyIndexer()),
		Client:          f.client.CoreV1(),
	}
	f.tokens = token.NewAuthenticator(f.issuer, f.objects, api)

	ctx, core := t.Context(), f.client.CoreV1()
	must(t)(core.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}))
	for _, name := range []string{"robot", "other"} {
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
		must(t)(core.ServiceAccounts(namespace).Create(ctx, account, metav1.CreateOptions{}))
	}
	must(t)(core.Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}, metav1.CreateOptions{}))
	must(t)(core.Secrets(namespace).Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}}, metav1.CreateOptions{}))
	pod := *yamltest.Decode[corev1.Pod](t, `
metadata: {name: p}
spec: {serviceAccountName: robot, nodeName: n1, containers: [{name: c, image: i}]}`)
	must(t)(core.Pods(namespace).Create(ctx, &pod, metav1.CreateOptions{}))
	return f
}

func emptyIndexer() cache.Indexer {
	return cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
}

// must returns a function that fails the test if its second argument, the error of
// a call, is not nil.
func must(t testing.TB) func(any, error) {
	return func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
}

// request requests a token for a service account. The spec of the TokenRequest is
// YAML.
func (f *fixture) request(t *testing.T, account, spec string) (*authenticationv1.TokenRequest, error) {
	t.Helper()
	req := yamltest.Decode[authenticationv1.TokenRequest](t, "spec: "+spec)
	requests := &token.Requests{Issuer: f.issuer, Objects: f.objects, Audiences: api}
	created, err := requests.Create(request.WithNamespace(t.Context(), namespace), account, req, nil, nil)
	if err != nil {
		return nil, err
	}
	return created.(*authenticationv1.TokenRequest), nil
}

// issue requests a token for the account robot and fails the test on an error.
func (f *fixture) issue(t *testing.T, spec string) string {
	t.Helper()
	created, err := f.request(t, "robot", spec)
	if err != nil {
		t.Fatal(err)
	}
	return created.Status.Token
}

// uid returns the UID of the pod, the node or the service account robot.
func (f *fixture) uid(t *testing.T, kind string) string {
	t.Helper()
	core, ctx := f.client.CoreV1(), t.Context()
	var obj metav1.Object
	var err error
	switch kind {
	case "pod":
		obj, err = core.Pods(namespace).Get(ctx, "p", metav1.GetOptions{})
	case "node":
		obj, err = core.Nodes().Get(ctx, "n1", metav1.GetOptions{})
	case "robot":
		obj, err = core.ServiceAccounts(namespace).Get(ctx, "robot", metav1.GetOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(obj.GetUID())
}
