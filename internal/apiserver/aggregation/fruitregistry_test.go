package aggregation_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
)

// fruitREST is the registry of fruits. Each fruit tells which user asks for it.
type fruitREST struct{ *fruitServer }

func newFruit(ctx context.Context, name string) *corev1.ConfigMap {
	namespace := genericapirequest.NamespaceValue(ctx)
	fruit := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, ResourceVersion: "1"}}
	if user, ok := genericapirequest.UserFrom(ctx); ok {
		fruit.Data = map[string]string{"user": user.GetName(), "groups": strings.Join(user.GetGroups(), ",")}
	}
	return fruit
}

func (fruitREST) New() runtime.Object     { return &corev1.ConfigMap{} }
func (fruitREST) NewList() runtime.Object { return &corev1.ConfigMapList{} }
func (fruitREST) Destroy()                {}
func (fruitREST) NamespaceScoped() bool   { return true }
func (fruitREST) GetSingularName() string { return "fruit" }
func (fruitREST) Kind() string            { return "Fruit" }
func (fruitREST) ShortNames() []string    { return []string{"fr"} }

func (fruitREST) ConvertToTable(ctx context.Context, obj, options runtime.Object) (*metav1.Table, error) {
	return rest.NewDefaultTableConvertor(fruitVersion.WithResource("fruits").GroupResource()).ConvertToTable(ctx, obj, options)
}

func (fruitREST) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	if name != "apple" {
		return nil, apierrors.NewNotFound(fruitVersion.WithResource("fruits").GroupResource(), name)
	}
	return newFruit(ctx, name), nil
}

func (fruitREST) List(ctx context.Context, _ *metainternalversion.ListOptions) (runtime.Object, error) {
	return &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: []corev1.ConfigMap{*newFruit(ctx, "apple")}}, nil
}

func (f fruitREST) Watch(context.Context, *metainternalversion.ListOptions) (watch.Interface, error) {
	return f.watches.Watch()
}

// echoREST upgrades the connection of a request and sends back what it receives.
type echoREST struct{ *fruitServer }

func (echoREST) New() runtime.Object                               { return &corev1.ConfigMap{} }
func (echoREST) Destroy()                                          {}
func (echoREST) NewConnectOptions() (runtime.Object, bool, string) { return nil, false, "" }
func (echoREST) ConnectMethods() []string                          { return []string{"GET", "POST"} }

func (echoREST) Connect(context.Context, string, runtime.Object, rest.Responder) (http.Handler, error) {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		defer func() { _ = conn.Close() }()
		_, _ = fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_, _ = io.Copy(conn, bufio.NewReader(buffered))
	}), nil
}
