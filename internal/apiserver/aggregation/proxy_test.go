package aggregation_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	restclient "k8s.io/client-go/rest"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"holdfast.dev/holdfast/internal/access"
	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/config"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

const apple = "/apis/fruit.example/v1/namespaces/shop/fruits/apple"

// The parts of this test share one server and one aggregated server.
func TestAggregatedServer(t *testing.T) {
	t.Parallel()
	c := start(t, apiserver.Config{})
	fruits := startFruits(t, c.Kubeconfig())
	c.expose(t, "fruits", fruits.address)
	c.register(t, remoteService("fruit.example", "fruits", fruits.ca))
	if reason := c.condition(t, "v1.fruit.example", apiregistrationv1.ConditionTrue); reason != "Passed" {
		t.Errorf("available because of %s", reason)
	}
	waittest.Until(t, "the proxy serves", func() bool {
		status, _ := c.get(t, c.config, apple, nil)
		return status == http.StatusOK
	})
	c.allowReaders(t)
	t.Run("identity", func(t *testing.T) { c.testIdentity(t, fruits) })
	t.Run("credentials", func(t *testing.T) { c.testCredentials(t, fruits) })
	t.Run("watch", func(t *testing.T) { c.testWatch(t, fruits) })
	t.Run("upgrade", c.testUpgrade)
	t.Run("discovery", c.testDiscovery)
	t.Run("openapi", c.testOpenAPI)
	t.Run("removed", c.testRemoved)
	t.Run("shared version", func(t *testing.T) { c.testSharedVersion(t, fruits.ca) })
}

// A server with a client certificate that was given is trusted, and names the user.
func TestGivenCertificate(t *testing.T) {
	t.Parallel()
	authority, _, err := access.NewAuthority(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	pair, err := authority.Issue(access.Subject{User: "our-proxy"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	file := func(name string, data []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	settings := apiserver.Config{ProxyClient: config.ProxyClient{CertFile: file("tls.crt", pair.Cert), KeyFile: file("tls.key", pair.Key)}}
	settings.RequestHeader.ClientCAFile, settings.RequestHeader.AllowedNames = file("ca.crt", authority.CertPEM), []string{"our-proxy"}
	settings.RequestHeader.UsernameHeaders = []string{"X-Remote-User"}
	c := start(t, settings)
	waittest.Until(t, "the authority is published", func() bool {
		trust, err := c.kube.CoreV1().ConfigMaps("kube-system").Get(t.Context(), "extension-apiserver-authentication", metav1.GetOptions{})
		return err == nil && trust.Data["requestheader-client-ca-file"] == string(authority.CertPEM) &&
			trust.Data["requestheader-allowed-names"] == `["our-proxy"]`
	})
	fruits := startFruits(t, c.Kubeconfig())
	c.expose(t, "fruits", fruits.address)
	c.register(t, remoteService("fruit.example", "fruits", fruits.ca))
	c.condition(t, "v1.fruit.example", apiregistrationv1.ConditionTrue)
	var body string
	waittest.Until(t, "the proxy serves", func() bool {
		var status int
		status, body = c.get(t, c.As(t, "root", "system:masters"), apple, nil)
		return status == http.StatusOK
	})
	if user := yamltest.Known[corev1.ConfigMap](t, body).Data["user"]; user != "root" {
		t.Errorf("the aggregated server saw %s", user)
	}
}

// allowReaders lets the group readers and the service account buyer read fruits.
func (c cluster) allowReaders(t *testing.T) {
	t.Helper()
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "fruits"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"fruit.example"}, Resources: []string{"fruits"}, Verbs: []string{"get", "watch"}}},
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "fruits"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "fruits"},
		Subjects: []rbacv1.Subject{
			{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "readers"}, {Kind: "ServiceAccount", Namespace: "shop", Name: "buyer"},
		},
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "buyer"}}
	_, roleErr := c.kube.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{})
	_, bindErr := c.kube.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{})
	_, accountErr := c.kube.CoreV1().ServiceAccounts("shop").Create(t.Context(), account, metav1.CreateOptions{})
	for _, err := range []error{roleErr, bindErr, accountErr} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// testIdentity checks that the aggregated server sees the user, and that both servers check
// permissions.
func (c cluster) testIdentity(t *testing.T, _ *fruitServer) {
	alice := c.As(t, "alice", "readers")
	waittest.Until(t, "alice may read", func() bool {
		status, _ := c.get(t, alice, apple, nil)
		return status == http.StatusOK
	})
	// A client cannot name another user with the headers of the proxy.
	status, body := c.get(t, alice, apple, http.Header{"X-Remote-User": {"mallory"}, "X-Remote-Group": {"system:masters"}})
	fruit := yamltest.Known[corev1.ConfigMap](t, body)
	if status != http.StatusOK || fruit.Data["user"] != "alice" || fruit.Data["groups"] != "readers,system:authenticated" {
		t.Errorf("status %d, the aggregated server saw %v", status, fruit.Data)
	}
	if fruit.Kind != "Fruit" || fruit.APIVersion != "fruit.example/v1" {
		t.Errorf("got %s %s", fruit.APIVersion, fruit.Kind)
	}
	if status, body := c.get(t, c.As(t, "bob"), apple, nil); status != http.StatusForbidden {
		t.Errorf("bob got %d: %s", status, body)
	}
}

// testCredentials checks that no credential of a client reaches the aggregated server.
func (c cluster) testCredentials(t *testing.T, fruits *fruitServer) {
	request := &authenticationv1.TokenRequest{}
	token, err := c.kube.CoreV1().ServiceAccounts("shop").CreateToken(t.Context(), "buyer", request, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	secret := token.Status.Token
	byToken := restclient.AnonymousClientConfig(c.config)
	byToken.BearerToken = secret
	waittest.Until(t, "the service account may read", func() bool {
		status, _ := c.get(t, byToken, apple, nil)
		return status == http.StatusOK
	})
	const websocket = "base64url.bearer.authorization.k8s.io."
	rows := map[string]struct {
		client *restclient.Config
		header http.Header
	}{
		"token":                     {byToken, nil},
		"token beside certificate":  {c.config, http.Header{"Authorization": {"Bearer " + secret}}},
		"cookie":                    {byToken, http.Header{"Cookie": {"session=" + secret}}},
		"token of a websocket":      {c.config, http.Header{"Sec-Websocket-Protocol": {websocket + secret + ", x"}}},
		"token and websocket token": {byToken, http.Header{"Sec-Websocket-Protocol": {websocket + secret}}},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			if status, body := c.get(t, row.client, apple, row.header); status != http.StatusOK {
				t.Fatalf("status %d: %s", status, body)
			}
			for key, values := range fruits.received(apple) {
				if strings.Contains(strings.Join(values, " "), secret) {
					t.Errorf("the aggregated server got the token in the header %s", key)
				}
			}
		})
	}
}

func (c cluster) testWatch(t *testing.T, fruits *fruitServer) {
	client := dynamic.NewForConfigOrDie(c.As(t, "alice", "readers")).Resource(fruitVersion.WithResource("fruits")).Namespace("shop")
	events, err := client.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	for _, name := range []string{"plum", "fig"} {
		// The aggregated server has answered the request, so that it has registered the watch.
		if err := fruits.watches.Action(watch.Added, newFruit(t.Context(), name)); err != nil {
			t.Fatal(err)
		}
		event, ok := <-events.ResultChan()
		if !ok || event.Type != watch.Added {
			t.Fatalf("got %v, open: %t", event, ok)
		}
		if got := event.Object.(metav1.Object).GetName(); got != name {
			t.Errorf("got %s, want %s", got, name)
		}
	}
}

// testUpgrade checks that bytes pass in both directions after an upgrade, as for exec.
func (c cluster) testUpgrade(t *testing.T) {
	trusted, err := restclient.TLSConfigFor(c.config)
	if err != nil {
		t.Fatal(err)
	}
	trusted.NextProtos = []string{"http/1.1"}
	conn, err := tls.Dial("tcp", strings.TrimPrefix(c.config.Host, "https://"), trusted)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_, _ = fmt.Fprintf(conn, "GET %s/echo HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n", apple)
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("got %v", response)
	}
	_, _ = fmt.Fprint(conn, "hello")
	answer := make([]byte, 5)
	if _, err := io.ReadFull(reader, answer); err != nil || string(answer) != "hello" {
		t.Errorf("got %q, %v", answer, err)
	}
}

func (c cluster) testDiscovery(t *testing.T) {
	discovery := c.kube.Discovery()
	waittest.Until(t, "aggregated discovery shows fruits", func() bool {
		_, body := c.get(t, c.config, "/apis", http.Header{"Accept": {aggregatedDiscovery}})
		version := versionOf(yamltest.Known[apidiscoveryv2.APIGroupDiscoveryList](t, body), "fruit.example")
		return version != nil && version.Freshness == apidiscoveryv2.DiscoveryFreshnessCurrent &&
			len(version.Resources) == 1 && version.Resources[0].Resource == "fruits"
	})
	_, body := c.get(t, c.config, "/apis", nil)
	var names []string
	for _, group := range yamltest.Known[metav1.APIGroupList](t, body).Groups {
		names = append(names, group.Name)
	}
	at, custom := slices.Index(names, "fruit.example"), slices.Index(names, "kudo.dev")
	if at < slices.Index(names, "apps") || custom < 0 || at < 0 {
		t.Errorf("groups are in the order %v", names)
	}
	_, body = c.get(t, c.config, "/apis/fruit.example", nil)
	if group := yamltest.Known[metav1.APIGroup](t, body); group.PreferredVersion.GroupVersion != "fruit.example/v1" || len(group.Versions) != 1 {
		t.Errorf("the group is %s", body)
	}
	resources, err := discovery.ServerResourcesForGroupVersion("fruit.example/v1")
	if err != nil || len(resources.APIResources) != 2 || resources.APIResources[0].Kind != "Fruit" {
		t.Errorf("got %v, %v", resources, err)
	}
}

// versionOf returns the first version of a group, or nil.
func versionOf(list *apidiscoveryv2.APIGroupDiscoveryList, group string) *apidiscoveryv2.APIVersionDiscovery {
	for _, item := range list.Items {
		if item.Name == group {
			return &item.Versions[0]
		}
	}
	return nil
}

func (c cluster) testOpenAPI(t *testing.T) {
	const model = "ConfigMap"
	waittest.Until(t, "the v3 document is there", func() bool {
		status, body := c.get(t, c.config, "/openapi/v3/apis/fruit.example/v1", nil)
		return status == http.StatusOK && strings.Contains(body, `"/apis/fruit.example/v1/namespaces/{namespace}/fruits/{name}"`) &&
			strings.Contains(body, model)
	})
	_, body := c.get(t, c.config, "/openapi/v3", nil)
	for _, path := range []string{"apis/fruit.example/v1", "apis/apps/v1", "apis/kudo.dev/v1beta1"} {
		if !strings.Contains(body, `"`+path+`"`) {
			t.Errorf("the list of v3 documents has no %s", path)
		}
	}
	// The server publishes the v2 document after the v3 document.
	for _, path := range []string{"/apis/fruit.example/v1/namespaces/{namespace}/fruits", "/apis/apps/v1/deployments"} {
		waittest.Until(t, "the v2 document has the path "+path, func() bool {
			_, body := c.get(t, c.config, "/openapi/v2", http.Header{"Accept": {"application/json"}})
			return strings.Contains(body, `"`+path+`"`)
		})
	}
}

func (c cluster) testRemoved(t *testing.T) {
	if err := c.services.Delete(t.Context(), "v1.fruit.example", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "nothing of the group is left", func() bool {
		object, _ := c.get(t, c.config, apple, nil)
		_, groups := c.get(t, c.config, "/apis", nil)
		_, merged := c.get(t, c.config, "/apis", http.Header{"Accept": {aggregatedDiscovery}})
		_, v2 := c.get(t, c.config, "/openapi/v2", http.Header{"Accept": {"application/json"}})
		_, v3 := c.get(t, c.config, "/openapi/v3", nil)
		return object == http.StatusNotFound && !strings.Contains(groups+merged+v2+v3, "fruit.example")
	})
}
