package matrix_test

import (
	"encoding/base64"
	"strings"
	"testing"
)

// tokenEscalations are attempts to get a token of another service account.
func tokenEscalations(s *setup) map[string]escalation {
	const tokenOfDefault = "$/serviceaccounts/default/token"
	bound := func(name, uid string) string {
		return "{spec: {boundObjectRef: {apiVersion: v1, kind: Pod, name: " + name + ", uid: " + uid + "}}}"
	}
	return map[string]escalation{
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
	}
}

// certificateEscalations are attempts to get a certificate of another user.
func certificateEscalations(t *testing.T, s *setup) map[string]escalation {
	t.Helper()
	const approve = "{status: {conditions: [{type: Approved, status: 'True', reason: Me}]}}"
	pending := s.pendingRequest(t)
	masters, _ := newCSR(t, clientSigner, "eve", "system:masters")
	mastersNode, _ := newCSR(t, kubeletSigner, "system:node:n1", "system:nodes", "system:masters")
	asNode, _ := newCSR(t, clientSigner, "system:node:n1", "system:nodes")
	otherNode, _ := newCSR(t, kubeletSigner, "system:node:n2", "system:nodes")
	own, _ := newCSR(t, kubeletSigner, "system:node:n1", "system:nodes")
	person, _ := newCSR(t, clientSigner, "eve")
	return map[string]escalation{
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
	}
}
