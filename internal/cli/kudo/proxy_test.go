package kudo_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// behind returns the cluster behind a proxy. The proxy sends requests with the credential of
// a config. The function pass, if it is not nil, wraps the handler of the proxy.
func (c cluster) behind(t *testing.T, config *rest.Config, pass func(next http.Handler) http.Handler) cluster {
	t.Helper()
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	var handler http.Handler = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, Transport: transport, FlushInterval: -1,
	}
	if pass != nil {
		handler = pass(handler)
	}
	proxy := httptest.NewServer(handler)
	t.Cleanup(proxy.Close)
	file := clientcmdapi.NewConfig()
	file.Clusters["proxy"] = &clientcmdapi.Cluster{Server: proxy.URL}
	file.Contexts["proxy"] = &clientcmdapi.Context{Cluster: "proxy"}
	file.CurrentContext = "proxy"
	c.kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*file, c.kubeconfig); err != nil {
		t.Fatal(err)
	}
	return c
}
