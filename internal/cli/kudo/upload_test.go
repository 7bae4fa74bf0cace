package kudo_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/operator/authorship"
	"holdfast.dev/holdfast/internal/waittest"
)

// testRefusedByServer checks that objects which were created for an Instance are deleted if
// the server refuses the Instance.
func testRefusedByServer(t *testing.T, c cluster) {
	c.fails(t, "Bad_Name", "install", tok(t, "0.1.0", first), "-p", "REALM=r", "--instance", "Bad_Name")
	if got := c.names(t, "operators") + c.names(t, "operatorversions"); got != "" {
		t.Errorf("left behind: %s", got)
	}
	c.must(t, "install", tok(t, "0.1.0", first), "-p", "REALM=r", "--instance", "tok")
	c.deny(t)
	size := 3
	waittest.Until(t, "updates are denied", func() bool {
		size++
		_, err := c.kudo(t.Context(), "update", "tok", "-p", fmt.Sprintf("SIZE=%d", size))
		return err != nil && strings.Contains(err.Error(), "not on Sundays")
	})
	c.fails(t, "not on Sundays", "upgrade", tok(t, "0.2.0", second), "-p", "BARE=b", "-p", "NEW=n", "-p", "LATER=l")
	if got := c.names(t, "operators") + " " + c.names(t, "operatorversions"); got != "tok tok-1.0-0.1.0" {
		t.Errorf("there are %s", got)
	}
}

// testKeepsObjectsOfOthers checks that a refused install does not delete an object that
// another client has deleted and created again in between.
func testKeepsObjectsOfOthers(t *testing.T, c cluster) {
	replace := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(out http.ResponseWriter, request *http.Request) {
			if request.Method != http.MethodPost || !strings.HasSuffix(request.URL.Path, "/instances") {
				next.ServeHTTP(out, request)
				return
			}
			versions := c.resource("operatorversions")
			mine, err := versions.Get(t.Context(), "tok-1.0-0.1.0", metav1.GetOptions{})
			if err == nil {
				err = versions.Delete(t.Context(), mine.GetName(), metav1.DeleteOptions{})
			}
			if err == nil {
				mine.SetUID("")
				mine.SetResourceVersion("")
				_, err = versions.Create(t.Context(), mine, metav1.CreateOptions{})
			}
			if err != nil {
				t.Error(err)
			}
			http.Error(out, "not today", http.StatusForbidden)
		})
	}
	c.behind(t, c.server.Config(t), replace).fails(t, "create instance tok: ", "install", tok(t, "0.1.0", first), "-p", "REALM=r", "--instance", "tok")
	if got := c.names(t, "operators") + " " + c.names(t, "operatorversions"); got != " tok-1.0-0.1.0" {
		t.Errorf("there are %s", got)
	}
}

// testResponseLost checks that the objects stay if the server has stored the Instance but the
// response was lost.
func testResponseLost(t *testing.T, c cluster) {
	lose := func(method string) func(http.Handler) http.Handler {
		return func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(out http.ResponseWriter, request *http.Request) {
				if request.Method != method || !strings.Contains(request.URL.Path, "/instances") {
					next.ServeHTTP(out, request)
					return
				}
				response := httptest.NewRecorder()
				next.ServeHTTP(response, request)
				if response.Code < http.StatusBadRequest {
					panic(http.ErrAbortHandler)
				}
				// A conflict with the controller; the command retries.
				maps.Copy(out.Header(), response.Header())
				out.WriteHeader(response.Code)
				_, _ = response.Body.WriteTo(out)
			})
		}
	}
	c.behind(t, c.server.Config(t), lose(http.MethodPost)).
		fails(t, "instance tok was written all the same, with operator version tok-1.0-0.1.0",
			"install", tok(t, "0.1.0", first), "-p", "REALM=r", "--instance", "tok")
	c.awaitPlans(t)
	c.behind(t, c.server.Config(t), lose(http.MethodPut)).
		fails(t, "instance tok was written all the same, with operator version tok-1.0-0.2.0",
			"upgrade", tok(t, "0.2.0", second), "-p", "BARE=b", "-p", "NEW=n", "-p", "LATER=l")
	if got := c.names(t, "operatorversions"); got != "tok-1.0-0.1.0 tok-1.0-0.2.0" {
		t.Errorf("there are %s", got)
	}
}

// testRequestLost checks that the objects are deleted if the request for the Instance did not
// reach the server.
func testRequestLost(t *testing.T, c cluster) {
	lose := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(out http.ResponseWriter, request *http.Request) {
			if request.Method == http.MethodPost && strings.HasSuffix(request.URL.Path, "/instances") {
				panic(http.ErrAbortHandler)
			}
			next.ServeHTTP(out, request)
		})
	}
	c.behind(t, c.server.Config(t), lose).fails(t, "create instance tok: ", "install", tok(t, "0.1.0", first), "-p", "REALM=r", "--instance", "tok")
	if got := c.names(t, "operators") + c.names(t, "operatorversions"); got != "" {
		t.Errorf("left behind: %s", got)
	}
}

// testEditorInstalls checks that a user with the role edit, which does not allow writing
// OperatorVersions, can install one that exists. For any other the install fails, and nothing
// stays on the server.
func testEditorInstalls(t *testing.T, c cluster) {
	c.bindEdit(t, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "eve"})
	eve := c.behind(t, c.server.As(t, "eve"), nil)
	waittest.Until(t, "eve may read", func() error {
		_, err := eve.kudo(t.Context(), "get")
		return err
	})
	eve.fails(t, `User "eve" cannot create resource "operators"`, "install", tok(t, "0.1.0", first), "-p", "REALM=r", "--instance", "tok")
	c.must(t, "install", tok(t, "0.1.0", first), "-p", "REALM=r", "--instance", "tok", "--wait")
	eve.must(t, "install", tok(t, "0.1.0", first), "-p", "REALM=r", "--instance", "hers", "--wait")
	names, _, err := authorship.NamesOn(c.instance(t, "hers"))
	if err != nil || names.Requester != "eve" || !slices.Equal(names.Authors["REALM"], []string{"eve"}) {
		t.Errorf("requested by %v, %v", names, err)
	}
	eve.fails(t, `User "eve" cannot create resource "operatorversions"`,
		"upgrade", tok(t, "0.2.0", second), "--instance", "hers", "-p", "BARE=b", "-p", "NEW=n", "-p", "LATER=l")
	if got := c.names(t, "operators") + " " + c.names(t, "operatorversions"); got != "tok tok-1.0-0.1.0" {
		t.Errorf("there are %s", got)
	}
}

// updatesOfInstances is the rule of admission policies for updates of Instances.
var updatesOfInstances = []admissionregistrationv1.NamedRuleWithOperations{{
	RuleWithOperations: admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{"kudo.dev"}, APIVersions: []string{"*"}, Resources: []string{"instances"},
		},
	},
}}

// deny creates a policy that refuses every change of version and parameters of an Instance.
func (c cluster) deny(t *testing.T) {
	t.Helper()
	policies := c.AdmissionregistrationV1()
	_, err := policies.ValidatingAdmissionPolicies().Create(t.Context(), &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "sunday"},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": c.Namespace}},
				ResourceRules:     updatesOfInstances,
			},
			Validations: []admissionregistrationv1.Validation{{
				Expression: "object.spec.operatorVersion == oldObject.spec.operatorVersion && object.spec.parameters == oldObject.spec.parameters",
				Message:    "not on Sundays",
			}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = policies.ValidatingAdmissionPolicyBindings().Create(t.Context(), &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "sunday"},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: "sunday", ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}
