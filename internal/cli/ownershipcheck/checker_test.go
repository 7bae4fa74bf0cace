package ownershipcheck_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/ownership"
)

// overwrites returns the warning about a command that changes the owned field data.a.
func overwrites(command, name, x, y string) string {
	return fmt.Sprintf("`%s` changed the resource ConfigMap/%s -n default field .data.a value from %s to %s.  "+
		"This field is managed by `kubectl apply` (last set the field to \"1\"), "+
		"and may be overwritten or cleared the next time `kubectl apply` is run.  "+
		"To undo: `kubectl apply` the file again, or set the field back to \"1\".  "+
		"To keep it: `holdfast transfer configmap/%s -n default --field '.data.a' --to imperative`.", command, name, x, y, name)
}

// TestAnnotations checks that a write is stored whatever the last-applied annotation of its
// object contains, and that an annotation which cannot be used causes one warning.
func TestAnnotations(t *testing.T) {
	server := uncheckedServer(t)
	tests := map[string]struct {
		applied string
		want    string
	}{
		"as kubectl writes it": {config, overwrites("holdfast patch", "as-kubectl-writes-it", `"1"`, `"2"`)},
		"empty":                {"", ""},
		"not JSON":             {"{broken", "ownership not checked: the last-applied configuration is malformed: "},
		"a list":               {"[1]", "ownership not checked: the last-applied configuration is malformed: "},
		"null":                 {"null", "ownership not checked: the last-applied configuration is malformed: "},
		"deep": {
			strings.Repeat("[", 100_000),
			"ownership not checked: the last-applied configuration is nested deeper than 128 levels",
		},
		"another kind": {
			`{"apiVersion":"example.dev/v1","kind":"Gizmo"}`,
			`ownership not checked: the last-applied configuration is malformed: kind "Gizmo", not ConfigMap`,
		},
		"another version": {
			`{"apiVersion":"v7","kind":"ConfigMap"}`,
			`ownership not checked: the last-applied configuration is malformed: version "v7" is not known`,
		},
		"another type": {
			`{"apiVersion":"v1","kind":"ConfigMap","data":[]}`,
			"ownership not checked: the last-applied configuration is malformed: ",
		},
		"control characters": {"\x01\n{", "ownership not checked: the last-applied configuration is malformed: "},
		"unknown fields": {
			`{"apiVersion":"v1","kind":"ConfigMap","dota":{"a":"1"}}`,
			`ownership not checked: the last-applied configuration has unknown fields: "dota"`,
		},
	}
	for title, test := range tests {
		t.Run(title, func(t *testing.T) {
			name := strings.ReplaceAll(strings.ToLower(title), " ", "-")
			applied(t, server, name, test.applied)
			c := newClient(t, server, "holdfast patch")
			if err := c.patch(t, name, `{"data":{"a":"2"}}`, "kubectl-patch"); err != nil {
				t.Fatal(err)
			}
			warnings := c.warnings()
			if test.want == "" && warnings != nil || test.want != "" && (len(warnings) != 1 || !strings.HasPrefix(warnings[0], test.want)) {
				t.Errorf("warnings %q, want %q", warnings, test.want)
			}
			got, err := c.CoreV1().ConfigMaps("default").Get(t.Context(), name, metav1.GetOptions{})
			if err != nil || got.Data["a"] != "2" {
				t.Errorf("stored %v, %v", got.Data, err)
			}
		})
	}
}

// TestMegabytes writes one megabyte to a field that is not owned.
func TestMegabytes(t *testing.T) {
	server := uncheckedServer(t)
	applied(t, server, "big", config)
	c := newClient(t, server, "holdfast patch")
	if err := c.patch(t, "big", fmt.Sprintf(`{"data":{"big":%q}}`, strings.Repeat("x", 1<<20-100)), "kubectl-patch"); err != nil {
		t.Fatal(err)
	}
	if warnings := c.warnings(); warnings != nil {
		t.Errorf("%d warnings about a field that is not owned", len(warnings))
	}
	if err := c.patch(t, "big", `{"data":{"a":"2"}}`, "kubectl-patch"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{overwrites("holdfast patch", "big", `"1"`, `"2"`)}, c.warnings()); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// TestEdit checks that an edit of an owned field is refused without being sent, and that it
// is sent when forced.
func TestEdit(t *testing.T) {
	server := uncheckedServer(t)
	applied(t, server, "settings", config)
	edit := newClient(t, server, "holdfast edit")
	err := edit.patch(t, "settings", `{"data":{"a":"2","b":"free"}}`, "kubectl-edit")
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Code != http.StatusUnprocessableEntity || len(status.Status().Details.Causes) != 1 ||
		status.Status().Details.Causes[0].Field != "data.a" {
		t.Fatalf("an edit of an owned field: %v", err)
	}
	for _, request := range edit.requests() {
		if strings.HasPrefix(request, http.MethodPatch) && !strings.Contains(request, "dryRun=All") {
			t.Errorf("sent %s", request)
		}
	}
	if err := edit.patch(t, "settings", `{"data":{"b":"free"}}`, "kubectl-edit"); err != nil {
		t.Errorf("an edit of a field that is not owned: %v", err)
	}
	if warnings := edit.warnings(); warnings != nil {
		t.Errorf("warnings %q", warnings)
	}
	edit.checker.Force = true
	if err := edit.patch(t, "settings", `{"data":{"a":"2"}}`, "kubectl-edit"); err != nil {
		t.Errorf("a forced edit: %v", err)
	}
	if diff := cmp.Diff([]string{overwrites("holdfast edit", "settings", `"1"`, `"2"`)}, edit.warnings()); diff != "" {
		t.Errorf("warnings of a forced edit (-want +got):\n%s", diff)
	}
	stock := newClient(t, server, "kubectl edit")
	if err := stock.patch(t, "settings", `{"data":{"a":"3"}}`, "force"); err != nil {
		t.Errorf("an edit forced by its manager: %v", err)
	}
	got, err := stock.CoreV1().ConfigMaps("default").Get(t.Context(), "settings", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range got.ManagedFields {
		if entry.Manager == ownership.ForceManager {
			t.Error("the manager force is stored")
		}
	}
}

// TestRefusals checks that the errors of the server are returned without any warning.
func TestRefusals(t *testing.T) {
	server := uncheckedServer(t)
	applied(t, server, "settings", config)
	c := newClient(t, server, "holdfast patch")
	for name, body := range map[string]string{
		"invalid": `{"data":{"a":"2","bad key":"x"}}`, "conflict": `{"metadata":{"resourceVersion":"1"},"data":{"a":"2"}}`, "not JSON": `{`,
	} {
		if err := c.patch(t, "settings", body, "kubectl-patch"); err == nil {
			t.Errorf("%s: stored", name)
		}
	}
	if err := c.patch(t, "missing", `{"data":{"a":"2"}}`, "kubectl-patch"); !apierrors.IsNotFound(err) {
		t.Errorf("a missing object: %v", err)
	}
	if warnings := c.warnings(); warnings != nil {
		t.Errorf("warnings %q", warnings)
	}
}

// TestServerThatChecks checks that the Checker sends no additional requests to a server that
// checks ownership itself, and that each warning comes once.
func TestServerThatChecks(t *testing.T) {
	server := servertest.Start(t, apiserver.Config{}).Config(t)
	applied(t, server, "settings", config)
	c := newClient(t, server, "holdfast patch")
	for i := range 2 {
		if err := c.patch(t, "settings", fmt.Sprintf(`{"data":{"a":"%d"}}`, i+2), "kubectl-patch"); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{overwrites("holdfast patch", "settings", `"1"`, `"2"`), overwrites("holdfast patch", "settings", `"2"`, `"3"`)}
	if diff := cmp.Diff(want, c.warnings()); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	const path = "PATCH /api/v1/namespaces/default/configmaps/settings?fieldManager=kubectl-patch"
	if diff := cmp.Diff([]string{"GET /version", path, path}, c.requests()); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
}

// TestServerThatRefuses checks that an error response does not make the Checker believe that
// the server does not check ownership.
func TestServerThatRefuses(t *testing.T) {
	s := servertest.Start(t, apiserver.Config{})
	applied(t, s.Config(t), "settings", config)
	reader := rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "User", Name: "reader"}
	grant(t, s.Client(t), "reads", reader, "get")
	c := newClient(t, s.As(t, "reader"), "holdfast patch")
	waittest.Until(t, "the reader may read", func() error {
		_, err := c.CoreV1().ConfigMaps("default").Get(t.Context(), "settings", metav1.GetOptions{})
		return err
	})
	if err := c.patch(t, "settings", `{"data":{"a":"2"}}`, "kubectl-patch"); !apierrors.IsForbidden(err) {
		t.Fatalf("a write that is not allowed: %v", err)
	}
	grant(t, s.Client(t), "writes", reader, "patch")
	waittest.Until(t, "the write is allowed", func() bool {
		return c.patch(t, "settings", `{"data":{"a":"2"}}`, "kubectl-patch") == nil
	})
	if diff := cmp.Diff([]string{overwrites("holdfast patch", "settings", `"1"`, `"2"`)}, c.warnings()); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// TestTokens checks that the additional requests have the token of the client.
func TestTokens(t *testing.T) {
	s := servertest.Start(t, apiserver.Config{Ownership: "off"})
	applied(t, s.Config(t), "settings", config)
	grant(t, s.Client(t), "patches", rbacv1.Subject{Kind: "ServiceAccount", Name: "robot", Namespace: "default"}, "get", "patch")
	accounts := s.Client(t).CoreV1().ServiceAccounts("default")
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}
	if _, err := accounts.Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	token, err := accounts.CreateToken(t.Context(), "robot", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	robot := rest.AnonymousClientConfig(s.Config(t))
	robot.BearerToken = token.Status.Token
	c := newClient(t, robot, "holdfast patch")
	waittest.Until(t, "the rights of the robot", func() error {
		_, err := c.CoreV1().ConfigMaps("default").Get(t.Context(), "settings", metav1.GetOptions{})
		return err
	})
	if err := c.patch(t, "settings", `{"data":{"a":"2"}}`, "kubectl-patch"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{overwrites("holdfast patch", "settings", `"1"`, `"2"`)}, c.warnings()); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// TestUnreadable checks that a user with the right to write an object but not to read it can
// write it, with a warning that it was not checked.
func TestUnreadable(t *testing.T) {
	s := servertest.Start(t, apiserver.Config{Ownership: "off"})
	applied(t, s.Config(t), "settings", config)
	blind := s.As(t, "blind")
	grant(t, s.Client(t), "patches", rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "User", Name: "blind"}, "patch")
	c := newClient(t, blind, "holdfast patch")
	waittest.Until(t, "the write is allowed", func() bool {
		return c.patch(t, "settings", `{"data":{"a":"2"}}`, "kubectl-patch") == nil
	})
	wantWarning(t, c, `ownership not checked: the object cannot be read: configmaps "settings" is forbidden: `, "(configmaps/settings -n default)")
	got, err := s.Client(t).CoreV1().ConfigMaps("default").Get(t.Context(), "settings", metav1.GetOptions{})
	if err != nil || got.Data["a"] != "2" {
		t.Errorf("stored %v, %v", got.Data, err)
	}
}

// wantWarning fails the test unless the client got exactly one warning, with this beginning and this object at its end.
func wantWarning(t *testing.T, c *client, want, object string) {
	t.Helper()
	if warnings := c.warnings(); len(warnings) != 1 || !strings.HasPrefix(warnings[0], want) || !strings.HasSuffix(warnings[0], " "+object) {
		t.Errorf("warnings %q, want %q and %s", warnings, want, object)
	}
}

// TestDryRunRefused checks that a write is sent, with a warning, if the server refuses the
// dry run. A server does that if a webhook with side effects would see the write.
func TestDryRunRefused(t *testing.T) {
	server := uncheckedServer(t)
	applied(t, server, "settings", config)
	applied(t, server, "free", "")
	server.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			if req.URL.Query().Get("dryRun") == "" {
				return next.RoundTrip(req)
			}
			const status = `{"kind":"Status","apiVersion":"v1","status":"Failure",` +
				`"message":"admission webhook \"w\" does not support dry run\n","reason":"BadRequest","code":400}`
			return &http.Response{
				Status: "400 Bad Request", StatusCode: http.StatusBadRequest, Header: http.Header{"Content-Type": {"application/json"}},
				Body: io.NopCloser(strings.NewReader(status)), Request: req,
			}, nil
		})
	})
	const want = `ownership not checked: the server does not try the write: admission webhook "w" does not support dry run `
	for _, command := range []string{"holdfast patch", "holdfast edit", "holdfast apply"} {
		c := newClient(t, server, command)
		if err := c.patch(t, "settings", fmt.Sprintf(`{"data":{"a":%q}}`, command), "kubectl-patch"); err != nil {
			t.Errorf("%s: %v", command, err)
		}
		wantWarning(t, c, want, "(ConfigMap/settings -n default)")
	}
	replace := newClient(t, server, "holdfast replace")
	empty := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}}
	if _, err := replace.CoreV1().ConfigMaps("default").Update(t.Context(), empty, metav1.UpdateOptions{}); err != nil {
		t.Error(err)
	}
	wantWarning(t, replace, want, "(ConfigMap/settings -n default)")
	c := newClient(t, server, "holdfast patch")
	if err := c.patch(t, "free", `{"data":{"a":"2"}}`, "kubectl-patch"); err != nil {
		t.Error(err)
	}
	if err := c.patch(t, "free", `{"data":{"bad key":"2"}}`, "kubectl-patch"); err == nil {
		t.Error("an invalid object was stored")
	}
	// Server-side apply of a missing object creates it.
	ssa := newClient(t, server, "holdfast apply")
	if _, err := ssa.CoreV1().ConfigMaps("default").Patch(t.Context(), "new", types.ApplyYAMLPatchType,
		[]byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"new"}}`), metav1.PatchOptions{FieldManager: "kubectl"}); err != nil {
		t.Error(err)
	}
	for name, silent := range map[string]*client{"fields that are not owned": c, "a created object": ssa} {
		if warnings := silent.warnings(); warnings != nil {
			t.Errorf("%s: warnings %q", name, warnings)
		}
	}
}
