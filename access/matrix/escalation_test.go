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
	rbacPath      = "/apis/rbac.authorization.k8s.io/v1"
	csrPath       = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
)

// newCSR returns a CertificateSigningRequest, in YAML, for a user name and groups, and
// the key of the request.
func newCSR(t *testing.T, signer, name string, groups ...string) (csr string, key *ecdsa.PrivateKey) {
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
	return "{metadata: {generateName: csr-}, spec: {signerName: " + signer + ", request: " + text +
		", usages: [client auth, digital signature]}}", key
}

// TestEscalation sends requests by which users try to get more permissions than they
// have. The server must refuse all of them but one, which it must correct.
func TestEscalation(t *testing.T) {
	t.Parallel()
	s := newSetup(t, apiserver.Config{})
	// The role writer may write all roles and bindings, but has few other permissions.
	s.root.must(t, http.MethodPost, rbacPath+"/clusterroles", toJSON(t, `
metadata: {name: role-writer}
rules:
- apiGroups: [rbac.authorization.k8s.io]
  resources: [clusterroles, clusterrolebindings, roles, rolebindings]
  verbs: [get, list, create, update, patch, delete] # not "*", which includes bind and escalate
- apiGroups: [certificates.k8s.io]
  resources: [certificatesigningrequests, certificatesigningrequests/approval, certificatesigningrequests/status]
  verbs: [get, create, update, patch]`))
	s.root.must(t, http.MethodPost, rbacPath+"/clusterrolebindings",
		toJSON(t, binding("role-writer", "ClusterRole", "role-writer", "{kind: User, name: kim}")))
	s.users["role-writer"] = newCertificateUser(t, s.server, "role-writer", "kim")
	servertest.Eventually(t, "the role writer has its role", func() bool {
		return s.users["role-writer"].send(t, http.MethodGet, rbacPath+"/clusterroles/role-writer", "").status == http.StatusOK
	})
	servertest.Eventually(t, "the admin has its role", func() bool {
		return s.users["admin"].send(t, http.MethodGet, expand("@rbac.authorization.k8s.io/roles"), "").status == http.StatusOK
	})
	servertest.Eventually(t, "the editor has its role", func() bool {
		return s.users["edit"].send(t, http.MethodGet, expand("$/secrets"), "").status == http.StatusOK
	})
	servertest.Eventually(t, "the authorizer knows the pod of the node", func() bool {
		return s.users["node"].send(t, http.MethodGet, expand("$/pods/mine"), "").status == http.StatusOK
	})
	const rolebindings = "@rbac.authorization.k8s.io/rolebindings"
	const tokenOfDefault = "$/serviceaccounts/default/token"
	const nodeLeases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
	const approve = "{status: {conditions: [{type: Approved, status: 'True', reason: Me}]}}"
	ownedByShop := "{metadata: {ownerReferences: [{apiVersion: v1, kind: Namespace, name: shop, uid: '" + s.uids["shop"] + "'}]}}"
	pending := s.pendingRequest(t)
	masters, _ := newCSR(t, clientSigner, "eve", "system:masters")
	mastersNode, _ := newCSR(t, kubeletSigner, "system:node:n1", "system:nodes", "system:masters")
	asNode, _ := newCSR(t, clientSigner, "system:node:n1", "system:nodes")
	otherNode, _ := newCSR(t, kubeletSigner, "system:node:n2", "system:nodes")
	own, _ := newCSR(t, kubeletSigner, "system:node:n1", "system:nodes")
	person, _ := newCSR(t, clientSigner, "eve")
	const notHeld = "is attempting to grant RBAC permissions not currently held"
	bound := func(name, uid string) string {
		return "{spec: {boundObjectRef: {apiVersion: v1, kind: Pod, name: " + name + ", uid: " + uid + "}}}"
	}

	for name, test := range map[string]struct {
		user, method, path, body string
		want                     string
	}{
		// Roles.
		"admin binds cluster-admin in a namespace": {
			"admin", "POST", rolebindings,
			binding("b", "ClusterRole", "cluster-admin", "{kind: User, name: adam}"), notHeld,
		},
		"role writer binds cluster-admin": {
			"role-writer", "POST", rbacPath + "/clusterrolebindings",
			binding("b", "ClusterRole", "cluster-admin", "{kind: User, name: kim}"), notHeld,
		},
		"role writer binds a missing role": {
			"role-writer", "POST", rbacPath + "/clusterrolebindings",
			binding("b", "ClusterRole", "later", "{kind: User, name: kim}"), `not found`,
		},
		"role writer adds a subject to a binding": {
			"role-writer", "PATCH", rbacPath + "/clusterrolebindings/cluster-admin",
			"{subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: kim}]}", notHeld,
		},
		"admin adds rules to a role": {
			"admin", "PATCH", "@rbac.authorization.k8s.io/roles/reader",
			"{rules: [{apiGroups: ['*'], resources: ['*'], verbs: ['*']}]}", notHeld,
		},
		"role writer adds rules to its own role": {
			"role-writer", "PATCH", rbacPath + "/clusterroles/role-writer",
			"{rules: [{apiGroups: ['*'], resources: ['*'], verbs: ['*']}]}", notHeld,
		},
		"admin creates a role with more rules": {
			"admin", "POST", "@rbac.authorization.k8s.io/roles",
			"{metadata: {name: r}, rules: [{apiGroups: [''], resources: [resourcequotas], verbs: [create]}]}", notHeld,
		},
		"role writer creates a role with the verb escalate": {
			"role-writer", "POST", rbacPath + "/clusterroles",
			"{metadata: {name: r}, rules: [{apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles], " +
				"verbs: [escalate]}]}",
			notHeld,
		},
		"role writer creates an aggregating role": {
			"role-writer", "POST", rbacPath + "/clusterroles",
			"{metadata: {name: r}, aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}}", "is forbidden",
		},
		"role writer aggregates rules to view": {
			"role-writer", "POST", rbacPath + "/clusterroles",
			"{metadata: {name: r, labels: {rbac.authorization.k8s.io/aggregate-to-view: 'true'}}, " +
				"rules: [{apiGroups: [''], resources: [secrets], verbs: [get]}]}",
			notHeld,
		},
		"editor creates a binding": {
			"edit", "POST", rolebindings,
			binding("b", "ClusterRole", "admin", "{kind: User, name: ed}"), "cannot create resource",
		},
		"admin creates a binding in another namespace": {
			"admin", "POST", rbacPath + "/namespaces/office/rolebindings",
			binding("b", "ClusterRole", "view", "{kind: User, name: adam}"), "cannot create resource",
		},
		"admin creates a cluster-wide SubjectAccessReview": {
			"admin", "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews",
			"{spec: {user: ed, nonResourceAttributes: {verb: get, path: /}}}", "cannot create resource",
		},
		"viewer lists signing requests": {"view", "GET", csrPath, "", "cannot list resource"},

		// Tokens.
		"service account requests a token of another account": {
			"robot", "POST", tokenOfDefault,
			"{}", "cannot create resource",
		},
		"service account requests a token of its own": {
			"robot", "POST", "$/serviceaccounts/robot/token",
			"{}", "cannot create resource",
		},
		"viewer requests a token": {"view", "POST", "$/serviceaccounts/robot/token", "{}", "cannot create resource"},
		"editor requests a token in another namespace": {
			"edit", "POST", "/api/v1/namespaces/office/serviceaccounts/default/token",
			"{}", "cannot create resource",
		},
		"node requests a token of an account without a pod": {
			"node", "POST", "$/serviceaccounts/idle/token",
			bound("mine", s.uids["mine"]), "no relationship found",
		},
		"node requests a token bound to another node's pod": {
			"node", "POST", tokenOfDefault,
			bound("theirs", s.uids["theirs"]), "bound to a pod scheduled on a different node",
		},
		"node requests a token that is not bound": {
			"node", "POST", tokenOfDefault,
			"{}", "not bound to a pod",
		},
		"node requests a token bound to a pod without UID": {
			"node", "POST", tokenOfDefault,
			"{spec: {boundObjectRef: {apiVersion: v1, kind: Pod, name: mine}}}", "without a uid",
		},
		"node requests a token bound to a pod with another UID": {
			"node", "POST", tokenOfDefault,
			bound("mine", s.uids["theirs"]), "pod that does not exist",
		},
		"node requests a token for an audience of no volume": {
			"node", "POST", tokenOfDefault,
			strings.Replace(bound("mine", s.uids["mine"]), "{spec: {", "{spec: {audiences: [vault], ", 1),
			`audience "vault" not found in pod spec volume`,
		},

		// Nodes.
		"node gets another node's secret": {"node", "GET", "$/secrets/foreign", "", "no relationship found"},
		"node watches another node's secret": {
			"node", "GET", "$/secrets?watch=true&fieldSelector=metadata.name%3Dforeign",
			"", "no relationship found",
		},
		"node lists all secrets": {"node", "GET", "/api/v1/secrets", "", "by name or with the field selector"},
		"node lists the secrets that another node uses": {
			"node", "GET", "/api/v1/secrets?fieldSelector=holdfast.dev/used-by-node%3Dn2",
			"", "by name or with the field selector",
		},
		"node changes a secret": {"node", "PATCH", "$/secrets/password", "{metadata: {labels: {a: b}}}", "only reads"},
		"node changes the status of another node's pod": {
			"node", "PATCH", "$/pods/theirs/status",
			"{status: {phase: Failed}}", "no relationship found",
		},
		"node deletes another node's pod": {"node", "DELETE", "$/pods/theirs", "", "no relationship found"},
		"node creates a pod": {
			"node", "POST", "$/pods",
			pod("new", "n1", "foreign"), "can only create mirror pods",
		},
		"node changes its pod": {
			"node", "PATCH", "$/pods/mine",
			"{metadata: {labels: {a: b}}}", "a node only reads, creates and deletes pods",
		},
		"node binds a pod to itself": {
			"node", "POST", "$/pods/theirs/binding",
			"{target: {name: n1}}", "a node has no access to pods/binding",
		},
		"node adds a label with the status of a pod": {
			"node", "PATCH", "$/pods/mine/status",
			"{metadata: {labels: {a: b}}}", "may not change the metadata of a pod",
		},
		"node adds an annotation with the status of a pod": {
			"node", "PATCH", "$/pods/mine/status",
			"{metadata: {annotations: {a: b}}}", "may not change the metadata of a pod",
		},
		"node adds a finalizer with the status of a pod": {
			"node", "PATCH", "$/pods/mine/status",
			"{metadata: {finalizers: [a.example/b]}}", "may not change the metadata of a pod",
		},
		"node adds an owner with the status of a pod": {
			"node", "PATCH", "$/pods/mine/status",
			"{metadata: {ownerReferences: [{apiVersion: v1, kind: Node, name: n1, uid: '" + s.uids["n1"] + "'}]}}",
			"may not change the metadata of a pod",
		},
		"node adds a protected label to its Node": {
			"node", "PATCH", "/api/v1/nodes/n1",
			"{metadata: {labels: {node-restriction.kubernetes.io/zone: a}}}",
			"is not allowed to modify labels: node-restriction.kubernetes.io/zone",
		},
		"node adds a protected label with the status of its Node": {
			"node", "PATCH", "/api/v1/nodes/n1/status",
			"{metadata: {labels: {node-restriction.kubernetes.io/zone: a}}}",
			"is not allowed to modify labels: node-restriction.kubernetes.io/zone",
		},
		"node adds a role label to its Node": {
			"node", "PATCH", "/api/v1/nodes/n1",
			"{metadata: {labels: {node-role.kubernetes.io/control-plane: ''}}}", "is not allowed to modify labels",
		},
		"node adds a taint to its Node": {
			"node", "PATCH", "/api/v1/nodes/n1",
			"{spec: {taints: [{key: a, effect: NoSchedule}]}}", "is not allowed to modify taints",
		},
		"node adds an owner to its Node": {
			"node", "PATCH", "/api/v1/nodes/n1",
			ownedByShop,
			"is not allowed to modify owner references",
		},
		"node changes another Node": {
			"node", "PATCH", "/api/v1/nodes/n2",
			"{metadata: {labels: {a: b}}}", "cannot read or write other nodes",
		},
		"node creates another Node": {
			"node", "POST", "/api/v1/nodes",
			"{metadata: {name: n3}}", `is not allowed to modify node "n3"`,
		},
		"node changes another node's lease": {
			"node", "PATCH", nodeLeases + "/n2",
			"{spec: {holderIdentity: n1}}", "leases of other nodes",
		},
		"node gets the lease of the controllers": {
			"node", "GET", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/holdfast-controllers",
			"", "a node has a lease in namespace kube-node-lease only",
		},
		"node adds an owner to its lease": {
			"node", "PATCH", nodeLeases + "/n1",
			ownedByShop,
			"is not allowed to modify owner references",
		},
		"node gets a service account": {
			"node", "GET", "$/serviceaccounts/robot",
			"", "no relationship found between node 'n1' and this object",
		},
		"node gets a custom resource": {"node", "GET", "@example.com/widgets/w", "", "a node has no access to widgets"},
		"node lists claims with its field selector": {
			"node", "GET", "/api/v1/persistentvolumeclaims?fieldSelector=spec.nodeName%3Dn1",
			"", "a node may not list persistentvolumeclaims",
		},
		"node lists pods with a negated field selector": {
			"node", "GET", "/api/v1/pods?fieldSelector=spec.nodeName!%3Dn2",
			"", "with the field selector spec.nodeName=n1",
		},

		// Certificates.
		"root requests a certificate for system:masters": {
			"root", "POST", csrPath,
			masters, "with system:masters group is not allowed",
		},
		"role writer requests a certificate for system:masters": {
			"role-writer", "POST", csrPath,
			masters, "with system:masters group is not allowed",
		},
		"node requests a certificate for system:masters": {
			"node", "POST", csrPath,
			mastersNode, "with system:masters group is not allowed",
		},
		"role writer requests a node certificate from the wrong signer": {
			"role-writer", "POST", csrPath,
			asNode, "with system:nodes group is not allowed",
		},
		"node requests another node's certificate": {
			"node", "POST", csrPath,
			otherNode, "may only ask for a certificate of its own name",
		},
		"node requests a user certificate": {
			"node", "POST", csrPath,
			person, "may only ask the signers kubernetes.io/kube-apiserver-client-kubelet",
		},
		"user without a role requests a certificate": {"norole", "POST", csrPath, own, "cannot create resource"},
		"role writer approves a request": {
			"role-writer", "PATCH", csrPath + "/" + pending + "/approval",
			approve, "user not permitted to approve requests",
		},
		"role writer signs a request": {
			"role-writer", "PATCH", csrPath + "/" + pending + "/status",
			"{status: {certificate: " + base64.StdEncoding.EncodeToString(selfSigned(t)) + "}}",
			"user not permitted to sign requests",
		},
		"node approves a request": {
			"node", "PATCH", csrPath + "/" + pending + "/approval",
			approve,
			"a node has no access to certificatesigningrequests/approval",
		},
		"role writer sets another requester": {
			"role-writer", "POST", csrPath + "?dryRun=All",
			strings.Replace(own, "spec: {", "spec: {username: 'system:node:n1', groups: ['system:nodes'], ", 1), "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			body := ""
			if test.body != "" {
				body = toJSON(t, test.body)
			}
			got := s.users[test.user].send(t, test.method, expand(test.path), body)
			if test.want == "" {
				// The server accepts the request and corrects the requester.
				if got.status >= http.StatusBadRequest || !strings.Contains(got.body, `"username":"kim"`) ||
					strings.Contains(got.body, "system:nodes") {
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

// pendingRequest creates a CertificateSigningRequest, which stays undecided, and returns
// its name.
func (s *setup) pendingRequest(t *testing.T) string {
	t.Helper()
	text, _ := newCSR(t, clientSigner, "pat")
	s.root.must(t, http.MethodPost, csrPath, toJSON(t, strings.Replace(text, "generateName: csr-", "name: pending", 1)))
	return "pending"
}

// selfSigned returns a self-signed certificate.
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
