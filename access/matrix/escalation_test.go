package matrix_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"net/http"
	"strings"
	"testing"

	"holdfast.dev/holdfast/apiserver"
	"holdfast.dev/holdfast/apiserver/servertest"
)

const (
	clientSigner  = "kubernetes.io/kube-apiserver-client"
	kubeletSigner = "kubernetes.io/kube-apiserver-client-kubelet"
	roles         = "/apis/rbac.authorization.k8s.io/v1"
	requests      = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
)

// request is a CertificateSigningRequest for a name and groups, with its key.
func request(t *testing.T, signer, name string, groups ...string) (csr string, key *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: name, Organization: groups},
	}, key)
	if err != nil {
		t.Fatal(err)
	}
	text := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))
	return "{metadata: {generateName: csr-}, spec: {signerName: " + signer + ", request: " + text + ", usages: [client auth, digital signature]}}", key
}

// Everybody tries to get more than they have.
func TestEscalation(t *testing.T) {
	s := newShop(t, apiserver.Config{})
	// A user who writes roles and bindings everywhere, and holds little else.
	s.root.must(t, http.MethodPost, roles+"/clusterroles", toJSON(t, `
metadata: {name: keeper}
rules:
- {apiGroups: [rbac.authorization.k8s.io], resources: ["*"], verbs: ["*"]}
- {apiGroups: [certificates.k8s.io], resources: [certificatesigningrequests], verbs: ["*"]}`))
	// The verbs that lift the checks are in "*"; so they are named.
	s.root.must(t, http.MethodPatch, roles+"/clusterroles/keeper", toJSON(t, `
rules:
- {apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles, clusterrolebindings, roles, rolebindings], verbs: [get, list, create, update, patch, delete]}
- {apiGroups: [certificates.k8s.io], resources: [certificatesigningrequests, certificatesigningrequests/approval, certificatesigningrequests/status], verbs: [get, create, update, patch]}`))
	s.root.must(t, http.MethodPost, roles+"/clusterrolebindings", toJSON(t, binding("keeper", "ClusterRole", "keeper", "{kind: User, name: kim}")))
	s.users["keeper"] = certified(t, s.server, "keeper", "kim")
	servertest.Eventually(t, "the keeper keeps", func() bool {
		return s.users["keeper"].ask(t, http.MethodGet, roles+"/clusterroles/keeper", "").status == http.StatusOK
	})
	servertest.Eventually(t, "the administrator of the shop administers", func() bool {
		return s.users["admin"].ask(t, http.MethodGet, expand("@rbac.authorization.k8s.io/roles"), "").status == http.StatusOK
	})
	servertest.Eventually(t, "the editor edits", func() bool {
		return s.users["edit"].ask(t, http.MethodGet, expand("$/secrets"), "").status == http.StatusOK
	})
	servertest.Eventually(t, "the node has its pod", func() bool {
		return s.users["node"].ask(t, http.MethodGet, expand("$/pods/mine"), "").status == http.StatusOK
	})
	pending := s.pendingRequest(t)
	masters, _ := request(t, clientSigner, "eve", "system:masters")
	mastersNode, _ := request(t, kubeletSigner, "system:node:n1", "system:nodes", "system:masters")
	asNode, _ := request(t, clientSigner, "system:node:n1", "system:nodes")
	otherNode, _ := request(t, kubeletSigner, "system:node:n2", "system:nodes")
	own, _ := request(t, kubeletSigner, "system:node:n1", "system:nodes")
	person, _ := request(t, clientSigner, "eve")
	const granting = "is attempting to grant RBAC permissions not currently held"
	bound := func(name, uid string) string {
		return "{spec: {boundObjectRef: {apiVersion: v1, kind: Pod, name: " + name + ", uid: " + uid + "}}}"
	}

	for name, test := range map[string]struct {
		user, method, path, body string
		want                     string
	}{
		// Roles.
		"bind a role one does not have":          {"admin", "POST", "@rbac.authorization.k8s.io/rolebindings", binding("b", "ClusterRole", "cluster-admin", "{kind: User, name: adam}"), granting},
		"bind it to everything":                  {"keeper", "POST", roles + "/clusterrolebindings", binding("b", "ClusterRole", "cluster-admin", "{kind: User, name: kim}"), granting},
		"bind a role that is not there yet":      {"keeper", "POST", roles + "/clusterrolebindings", binding("b", "ClusterRole", "later", "{kind: User, name: kim}"), `not found`},
		"widen who has a role":                   {"keeper", "PATCH", roles + "/clusterrolebindings/cluster-admin", "{subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: kim}]}", granting},
		"edit a role upward":                     {"admin", "PATCH", "@rbac.authorization.k8s.io/roles/looks", "{rules: [{apiGroups: ['*'], resources: ['*'], verbs: ['*']}]}", granting},
		"edit one's own role upward":             {"keeper", "PATCH", roles + "/clusterroles/keeper", "{rules: [{apiGroups: ['*'], resources: ['*'], verbs: ['*']}]}", granting},
		"a new role with more":                   {"admin", "POST", "@rbac.authorization.k8s.io/roles", "{metadata: {name: r}, rules: [{apiGroups: [''], resources: [resourcequotas], verbs: [create]}]}", granting},
		"a new role with the verb escalate":      {"keeper", "POST", roles + "/clusterroles", "{metadata: {name: r}, rules: [{apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles], verbs: [escalate]}]}", granting},
		"a role that collects all others":        {"keeper", "POST", roles + "/clusterroles", "{metadata: {name: r}, aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}}", "is forbidden"},
		"more for everybody who may view":        {"keeper", "POST", roles + "/clusterroles", "{metadata: {name: r, labels: {rbac.authorization.k8s.io/aggregate-to-view: 'true'}}, rules: [{apiGroups: [''], resources: [secrets], verbs: [get]}]}", granting},
		"an editor binds":                        {"edit", "POST", "@rbac.authorization.k8s.io/rolebindings", binding("b", "ClusterRole", "admin", "{kind: User, name: ed}"), "cannot create resource"},
		"bind outside of one's namespace":        {"admin", "POST", roles + "/namespaces/office/rolebindings", binding("b", "ClusterRole", "view", "{kind: User, name: adam}"), "cannot create resource"},
		"ask what another may do, cluster-wide":  {"admin", "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", "{spec: {user: ed, nonResourceAttributes: {verb: get, path: /}}}", "cannot create resource"},
		"open the server's certificates to view": {"view", "GET", requests, "", "cannot list resource"},

		// Tokens.
		"a token of another account":              {"robot", "POST", "$/serviceaccounts/default/token", "{}", "cannot create resource"},
		"a token of one's own account":            {"robot", "POST", "$/serviceaccounts/robot/token", "{}", "cannot create resource"},
		"a viewer's token":                        {"view", "POST", "$/serviceaccounts/robot/token", "{}", "cannot create resource"},
		"a token from another namespace":          {"edit", "POST", "/api/v1/namespaces/office/serviceaccounts/default/token", "{}", "cannot create resource"},
		"a node's for an account no pod has":      {"node", "POST", "$/serviceaccounts/idle/token", bound("mine", s.uids["mine"]), "no relationship found"},
		"a node's bound to a pod of another node": {"node", "POST", "$/serviceaccounts/default/token", bound("theirs", s.uids["theirs"]), "bound to a pod scheduled on a different node"},
		"a node's bound to nothing":               {"node", "POST", "$/serviceaccounts/default/token", "{}", "not bound to a pod"},
		"a node's bound to no UID":                {"node", "POST", "$/serviceaccounts/default/token", "{spec: {boundObjectRef: {apiVersion: v1, kind: Pod, name: mine}}}", "without a uid"},
		"a node's bound to another UID":           {"node", "POST", "$/serviceaccounts/default/token", bound("mine", s.uids["theirs"]), "pod that does not exist"},
		"a node's for an audience of its choice":  {"node", "POST", "$/serviceaccounts/default/token", strings.Replace(bound("mine", s.uids["mine"]), "{spec: {", "{spec: {audiences: [vault], ", 1), `audience "vault" not found in pod spec volume`},

		// Nodes and what is not theirs.
		"a secret of another node":             {"node", "GET", "$/secrets/foreign", "", "no relationship found"},
		"a secret of another node, watched":    {"node", "GET", "$/secrets?watch=true&fieldSelector=metadata.name%3Dforeign", "", "no relationship found"},
		"all secrets":                          {"node", "GET", "/api/v1/secrets", "", "by name or with the field selector"},
		"what another node uses":               {"node", "GET", "/api/v1/secrets?fieldSelector=holdfast.dev/used-by-node%3Dn2", "", "by name or with the field selector"},
		"a secret changed":                     {"node", "PATCH", "$/secrets/password", "{metadata: {labels: {a: b}}}", "only reads"},
		"the status of another's pod":          {"node", "PATCH", "$/pods/theirs/status", "{status: {phase: Failed}}", "no relationship found"},
		"the deletion of another's pod":        {"node", "DELETE", "$/pods/theirs", "", "no relationship found"},
		"a new pod":                            {"node", "POST", "$/pods", pod("new", "n1", "foreign"), "a node only reads and deletes pods"},
		"a pod of its own, changed":            {"node", "PATCH", "$/pods/mine", "{metadata: {labels: {a: b}}}", "a node only reads and deletes pods"},
		"a pod bound to itself":                {"node", "POST", "$/pods/theirs/binding", "{target: {name: n1}}", "a node has no access to pods/binding"},
		"a label by the status of a pod":       {"node", "PATCH", "$/pods/mine/status", "{metadata: {labels: {a: b}}}", "may not change the metadata of a pod"},
		"an annotation by the status":          {"node", "PATCH", "$/pods/mine/status", "{metadata: {annotations: {a: b}}}", "may not change the metadata of a pod"},
		"a finalizer by the status":            {"node", "PATCH", "$/pods/mine/status", "{metadata: {finalizers: [a.example/b]}}", "may not change the metadata of a pod"},
		"an owner by the status":               {"node", "PATCH", "$/pods/mine/status", "{metadata: {ownerReferences: [{apiVersion: v1, kind: Node, name: n1, uid: '" + s.uids["n1"] + "'}]}}", "may not change the metadata of a pod"},
		"a protected label of its node":        {"node", "PATCH", "/api/v1/nodes/n1", "{metadata: {labels: {node-restriction.kubernetes.io/zone: a}}}", "is not allowed to modify labels: node-restriction.kubernetes.io/zone"},
		"a protected label by the status":      {"node", "PATCH", "/api/v1/nodes/n1/status", "{metadata: {labels: {node-restriction.kubernetes.io/zone: a}}}", "is not allowed to modify labels: node-restriction.kubernetes.io/zone"},
		"a label of the role of its node":      {"node", "PATCH", "/api/v1/nodes/n1", "{metadata: {labels: {node-role.kubernetes.io/control-plane: ''}}}", "is not allowed to modify labels"},
		"a taint of its node":                  {"node", "PATCH", "/api/v1/nodes/n1", "{spec: {taints: [{key: a, effect: NoSchedule}]}}", "is not allowed to modify taints"},
		"an owner of its node":                 {"node", "PATCH", "/api/v1/nodes/n1", "{metadata: {ownerReferences: [{apiVersion: v1, kind: Namespace, name: shop, uid: '" + s.uids["shop"] + "'}]}}", "is not allowed to modify owner references"},
		"another node":                         {"node", "PATCH", "/api/v1/nodes/n2", "{metadata: {labels: {a: b}}}", "cannot read or write other nodes"},
		"a node of another name":               {"node", "POST", "/api/v1/nodes", "{metadata: {name: n3}}", `is not allowed to modify node "n3"`},
		"the lease of another node":            {"node", "PATCH", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n2", "{spec: {holderIdentity: n1}}", "leases of other nodes"},
		"the lease of the controllers":         {"node", "GET", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/holdfast-controllers", "", "a node has a lease in namespace kube-node-lease only"},
		"an owner of its lease":                {"node", "PATCH", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1", "{metadata: {ownerReferences: [{apiVersion: v1, kind: Namespace, name: shop, uid: '" + s.uids["shop"] + "'}]}}", "is not allowed to modify owner references"},
		"a service account":                    {"node", "GET", "$/serviceaccounts/default", "", "a node has no access to serviceaccounts"},
		"a custom resource":                    {"node", "GET", "@example.com/widgets/w", "", "a node has no access to widgets"},
		"the selector of its node on a kind":   {"node", "GET", "/api/v1/services?fieldSelector=spec.nodeName%3Dn1", "", "a node has no access to services"},
		"the node's selector beside all nodes": {"node", "GET", "/api/v1/pods?fieldSelector=spec.nodeName!%3Dn2", "", "with the field selector spec.nodeName=n1"},

		// Certificates.
		"a certificate of the administrators":         {"root", "POST", requests, masters, "with system:masters group is not allowed"},
		"one by who may ask and approve":              {"keeper", "POST", requests, masters, "with system:masters group is not allowed"},
		"one by a node":                               {"node", "POST", requests, mastersNode, "with system:masters group is not allowed"},
		"a node's by the signer of people":            {"keeper", "POST", requests, asNode, "with system:nodes group is not allowed"},
		"one of another node":                         {"node", "POST", requests, otherNode, "may only ask for a certificate of its own name"},
		"a person's by a node":                        {"node", "POST", requests, person, "may only ask the signer kubernetes.io/kube-apiserver-client-kubelet"},
		"one without the right to ask":                {"nobody", "POST", requests, own, "cannot create resource"},
		"approved without the right to approve":       {"keeper", "PATCH", requests + "/" + pending + "/approval", "{status: {conditions: [{type: Approved, status: 'True', reason: Me}]}}", "user not permitted to approve requests"},
		"signed without the right to sign":            {"keeper", "PATCH", requests + "/" + pending + "/status", "{status: {certificate: " + base64.StdEncoding.EncodeToString(selfSigned(t)) + "}}", "user not permitted to sign requests"},
		"approved by a node":                          {"node", "PATCH", requests + "/" + pending + "/approval", "{status: {conditions: [{type: Approved, status: 'True', reason: Me}]}}", "a node has no access to certificatesigningrequests/approval"},
		"a signing request in the name of who is not": {"keeper", "POST", requests + "?dryRun=All", strings.Replace(own, "spec: {", "spec: {username: 'system:node:n1', groups: ['system:nodes'], ", 1), ""},
	} {
		t.Run(name, func(t *testing.T) {
			body := ""
			if test.body != "" {
				body = toJSON(t, test.body)
			}
			got := s.users[test.user].ask(t, test.method, expand(test.path), body)
			if test.want == "" {
				// Accepted, and in the name of who asks.
				if got.status >= http.StatusBadRequest || !strings.Contains(got.body, `"username":"kim"`) || strings.Contains(got.body, "system:nodes") {
					t.Errorf("got %d %s", got.status, got.body)
				}
				return
			}
			wantStatus := http.StatusForbidden
			if test.want == "not found" {
				wantStatus = http.StatusNotFound
			}
			if got.status != wantStatus || !strings.Contains(strings.ReplaceAll(got.body, `\"`, `"`), test.want) {
				t.Errorf("got %d %s\nwant %d %s", got.status, got.body, wantStatus, test.want)
			}
		})
	}
}

// pendingRequest is the name of a person's request that nobody has decided.
func (s *shop) pendingRequest(t *testing.T) string {
	t.Helper()
	text, _ := request(t, clientSigner, "pat")
	s.root.must(t, http.MethodPost, requests, toJSON(t, strings.Replace(text, "generateName: csr-", "name: pending", 1)))
	return "pending"
}

// selfSigned is a certificate of nobody's authority.
func selfSigned(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{Subject: pkix.Name{CommonName: "eve"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// Nobody speaks for others but who may.
func TestImpersonation(t *testing.T) {
	s := newShop(t, apiserver.Config{})
	admin := map[string]string{"Impersonate-User": "holdfast-admin", "Impersonate-Group": "system:masters"}
	who := "/apis/authentication.k8s.io/v1/selfsubjectreviews"
	for _, name := range []string{"nobody", "view", "edit", "admin", "node", "robot"} {
		for what, headers := range map[string]map[string]string{
			"an administrator":                admin,
			"a node":                          {"Impersonate-User": "system:node:n2", "Impersonate-Group": "system:nodes"},
			"another person":                  {"Impersonate-User": "kim"},
			"an account of another namespace": {"Impersonate-User": "system:serviceaccount:kube-system:default"},
		} {
			if got := s.users[name].with(headers).ask(t, http.MethodPost, who, "{}"); got.status != http.StatusForbidden {
				t.Errorf("%s speaks for %s: %d %s", name, what, got.status, got.body)
			}
		}
	}
	if got := s.users["anonymous"].with(admin).ask(t, http.MethodPost, who, "{}"); got.status != http.StatusUnauthorized {
		t.Errorf("anonymous: %d %s", got.status, got.body)
	}
	// As in Kubernetes, who edits a namespace may speak for its accounts.
	servertest.Eventually(t, "an editor speaks for an account of the shop", func() bool {
		got := s.users["edit"].with(map[string]string{"Impersonate-User": "system:serviceaccount:shop:robot"}).ask(t, http.MethodPost, who, "{}")
		return got.status == http.StatusCreated && strings.Contains(got.body, `"username":"system:serviceaccount:shop:robot"`)
	})
}
