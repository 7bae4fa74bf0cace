package revocation_test

import (
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/access"
	"holdfast.dev/holdfast/internal/access/revocation"
	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/connection"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// fixture is a server with credentials of each kind.
type fixture struct {
	server *servertest.Server
	admin  kubernetes.Interface
	list   *revocation.Client
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	tokens := filepath.Join(t.TempDir(), "tokens.csv")
	if err := os.WriteFile(tokens, []byte("secret-token,robot,1,dev\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := servertest.Start(t, apiserver.Config{TokenFile: tokens})
	f := &fixture{server: server, admin: server.Client(t), list: revocation.NewClient(server.Client(t).CoreV1())}
	pod := yamltest.Decode[corev1.Pod](t, "{metadata: {name: p}, spec: {serviceAccountName: app, nodeName: n1, containers: [{name: c, image: i}]}}")
	core := f.admin.CoreV1()
	_, err := core.ServiceAccounts("default").Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "app"}},
		metav1.CreateOptions{})
	if err == nil {
		_, err = core.Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// certificate returns the config of a client with a new certificate, and its serial number.
func (f *fixture) certificate(t *testing.T, subject access.Subject, signer string) (*rest.Config, string) {
	t.Helper()
	pair, err := access.Enrollment{
		Subject: subject, Signer: signer, Prefix: "test-", Approval: "Test", Poll: 10 * time.Millisecond, Limit: time.Minute,
	}.Enroll(t.Context(), f.admin)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(f.server.Config(t))
	config.CertData, config.KeyData = pair.Cert, pair.Key
	return config, fmt.Sprintf("%x", parsed.Leaf.SerialNumber)
}

// token returns the config of a client with a token of the service account app, which may be
// bound to the pod on node n1.
func (f *fixture) token(t *testing.T, bound *authenticationv1.BoundObjectReference) *rest.Config {
	t.Helper()
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{BoundObjectRef: bound}}
	issued, err := f.admin.CoreV1().ServiceAccounts("default").CreateToken(t.Context(), "app", request, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return f.bearer(t, issued.Status.Token)
}

func (f *fixture) bearer(t *testing.T, token string) *rest.Config {
	t.Helper()
	config := rest.AnonymousClientConfig(f.server.Config(t))
	config.BearerToken = token
	return config
}

// whoami returns the user of a config, with the ID of its credential; "401" if the server
// rejects it.
func whoami(t *testing.T, config *rest.Config) (name, id string) {
	t.Helper()
	review, err := kubernetes.NewForConfigOrDie(config).AuthenticationV1().SelfSubjectReviews().Create(
		t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if apierrors.IsUnauthorized(err) {
		return "401", ""
	}
	if err != nil {
		t.Fatal(err)
	}
	if ids := review.Status.UserInfo.Extra["authentication.kubernetes.io/credential-id"]; len(ids) > 0 {
		id = ids[0]
	}
	return review.Status.UserInfo.Username, id
}

// set replaces the list.
func (f *fixture) set(t *testing.T, entries ...revocation.Entry) {
	t.Helper()
	if err := f.list.Edit(t.Context(), func([]revocation.Entry) ([]revocation.Entry, error) { return entries, nil }); err != nil {
		t.Fatal(err)
	}
}

// becomes waits until the server knows a config as a user, or as "401".
func becomes(t *testing.T, config *rest.Config, want string) {
	t.Helper()
	waittest.Until(t, "the client is "+want, func() bool {
		got, _ := whoami(t, config)
		return got == want
	})
}

// TestRevocation revokes each kind of credential in each way, and takes it back.
func TestRevocation(t *testing.T) {
	f := newFixture(t)
	jane, janeSerial := f.certificate(t, access.Subject{User: "jane"}, certificatesv1.KubeAPIServerClientSignerName)
	node, _ := f.certificate(t, access.NodeSubject("n1"), certificatesv1.KubeAPIServerClientKubeletSignerName)
	app, pod := f.token(t, nil), f.token(t, &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: "p"})
	robot := f.bearer(t, "secret-token")
	const appUser = "system:serviceaccount:default:app"
	_, janeID := whoami(t, jane)
	_, podID := whoami(t, pod)
	names := map[*rest.Config]string{jane: "jane", node: "system:node:n1", app: appUser, pod: appUser, robot: "robot"}
	for name, test := range map[string]struct {
		entry   revocation.Entry
		revoked []*rest.Config
	}{
		"certificate by serial":    {revocation.Entry{Serial: strings.ToUpper(janeSerial)}, []*rest.Config{jane}},
		"certificate by its ID":    {revocation.Entry{Credential: janeID}, []*rest.Config{jane}},
		"user with a certificate":  {revocation.Entry{User: "jane"}, []*rest.Config{jane}},
		"user with a static token": {revocation.Entry{User: "robot"}, []*rest.Config{robot}},
		"service account":          {revocation.Entry{User: appUser}, []*rest.Config{app, pod}},
		"token by its ID":          {revocation.Entry{Credential: podID}, []*rest.Config{pod}},
		"node, and its pods":       {revocation.Entry{Node: "n1"}, []*rest.Config{node, pod}},
	} {
		t.Run(name, func(t *testing.T) {
			f.set(t, test.entry)
			defer f.set(t)
			revoked := map[*rest.Config]bool{}
			for _, config := range test.revoked {
				revoked[config] = true
				becomes(t, config, "401")
			}
			for config, user := range names {
				if got, _ := whoami(t, config); !revoked[config] && got != user {
					t.Errorf("%s is %s", user, got)
				}
			}
			f.set(t)
			for _, config := range test.revoked {
				becomes(t, config, names[config])
			}
		})
	}
	t.Run("review", func(t *testing.T) { f.testReview(t, app.BearerToken) })
	t.Run("watch", func(t *testing.T) { f.testWatch(t) })
	t.Run("reissue", func(t *testing.T) { f.testReissue(t, jane) })
	t.Run("admission", func(t *testing.T) { f.testAdmission(t) })
	t.Run("warning", func(t *testing.T) { f.testWarning(t) })
	t.Run("administrator", func(t *testing.T) { f.testAdministrator(t) })
}

// testReview checks that a TokenReview of a revoked token says so, and that the reviewer is not
// taken for the reviewed user.
func (f *fixture) testReview(t *testing.T, token string) {
	f.set(t, revocation.Entry{User: "system:serviceaccount:default:app"})
	defer f.set(t)
	waittest.Until(t, "the token is rejected", func() bool {
		review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
		answer, err := f.admin.AuthenticationV1().TokenReviews().Create(t.Context(), review, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return !answer.Status.Authenticated && strings.Contains(answer.Status.Error, "is revoked")
	})
}

// testWatch checks that a running watch of a revoked credential ends, and one of another
// credential of the user goes on.
func (f *fixture) testWatch(t *testing.T) {
	watch := func(config *rest.Config) <-chan struct{} {
		watcher, err := kubernetes.NewForConfigOrDie(config).CoreV1().Namespaces().Watch(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for range watcher.ResultChan() {
			}
		}()
		return ended
	}
	subject := access.Subject{User: "watcher"}
	lost, serial := f.certificate(t, subject, certificatesv1.KubeAPIServerClientSignerName)
	kept, _ := f.certificate(t, subject, certificatesv1.KubeAPIServerClientSignerName)
	f.bindView(t, "watcher")
	waittest.Until(t, "the role is in force", func() error {
		_, err := kubernetes.NewForConfigOrDie(kept).CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
		return err
	})
	lostEnded, keptEnded := watch(lost), watch(kept)
	f.set(t, revocation.Entry{Serial: serial})
	defer f.set(t)
	<-lostEnded
	select {
	case <-keptEnded:
		t.Error("the watch of another certificate ended")
	default:
	}
}

// testReissue revokes the credentials that a user has, and issues a new one at once.
func (f *fixture) testReissue(t *testing.T, jane *rest.Config) {
	before := metav1.NewTime(time.Now().Add(time.Second).Truncate(time.Second))
	f.set(t, revocation.Entry{User: "jane", IssuedBefore: &before})
	defer f.set(t)
	becomes(t, jane, "401")
	again, _ := f.certificate(t, access.Subject{User: "jane"}, certificatesv1.KubeAPIServerClientSignerName)
	// The certificate begins within the second in which the other ones were revoked.
	becomes(t, again, "jane")
	if got, _ := whoami(t, jane); got != "401" {
		t.Errorf("the old certificate is of %s", got)
	}
}

// testAdministrator revokes the certificate of the administrator, which the server replaces.
func (f *fixture) testAdministrator(t *testing.T) {
	config := f.server.Config(t)
	pair, err := tls.X509KeyPair(config.CertData, config.KeyData)
	if err != nil {
		t.Fatal(err)
	}
	now := metav1.NewTime(time.Now().Add(time.Second).Truncate(time.Second))
	for _, entry := range []revocation.Entry{
		{Serial: fmt.Sprintf("%x", pair.Leaf.SerialNumber)},
		{User: access.AdminUser, IssuedBefore: &now},
	} {
		lost := f.server.Config(t)
		f.set(t, entry)
		becomes(t, lost, "401")
		waittest.Until(t, "the kubeconfig has another certificate", func() bool {
			got, _ := whoami(t, f.server.Config(t))
			return got == access.AdminUser
		})
		f.admin = f.server.Client(t)
		f.list = revocation.NewClient(f.admin.CoreV1())
	}
}

// TestReplacedList replaces the list by others that have the same entry and one more. The entry is in force at each moment, because the
// server's own watches show a replacement as a change.
func TestReplacedList(t *testing.T) {
	f := newFixture(t)
	f.set(t, revocation.Entry{User: "robot"})
	robot := revocation.Credential{User: "robot"}
	registry := revocation.NewRegistry()
	var missing atomic.Bool
	server, err := connection.Open(f.server.Config(t), connection.Options{ReplacementsAsChanges: true})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	err = registry.Watch(t.Context(), server.Typed.CoreV1(), func() {
		if registry.Check(t.Context(), robot) == nil {
			missing.Store(true)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	lists := f.admin.CoreV1().ConfigMaps(revocation.Namespace)
	for i := range 3 {
		list, err := lists.Get(t.Context(), revocation.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		next := fmt.Sprintf("other-%d", i)
		list.Data = map[string]string{revocation.Key: "[{user: robot}, {user: " + next + "}]"}
		err = f.admin.CoreV1().RESTClient().Put().Namespace(revocation.Namespace).Resource("configmaps").Name(revocation.Name).
			Param("holdfast", "replace").Body(list).Do(t.Context()).Error()
		if err != nil {
			t.Fatal(err)
		}
		waittest.Until(t, "the registry has the new list", func() bool {
			return registry.Check(t.Context(), revocation.Credential{User: next}) != nil
		})
	}
	if missing.Load() {
		t.Error("the entry was not in force between the deletion of the old list and the creation of the new one")
	}
}
