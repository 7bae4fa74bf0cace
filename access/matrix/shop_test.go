package matrix_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/apiserver"
	"holdfast.dev/holdfast/apiserver/servertest"
)

// shop is a server with a namespace of that name in which things are, and users
// of every kind: the pod mine runs on node n1, theirs on n2.
type shop struct {
	server *servertest.Server
	root   *user
	users  map[string]*user
	// uids are those of the first object of each name.
	uids map[string]string
}

// objects are created in this order, a path each.
var objects = []struct{ path, object string }{
	{"/api/v1/namespaces", "metadata: {name: shop}"},
	{"/api/v1/namespaces", "metadata: {name: office}"},
	{"/apis/apiextensions.k8s.io/v1/customresourcedefinitions", `
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {
      spec: {type: object, properties: {replicas: {type: integer}, color: {type: string}}},
      status: {type: object, properties: {replicas: {type: integer}}}}}}
    subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}`},
	{"/apis/rbac.authorization.k8s.io/v1/clusterroles", `
metadata: {name: widgets-view, labels: {rbac.authorization.k8s.io/aggregate-to-view: "true"}}
rules: [{apiGroups: [example.com], resources: [widgets, widgets/scale], verbs: [get, list, watch]}]`},
	{"/apis/rbac.authorization.k8s.io/v1/clusterroles", `
metadata: {name: widgets-edit, labels: {rbac.authorization.k8s.io/aggregate-to-edit: "true"}}
rules: [{apiGroups: [example.com], resources: [widgets, widgets/scale], verbs: [create, update, patch, delete, deletecollection]}]`},
	{"/api/v1/namespaces/shop/serviceaccounts", "metadata: {name: robot}"},
	{"/api/v1/namespaces/shop/serviceaccounts", "metadata: {name: idle}"},
	{"/apis/rbac.authorization.k8s.io/v1/namespaces/shop/roles", `
metadata: {name: looks}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get, list, watch]}]`},
	{"/apis/rbac.authorization.k8s.io/v1/namespaces/shop/rolebindings", binding("looks", "Role", "looks", "{kind: ServiceAccount, namespace: shop, name: robot}")},
	{"/apis/rbac.authorization.k8s.io/v1/namespaces/shop/rolebindings", binding("view", "ClusterRole", "view", "{kind: User, name: vera}")},
	{"/apis/rbac.authorization.k8s.io/v1/namespaces/shop/rolebindings", binding("edit", "ClusterRole", "edit", "{kind: Group, name: editors}")},
	{"/apis/rbac.authorization.k8s.io/v1/namespaces/shop/rolebindings", binding("admin", "ClusterRole", "admin", "{kind: User, name: adam}")},
	{"/api/v1/nodes", "metadata: {name: n1}"},
	{"/api/v1/nodes", "metadata: {name: n2}"},
	{"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases", "metadata: {name: n1}"},
	{"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases", "metadata: {name: n2}"},
	{"/api/v1/namespaces/shop/configmaps", "{metadata: {name: settings}, data: {a: b}}"},
	{"/api/v1/namespaces/shop/configmaps", "{metadata: {name: unused}, data: {a: b}}"},
	{"/api/v1/namespaces/shop/secrets", "{metadata: {name: password}, stringData: {a: b}}"},
	{"/api/v1/namespaces/shop/secrets", "{metadata: {name: foreign}, stringData: {a: b}}"},
	{"/api/v1/namespaces/shop/pods", pod("mine", "n1", "password")},
	{"/api/v1/namespaces/shop/pods", pod("theirs", "n2", "foreign")},
	{"/apis/apps/v1/namespaces/shop/deployments", `
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}`},
}

func binding(name, kind, role, subject string) string {
	return "{metadata: {name: " + name + "}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: " + kind + ", name: " + role + "}, subjects: [" + subject + "]}"
}

func pod(name, node, secret string) string {
	return "{metadata: {name: " + name + "}, spec: {nodeName: " + node + ", containers: [{name: c, image: i}], volumes: [" +
		"{name: s, secret: {secretName: " + secret + "}}, {name: c, configMap: {name: settings}}]}}"
}

// toJSON is an object that is written as YAML.
func toJSON(t *testing.T, text string) string {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func newShop(t *testing.T, config apiserver.Config) *shop {
	t.Helper()
	server := servertest.Start(t, config)
	s := &shop{server: server, root: newUser(t, "root", server.Config(t)), uids: map[string]string{}}
	for _, o := range objects {
		if strings.HasSuffix(o.path, "/shop/pods") {
			// Pods wait for the account that they run as.
			servertest.Eventually(t, "the default service account", func() bool {
				return s.root.ask(t, http.MethodGet, "/api/v1/namespaces/shop/serviceaccounts/default", "").status == http.StatusOK
			})
		}
		var created metav1.PartialObjectMetadata
		if err := json.Unmarshal([]byte(s.root.must(t, http.MethodPost, o.path, toJSON(t, o.object))), &created); err != nil {
			t.Fatal(err)
		}
		if s.uids[created.Name] == "" {
			s.uids[created.Name] = string(created.UID)
		}
	}
	servertest.Eventually(t, "the custom kind is served", func() bool {
		got := s.root.ask(t, http.MethodPost, "/apis/example.com/v1/namespaces/shop/widgets",
			`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"replicas":1}}`)
		return got.status == http.StatusCreated || got.status == http.StatusConflict
	})
	s.users = map[string]*user{
		"root":      s.root,
		"anonymous": anonymous(t, server),
		"nobody":    certified(t, server, "nobody", "nick"),
		"view":      certified(t, server, "view", "vera"),
		"edit":      certified(t, server, "edit", "ed", "--group", "editors"),
		"admin":     certified(t, server, "admin", "adam"),
		"node":      certified(t, server, "node", "--node", "n1"),
		"robot":     bearer(t, server, "robot", tokenOf(t, server.Client(t), "shop", "robot", authenticationv1.TokenRequestSpec{})),
	}
	return s
}
