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

	"holdfast.dev/holdfast/apiserver"
	"holdfast.dev/holdfast/apiserver/servertest"
	"holdfast.dev/holdfast/ownership"
)

func overwrites(command, name, x, y string) string {
	return fmt.Sprintf("`%s` changed the resource ConfigMap/%s field .data.a value from %s to %s.  This field is managed by `kubectl apply` (last set the field to \"1\"), and may be overwritten or cleared the next time `kubectl apply` is run.  To undo: `kubectl apply` the file again, or set the field back to %s.", command, name, x, y, x)
}

// A write passes whatever its object's annotation holds, and at most one line is
// said about that.
func TestAnnotations(t *testing.T) {
	server := stranger(t)
	tests := map[string]struct {
		applied string
		want    string
	}{
		"as kubectl writes it": {config, overwrites("holdfast patch", "as-kubectl-writes-it", `"1"`, `"2"`)},
		"empty":                {"", ""},
		"no JSON":              {"{broken", "ownership not checked: the last-applied configuration is malformed: "},
		"a list":               {"[1]", "ownership not checked: the last-applied configuration is malformed: "},
		"null":                 {"null", "ownership not checked: the last-applied configuration is malformed: "},
		"deep":                 {strings.Repeat("[", 100_000), "ownership not checked: the last-applied configuration is malformed: "},
		"another kind":         {`{"apiVersion":"example.dev/v1","kind":"Gizmo"}`, `ownership not checked: the last-applied configuration is malformed: kind "Gizmo", not ConfigMap`},
		"another version":      {`{"apiVersion":"v7","kind":"ConfigMap"}`, `ownership not checked: the last-applied configuration is malformed: version "v7" is not known`},
		"another type":         {`{"apiVersion":"v1","kind":"ConfigMap","data":[]}`, "ownership not checked: the last-applied configuration is malformed: "},
		"control characters":   {"\x01\n{", "ownership not checked: the last-applied configuration is malformed: "},
		"unknown fields": {
			`{"apiVersion":"v1","kind":"ConfigMap","dota":{"a":"1"}}`,
			`ownership not checked: the last-applied configuration has unknown fields: "dota"`,
		},
	}
	for title, test := range tests {
		t.Run(title, func(t *testing.T) {
			name := strings.ReplaceAll(strings.ToLower(title), " ", "-")
			applied(t, server, name, test.applied)
			p := running(t, server, "holdfast patch")
			if err := p.patch(t, name, `{"data":{"a":"2"}}`, "kubectl-patch"); err != nil {
				t.Fatal(err)
			}
			said := p.heard()
			if test.want == "" && said != nil || test.want != "" && (len(said) != 1 || !strings.HasPrefix(said[0], test.want)) {
				t.Errorf("told %q, want %q", said, test.want)
			}
			got, err := p.CoreV1().ConfigMaps("default").Get(t.Context(), name, metav1.GetOptions{})
			if err != nil || got.Data["a"] != "2" {
				t.Errorf("stored %v, %v", got.Data, err)
			}
		})
	}
}

func TestMegabytes(t *testing.T) {
	server := stranger(t)
	applied(t, server, "big", config)
	p := running(t, server, "holdfast patch")
	if err := p.patch(t, "big", fmt.Sprintf(`{"data":{"big":%q}}`, strings.Repeat("x", 1<<20-100)), "kubectl-patch"); err != nil {
		t.Fatal(err)
	}
	if said := p.heard(); said != nil {
		t.Errorf("a megabyte that nobody owns: told %d lines", len(said))
	}
	if err := p.patch(t, "big", `{"data":{"a":"2"}}`, "kubectl-patch"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{overwrites("holdfast patch", "big", `"1"`, `"2"`)}, p.heard()); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

func TestEdit(t *testing.T) {
	server := stranger(t)
	applied(t, server, "settings", config)
	edit := running(t, server, "holdfast edit")
	err := edit.patch(t, "settings", `{"data":{"a":"2","b":"free"}}`, "kubectl-edit")
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Code != http.StatusUnprocessableEntity || len(status.Status().Details.Causes) != 1 ||
		status.Status().Details.Causes[0].Field != "data.a" {
		t.Fatalf("an edit of what apply owns: %v", err)
	}
	for _, request := range edit.requests() {
		if strings.HasPrefix(request, http.MethodPatch) && !strings.Contains(request, "dryRun=All") {
			t.Errorf("sent %s", request)
		}
	}
	if err := edit.patch(t, "settings", `{"data":{"b":"free"}}`, "kubectl-edit"); err != nil {
		t.Errorf("an edit of what is free: %v", err)
	}
	if said := edit.heard(); said != nil {
		t.Errorf("told %q", said)
	}
	edit.checker.Force = true
	if err := edit.patch(t, "settings", `{"data":{"a":"2"}}`, "kubectl-edit"); err != nil {
		t.Errorf("a forced edit: %v", err)
	}
	if diff := cmp.Diff([]string{overwrites("holdfast edit", "settings", `"1"`, `"2"`)}, edit.heard()); diff != "" {
		t.Errorf("a forced edit is told (-want +got):\n%s", diff)
	}
	stock := running(t, server, "kubectl edit")
	if err := stock.patch(t, "settings", `{"data":{"a":"3"}}`, "force"); err != nil {
		t.Errorf("an edit forced by its manager: %v", err)
	}
	got, err := stock.CoreV1().ConfigMaps("default").Get(t.Context(), "settings", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range got.ManagedFields {
		if entry.Manager == ownership.ForceManager {
			t.Error("the word that forces is stored as a manager")
		}
	}
}

// What a write is refused for the server says, in its own words and alone.
func TestRefusals(t *testing.T) {
	server := stranger(t)
	applied(t, server, "settings", config)
	p := running(t, server, "holdfast patch")
	for name, body := range map[string]string{
		"invalid": `{"data":{"a":"2","bad key":"x"}}`, "conflict": `{"metadata":{"resourceVersion":"1"},"data":{"a":"2"}}`, "no JSON": `{`,
	} {
		if err := p.patch(t, "settings", body, "kubectl-patch"); err == nil {
			t.Errorf("%s: stored", name)
		}
	}
	if err := p.patch(t, "nobody", `{"data":{"a":"2"}}`, "kubectl-patch"); !apierrors.IsNotFound(err) {
		t.Errorf("an object that is not there: %v", err)
	}
	if said := p.heard(); said != nil {
		t.Errorf("told %q", said)
	}
}

// A server that judges is asked nothing, and nothing is said twice.
func TestServerThatJudges(t *testing.T) {
	server := servertest.Start(t, apiserver.Config{}).Config(t)
	applied(t, server, "settings", config)
	p := running(t, server, "holdfast patch")
	for i := range 2 {
		if err := p.patch(t, "settings", fmt.Sprintf(`{"data":{"a":"%d"}}`, i+2), "kubectl-patch"); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{overwrites("holdfast patch", "settings", `"1"`, `"2"`), overwrites("holdfast patch", "settings", `"2"`, `"3"`)}
	if diff := cmp.Diff(want, p.heard()); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	const path = "PATCH /api/v1/namespaces/default/configmaps/settings?fieldManager=kubectl-patch"
	if diff := cmp.Diff([]string{"GET /version", path, path}, p.requests()); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
}

// A refusal says nothing about whether the server judges what it does not refuse.
func TestServerThatJudgesAndRefuses(t *testing.T) {
	s := servertest.Start(t, apiserver.Config{})
	applied(t, s.Config(t), "settings", config)
	reader := rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "User", Name: "reader"}
	grant(t, s.Client(t), "reads", reader, "get")
	p := running(t, s.As(t, "reader"), "holdfast patch")
	servertest.Eventually(t, "the reader may read", func() bool {
		_, err := p.CoreV1().ConfigMaps("default").Get(t.Context(), "settings", metav1.GetOptions{})
		return err == nil
	})
	if err := p.patch(t, "settings", `{"data":{"a":"2"}}`, "kubectl-patch"); !apierrors.IsForbidden(err) {
		t.Fatalf("a write that is not allowed: %v", err)
	}
	grant(t, s.Client(t), "writes", reader, "patch")
	servertest.Eventually(t, "the write is allowed", func() bool {
		return p.patch(t, "settings", `{"data":{"a":"2"}}`, "kubectl-patch") == nil
	})
	if diff := cmp.Diff([]string{overwrites("holdfast patch", "settings", `"1"`, `"2"`)}, p.heard()); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

// What the guard asks it asks as the person who writes, whatever says who that is.
func TestTokens(t *testing.T) {
	s := servertest.Start(t, apiserver.Config{Ownership: "off"})
	applied(t, s.Config(t), "settings", config)
	grant(t, s.Client(t), "patches", rbacv1.Subject{Kind: "ServiceAccount", Name: "robot", Namespace: "default"}, "get", "patch")
	if _, err := s.Client(t).CoreV1().ServiceAccounts("default").Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	token, err := s.Client(t).CoreV1().ServiceAccounts("default").CreateToken(t.Context(), "robot", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	robot := rest.AnonymousClientConfig(s.Config(t))
	robot.BearerToken = token.Status.Token
	p := running(t, robot, "holdfast patch")
	servertest.Eventually(t, "the robot is allowed what it does", func() bool {
		_, err := p.CoreV1().ConfigMaps("default").Get(t.Context(), "settings", metav1.GetOptions{})
		return err == nil
	})
	if err := p.patch(t, "settings", `{"data":{"a":"2"}}`, "kubectl-patch"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{overwrites("holdfast patch", "settings", `"1"`, `"2"`)}, p.heard()); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

// Who may not read an object may write it: the write is sent as it is, and one line
// says that it was not checked.
func TestUnreadable(t *testing.T) {
	s := servertest.Start(t, apiserver.Config{Ownership: "off"})
	applied(t, s.Config(t), "settings", config)
	blind := s.As(t, "blind")
	grant(t, s.Client(t), "patches", rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "User", Name: "blind"}, "patch")
	p := running(t, blind, "holdfast patch")
	servertest.Eventually(t, "the write is allowed", func() bool {
		return p.patch(t, "settings", `{"data":{"a":"2"}}`, "kubectl-patch") == nil
	})
	unchecked(t, p, `ownership not checked: the object cannot be read: configmaps "settings" is forbidden: `)
	got, err := s.Client(t).CoreV1().ConfigMaps("default").Get(t.Context(), "settings", metav1.GetOptions{})
	if err != nil || got.Data["a"] != "2" {
		t.Errorf("stored %v, %v", got.Data, err)
	}
}

// unchecked fails the test unless a person was told one line that begins so.
func unchecked(t *testing.T, p *person, want string) {
	t.Helper()
	if said := p.heard(); len(said) != 1 || !strings.HasPrefix(said[0], want) {
		t.Errorf("told %q, want %q", said, want)
	}
}

// Servers do not try what a webhook with side effects would see, and store it when
// it is meant.
func TestUntried(t *testing.T) {
	server := stranger(t)
	applied(t, server, "settings", config)
	applied(t, server, "free", "")
	server.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			if req.URL.Query().Get("dryRun") == "" {
				return next.RoundTrip(req)
			}
			const status = `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"admission webhook \"w\" does not support dry run\n","reason":"BadRequest","code":400}`
			return &http.Response{
				Status: "400 Bad Request", StatusCode: http.StatusBadRequest, Header: http.Header{"Content-Type": {"application/json"}},
				Body: io.NopCloser(strings.NewReader(status)), Request: req,
			}, nil
		})
	})
	const want = `ownership not checked: the server does not try the write: admission webhook "w" does not support dry run `
	for _, command := range []string{"holdfast patch", "holdfast edit", "holdfast apply"} {
		p := running(t, server, command)
		if err := p.patch(t, "settings", fmt.Sprintf(`{"data":{"a":%q}}`, command), "kubectl-patch"); err != nil {
			t.Errorf("%s: %v", command, err)
		}
		unchecked(t, p, want)
	}
	replace := running(t, server, "holdfast replace")
	if _, err := replace.CoreV1().ConfigMaps("default").Update(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}}, metav1.UpdateOptions{}); err != nil {
		t.Error(err)
	}
	unchecked(t, replace, want)
	p := running(t, server, "holdfast patch")
	if err := p.patch(t, "free", `{"data":{"a":"2"}}`, "kubectl-patch"); err != nil {
		t.Error(err)
	}
	if err := p.patch(t, "free", `{"data":{"bad key":"2"}}`, "kubectl-patch"); err == nil {
		t.Error("stored what is not valid")
	}
	// Server-side apply creates what is not there.
	ssa := running(t, server, "holdfast apply")
	if _, err := ssa.CoreV1().ConfigMaps("default").Patch(t.Context(), "new", types.ApplyYAMLPatchType,
		[]byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"new"}}`), metav1.PatchOptions{FieldManager: "kubectl"}); err != nil {
		t.Error(err)
	}
	for name, silent := range map[string]*person{"what nobody owns": p, "what is created": ssa} {
		if said := silent.heard(); said != nil {
			t.Errorf("%s: told %q", name, said)
		}
	}
}
