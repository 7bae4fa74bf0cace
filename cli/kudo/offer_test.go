package kudo_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/apiserver/servertest"
	"holdfast.dev/holdfast/operator/api"
)

// What the server refuses after all is taken back.
func testNothingIsLeftBehind(t *testing.T, w world) {
	w.fails(t, "Bad_Name", "install", tok(t, "0.1.0", first), "-p", "REALM=r", "--instance", "Bad_Name")
	if got := w.names(t, "operators") + w.names(t, "operatorversions"); got != "" {
		t.Errorf("left behind: %s", got)
	}
	w.must(t, "install", tok(t, "0.1.0", first), "-p", "REALM=r")
	w.deny(t)
	size := 3
	servertest.Eventually(t, "updates are denied", func() bool {
		size++
		_, err := w.kudo(t.Context(), "update", "tok", "-p", fmt.Sprintf("SIZE=%d", size))
		return err != nil && strings.Contains(err.Error(), "not on Sundays")
	})
	w.fails(t, "not on Sundays", "upgrade", tok(t, "0.2.0", second), "-p", "BARE=b", "-p", "NEW=n", "-p", "LATER=l")
	if got := w.names(t, "operators") + " " + w.names(t, "operatorversions"); got != "tok tok-1.0-0.1.0" {
		t.Errorf("there are %s", got)
	}
}

// What was created for a refused install, and is another's by now, is left to them.
func testWithdrawsOnlyItsOwn(t *testing.T, w world) {
	replace := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(out http.ResponseWriter, request *http.Request) {
			if request.Method != http.MethodPost || !strings.HasSuffix(request.URL.Path, "/instances") {
				next.ServeHTTP(out, request)
				return
			}
			versions := w.resource("operatorversions")
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
	w.behind(t, w.server.Config(t), replace).fails(t, "create instance tok: ", "install", tok(t, "0.1.0", first), "-p", "REALM=r")
	if got := w.names(t, "operators") + " " + w.names(t, "operatorversions"); got != " tok-1.0-0.1.0" {
		t.Errorf("there are %s", got)
	}
}

// An Instance that was stored keeps what it needs, though nobody heard that it was.
func testAnswerLost(t *testing.T, w world) {
	lose := func(method string) func(http.Handler) http.Handler {
		return func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(out http.ResponseWriter, request *http.Request) {
				if request.Method != method || !strings.Contains(request.URL.Path, "/instances") {
					next.ServeHTTP(out, request)
					return
				}
				answer := httptest.NewRecorder()
				next.ServeHTTP(answer, request)
				if answer.Code < http.StatusBadRequest {
					panic(http.ErrAbortHandler)
				}
				// A conflict with the controller, after which the command tries again.
				maps.Copy(out.Header(), answer.Header())
				out.WriteHeader(answer.Code)
				_, _ = answer.Body.WriteTo(out)
			})
		}
	}
	w.behind(t, w.server.Config(t), lose(http.MethodPost)).
		fails(t, "instance tok was written all the same, with operator version tok-1.0-0.1.0", "install", tok(t, "0.1.0", first), "-p", "REALM=r")
	w.settle(t)
	w.behind(t, w.server.Config(t), lose(http.MethodPut)).
		fails(t, "instance tok was written all the same, with operator version tok-1.0-0.2.0",
			"upgrade", tok(t, "0.2.0", second), "-p", "BARE=b", "-p", "NEW=n", "-p", "LATER=l")
	if got := w.names(t, "operatorversions"); got != "tok-1.0-0.1.0 tok-1.0-0.2.0" {
		t.Errorf("there are %s", got)
	}
}

// Where nothing was stored, and nobody said so, nothing is left either.
func testRequestLost(t *testing.T, w world) {
	lose := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(out http.ResponseWriter, request *http.Request) {
			if request.Method == http.MethodPost && strings.HasSuffix(request.URL.Path, "/instances") {
				panic(http.ErrAbortHandler)
			}
			next.ServeHTTP(out, request)
		})
	}
	w.behind(t, w.server.Config(t), lose).fails(t, "create instance tok: ", "install", tok(t, "0.1.0", first), "-p", "REALM=r")
	if got := w.names(t, "operators") + w.names(t, "operatorversions"); got != "" {
		t.Errorf("left behind: %s", got)
	}
}

// Who may write instances and no operator versions installs what is there, and
// leaves nothing behind of what is not.
func testEditorInstalls(t *testing.T, w world) {
	_, err := w.client.RbacV1().RoleBindings(w.namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "eve"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "eve"}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eve := w.behind(t, w.server.As(t, "eve"), nil)
	servertest.Eventually(t, "eve may read", func() bool {
		_, err := eve.kudo(t.Context(), "get")
		return err == nil
	})
	eve.fails(t, `User "eve" cannot create resource "operators"`, "install", tok(t, "0.1.0", first), "-p", "REALM=r")
	w.must(t, "install", tok(t, "0.1.0", first), "-p", "REALM=r", "--wait")
	eve.must(t, "install", tok(t, "0.1.0", first), "-p", "REALM=r", "--instance", "hers", "--wait")
	requester, _, err := api.RequestedBy(w.instance(t, "hers"))
	if err != nil || requester.Username != "eve" {
		t.Errorf("requested by %v, %v", requester, err)
	}
	eve.fails(t, `User "eve" cannot create resource "operatorversions"`, "upgrade", tok(t, "0.2.0", second), "--instance", "hers", "-p", "BARE=b", "-p", "NEW=n", "-p", "LATER=l")
	if got := w.names(t, "operators") + " " + w.names(t, "operatorversions"); got != "tok tok-1.0-0.1.0" {
		t.Errorf("there are %s", got)
	}
}

// deny makes a policy that refuses every change of an Instance's spec.
func (w world) deny(t *testing.T) {
	t.Helper()
	policies := w.client.AdmissionregistrationV1()
	_, err := policies.ValidatingAdmissionPolicies().Create(t.Context(), &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "sunday"},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": w.namespace}},
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{"kudo.dev"}, APIVersions: []string{"*"}, Resources: []string{"instances"}},
				}}},
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
