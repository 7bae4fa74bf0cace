package controller_test

import (
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/waittest"
)

// account creates a service account with the role edit and returns its clients.
func (c cluster) account(t *testing.T, name string) cluster {
	t.Helper()
	accounts := c.CoreV1().ServiceAccounts(c.Namespace)
	if _, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}},
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	request := &authenticationv1.TokenRequest{}
	token, err := accounts.CreateToken(t.Context(), name, request, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(c.Config)
	config.BearerToken = token.Status.Token
	return c.login(config)
}

// TestAuthorThatIsGone checks that a deleted service account blocks the plans with its values,
// also when it is created again, until a user takes the values over.
func TestAuthorThatIsGone(t *testing.T) {
	t.Parallel()
	admin := start(t)
	bind(t, admin, rbacv1.GroupKind, "system:serviceaccounts:"+admin.Namespace, "edit")
	admin.operator(t, "noted", "0.1.0", noted)
	robot := admin.account(t, "robot")
	waittest.Until(t, "robot may write instances", func() bool {
		return robot.create(t, "instances",
			`{metadata: {name: mine}, spec: {operatorVersion: {name: noted-0.1.0}, parameters: {NOTE: mine}}}`) == nil
	})
	admin.awaitComplete(t, "mine")
	admin.set(t, "mine", map[string]string{"SIZE": "2"})
	admin.awaitComplete(t, "mine")
	refusal := `ConfigMap mine-note: user "system:serviceaccount:` + admin.Namespace + `:robot" set parameter 'NOTE' and must be allowed ` +
		`to apply this object too: service account ` + admin.Namespace + `/robot `
	if err := admin.CoreV1().ServiceAccounts(admin.Namespace).Delete(t.Context(), "robot", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	admin.set(t, "mine", map[string]string{"SIZE": "3"})
	admin.awaitRefused(t, "mine", refusal+"does not exist any more", "--take-over NOTE")
	admin.account(t, "robot")
	admin.set(t, "mine", map[string]string{"SIZE": "4"})
	admin.awaitRefused(t, "mine", refusal+"was deleted and created again")
	admin.takeOver(t, "mine", "NOTE")
	admin.awaitComplete(t, "mine")
}

// testAccountRecreated checks that a plan does not run for a service account that was deleted
// and created again.
func testAccountRecreated(t *testing.T, c cluster) {
	c.operator(t, "plain", "0.1.0", plain)
	accounts := c.CoreV1().ServiceAccounts(c.Namespace)
	robot := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}
	created, err := accounts.Create(t.Context(), robot, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	user := c.login(c.impersonating(rest.ImpersonationConfig{
		UserName: "system:serviceaccount:default:robot", UID: string(created.UID), Groups: []string{"system:masters", "system:authenticated"},
	}))
	for _, name := range []string{"gone", "replaced"} {
		user.install(t, name, "plain-0.1.0", nil)
	}
	if err := accounts.Delete(t.Context(), "robot", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	k := &killer{left: -1, created: map[string]int{}}
	ended := c.control(t, k)
	c.awaitMessage(t, "gone", "service account default/robot does not exist any more: request the plan again")
	k.kill()
	<-ended

	user.install(t, "later", "plain-0.1.0", nil)
	if _, err := accounts.Create(t.Context(), robot, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	ended = c.control(t, k)
	c.awaitMessage(t, "later", "service account default/robot was deleted and created again: request the plan again")
	k.kill()
	<-ended
	for _, name := range []string{"gone", "replaced", "later"} {
		if c.get(t, "configmaps", name) != nil {
			t.Errorf("%s: the plan ran", name)
		}
	}
}
