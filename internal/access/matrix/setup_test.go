package matrix_test

import (
	"net/http"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// setup is a server with the objects below and users of every kind. Most objects are in
// the namespace shop. The pod mine is bound to node n1, the pod theirs to n2.
type setup struct {
	server *servertest.Server
	root   *user
	users  map[string]*user
	// uids holds UIDs by object name. If several objects have the same name, it holds
	// the UID of the first one.
	uids map[string]string
}

// objects are created in this order. path is the path of the POST request.
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
rules:
- apiGroups: [example.com]
  resources: [widgets, widgets/scale]
  verbs: [create, update, patch, delete, deletecollection]`},
	{"/api/v1/namespaces/shop/serviceaccounts", "metadata: {name: robot}"},
	{"/api/v1/namespaces/shop/serviceaccounts", "metadata: {name: idle}"},
	{"/apis/rbac.authorization.k8s.io/v1/namespaces/shop/roles", `
metadata: {name: reader}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get, list, watch]}]`},
	{shopBindings, binding("reader", "Role", "reader", "{kind: ServiceAccount, namespace: shop, name: robot}")},
	{shopBindings, binding("view", "ClusterRole", "view", "{kind: User, name: vera}")},
	{shopBindings, binding("edit", "ClusterRole", "edit", "{kind: Group, name: editors}")},
	{shopBindings, binding("admin", "ClusterRole", "admin", "{kind: User, name: adam}")},
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

const shopBindings = "/apis/rbac.authorization.k8s.io/v1/namespaces/shop/rolebindings"

// binding returns a RoleBinding or ClusterRoleBinding in YAML.
func binding(name, kind, role, subject string) string {
	return "{metadata: {name: " + name + "}, subjects: [" + subject + "], " +
		"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: " + kind + ", name: " + role + "}}"
}

// pod returns a pod on the node, in YAML, that uses the secret and the ConfigMap
// settings.
func pod(name, node, secret string) string {
	return "{metadata: {name: " + name + "}, spec: {nodeName: " + node + ", containers: [{name: c, image: i}], volumes: [" +
		"{name: s, secret: {secretName: " + secret + "}}, {name: c, configMap: {name: settings}}]}}"
}

// toJSON converts YAML to JSON.
func toJSON(t *testing.T, text string) string {
	t.Helper()
	return string(yamltest.JSON(t, text))
}

// newSetup starts a server and creates the objects and users.
func newSetup(t *testing.T, config apiserver.Config) *setup {
	t.Helper()
	server := servertest.Start(t, config)
	s := &setup{server: server, root: newUser(t, "root", server.Config(t)), uids: map[string]string{}}
	for _, o := range objects {
		if strings.HasSuffix(o.path, "/shop/pods") {
			// A pod cannot be created before its service account.
			waittest.Until(t, "the default service account exists", func() bool {
				return s.root.send(t, http.MethodGet, "/api/v1/namespaces/shop/serviceaccounts/default", "").status == http.StatusOK
			})
		}
		created := *yamltest.Known[metav1.PartialObjectMetadata](t, s.root.must(t, http.MethodPost, o.path, toJSON(t, o.object)))
		if s.uids[created.Name] == "" {
			s.uids[created.Name] = string(created.UID)
		}
	}
	waittest.Until(t, "widgets can be created", func() bool {
		got := s.root.send(t, http.MethodPost, "/apis/example.com/v1/namespaces/shop/widgets",
			`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"replicas":1}}`)
		return got.status == http.StatusCreated || got.status == http.StatusConflict
	})
	robotToken := tokenOf(t, server.Client(t), "shop", "robot", authenticationv1.TokenRequestSpec{})
	s.users = map[string]*user{
		"root":      s.root,
		"anonymous": newAnonymousUser(t, server),
		"norole":    newCertificateUser(t, server, "norole", "nick"),
		"view":      newCertificateUser(t, server, "view", "vera"),
		"edit":      newCertificateUser(t, server, "edit", "ed", "--group", "editors"),
		"admin":     newCertificateUser(t, server, "admin", "adam"),
		"node":      newCertificateUser(t, server, "node", "--node", "n1"),
		"robot":     newTokenUser(t, server, "robot", robotToken),
	}
	return s
}
