package owners_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/cli/owners"
)

// transfer runs the command transfer with arguments.
func transfer(t testing.TB, flags *genericclioptions.ConfigFlags, args ...string) result {
	t.Helper()
	return execute(t, owners.NewTransferCommand(cmdutil.NewFactory(flags)), args)
}

// as returns the connection of a user.
func as(kubeconfig, user string) *genericclioptions.ConfigFlags {
	flags := connection(kubeconfig)
	flags.Impersonate = &user
	return flags
}

// before returns the connection of an administrator. do is called before each request of the command is sent.
func before(kubeconfig string, do func(*http.Request)) *genericclioptions.ConfigFlags {
	return through(kubeconfig, func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
		do(r)
		return next.RoundTrip(r)
	})
}

// through returns the connection of an administrator whose requests are sent by do.
func through(kubeconfig string, do func(http.RoundTripper, *http.Request) (*http.Response, error)) *genericclioptions.ConfigFlags {
	flags := connection(kubeconfig)
	flags.WrapConfigFn = func(config *rest.Config) *rest.Config {
		config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) { return do(next, r) })
		})
		return config
	}
	return flags
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// bulkServer is a server with ConfigMaps whose fields a transfer moves from the manager old to new.
type bulkServer struct {
	*servertest.Server
	kubernetes.Interface
}

func newBulkServer(t *testing.T, names ...string) bulkServer {
	t.Helper()
	server := servertest.Start(t, apiserver.Config{})
	s := bulkServer{server, server.Client(t)}
	for _, name := range names {
		s.create(t, "default", name)
	}
	return s
}

func (s bulkServer) create(t *testing.T, namespace, name string) {
	t.Helper()
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"a": "1"}}
	if _, err := s.CoreV1().ConfigMaps(namespace).Create(t.Context(), obj, metav1.CreateOptions{FieldManager: "old"}); err != nil {
		t.Fatal(err)
	}
}

// grant gives a user verbs for ConfigMaps of the namespace default.
func (s bulkServer) grant(t *testing.T, user string, verbs ...string) {
	t.Helper()
	servertest.Grant(t, s, rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: user, Namespace: "default"},
		Rules:      []rbacv1.PolicyRule{{Verbs: verbs, APIGroups: []string{""}, Resources: []string{"configmaps"}}},
	})
	servertest.AwaitRight(t, s, user, authorizationv1.ResourceAttributes{Namespace: "default", Verb: verbs[0], Resource: "configmaps"})
}

// managers returns the managers of a ConfigMap.
func (s bulkServer) managers(t *testing.T, name string) string {
	t.Helper()
	obj, err := s.CoreV1().ConfigMaps("default").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range obj.ManagedFields {
		names = append(names, entry.Manager)
	}
	return strings.Join(names, " ")
}

// oldToNew returns the arguments of a move of the fields of old to new, and further ones.
func oldToNew(more ...string) []string {
	return append([]string{"configmaps", "--from", "old", "--to", "new"}, more...)
}

// check compares the output and the exit code of a command. The notes must have the text in notes.
func (r result) check(t *testing.T, what, out, notes string, code int) {
	t.Helper()
	if diff := cmp.Diff(out, r.out); diff != "" {
		t.Errorf("%s: output (-want +got):\n%s", what, diff)
	}
	if r.code != code || !strings.Contains(r.notes, notes) {
		t.Errorf("%s: code %d, want %d: %v, notes %q, want %q", what, r.code, code, r.err, r.notes, notes)
	}
}

// TestTransferRefused moves fields as a user that may not change the objects. The command says of no object that its fields moved.
func TestTransferRefused(t *testing.T) {
	t.Parallel()
	s := newBulkServer(t, "one", "two")
	s.grant(t, "reader", "list", "get")
	record := filepath.Join(t.TempDir(), "moved.jsonl")
	reader := as(s.Kubeconfig(), "reader")
	forth := oldToNew("--record", record)
	const forbidden = `configmaps/two -n default: configmaps "two" is forbidden: User "reader" cannot patch resource "configmaps"`
	transfer(t, reader, forth...).check(t, "refused", "moved 0 fields of 0 objects\n", "error: "+forbidden, 1)
	transfer(t, reader, oldToNew("--dry-run")...).
		check(t, "refused in a dry run", "moved 0 fields of 0 objects (server dry run)\n", "error: "+forbidden, 1)
	if got := s.managers(t, "one"); got != "old" {
		t.Errorf("managers %s", got)
	}
	if moved := transfer(t, connection(s.Kubeconfig()), oldToNew("--record", record+"2")...); moved.code != 0 {
		t.Fatalf("%v: %s", moved.err, moved.notes)
	}
	transfer(t, reader, "--undo", record+"2").check(t, "undo", "moved back 0 fields of 0 objects\n", "error: "+forbidden, 1)
	if got := s.managers(t, "one"); got != "new" {
		t.Errorf("managers after a refused undo: %s", got)
	}
}

// TestTransferOfDeletedObject deletes an object before the command sends its change, and between the conflict of a change and the read
// that follows.
func TestTransferOfDeletedObject(t *testing.T) {
	t.Parallel()
	s := newBulkServer(t)
	maps := s.CoreV1().ConfigMaps("default")
	remove := func() {
		if err := maps.Delete(t.Context(), "one", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	}
	for name, onConflict := range map[string]bool{"before the change": false, "after a conflict": true} {
		t.Run(name, func(t *testing.T) {
			record := filepath.Join(t.TempDir(), "moved.jsonl")
			for _, args := range [][]string{oldToNew("--record", record), {"--undo", record}} {
				patched, deleted := false, false
				flags := before(s.Kubeconfig(), func(r *http.Request) {
					switch isObject := strings.HasSuffix(r.URL.Path, "/configmaps/one"); {
					case !isObject || deleted:
					case r.Method == http.MethodPatch && !onConflict, r.Method == http.MethodGet && patched:
						remove()
						deleted = true
					case r.Method == http.MethodPatch:
						patch := []byte(`{"data":{"b":"2"}}`)
						if _, err := maps.Patch(t.Context(), "one", types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "third"}); err != nil {
							t.Error(err)
						}
						patched = true
					}
				})
				s.create(t, "default", "one")
				out := "moved 0 fields of 0 objects\n"
				if args[0] == "--undo" {
					if first := transfer(t, connection(s.Kubeconfig()), oldToNew("--record", record)...); first.code != 0 {
						t.Fatalf("%v: %s", first.err, first.notes)
					}
					out = "moved back 0 fields of 0 objects\n"
				}
				transfer(t, flags, args...).check(t, args[0], out, "note: configmaps/one -n default: it is gone", 0)
				if !deleted {
					t.Errorf("%s: the object was not deleted", args[0])
				}
			}
		})
	}
}

// TestTransferDryRunUnreadable lists what moves as a user that may not read the objects themselves, and while objects are deleted. The
// command names each such object, goes on, and fails at the end.
func TestTransferDryRunUnreadable(t *testing.T) {
	t.Parallel()
	s := newBulkServer(t, "one", "two")
	for _, name := range []string{"one", "two"} {
		// The new manager has applied the object, so the command knows its file, and reads which fields the object has.
		apply := []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"` + name + `"},"data":{"b":"1"}}`)
		if _, err := s.CoreV1().ConfigMaps("default").Patch(t.Context(), name, types.ApplyPatchType, apply, metav1.PatchOptions{FieldManager: "new"}); err != nil {
			t.Fatal(err)
		}
	}
	s.grant(t, "lister", "list")
	lines := func(name string) string {
		return "configmaps/" + name + " -n default: 1 field of old (Update) moved to new (dry run)\n  .data.a\n"
	}
	unknown := func(name string) string {
		return "error: configmaps/" + name + ` -n default: it is not known what the next apply of new removes: configmaps "` + name + `" `
	}
	dry := oldToNew("--dry-run=client")
	const end = "moved 2 fields of 2 objects (dry run)\n"
	refused := transfer(t, as(s.Kubeconfig(), "lister"), dry...)
	refused.check(t, "403", lines("one")+lines("two")+end, unknown("one")+"is forbidden", 1)
	if !strings.Contains(refused.notes, unknown("two")+"is forbidden") {
		t.Errorf("403: notes %s", refused.notes)
	}
	deleted := false
	gone := transfer(t, before(s.Kubeconfig(), func(r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/configmaps/one") && !deleted {
			deleted = true
			if err := s.CoreV1().ConfigMaps("default").Delete(t.Context(), "one", metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		}
	}), dry...)
	gone.check(t, "404", lines("one")+lines("two")+"  the next apply of new removes .data.a, unless its file has it\n"+end, unknown("one")+"not found", 1)
}

// TestCompactedList answers a request for a page as a server does that has compacted its history since the page before: with 410, and a
// token with which the list goes on. Both commands follow it.
func TestCompactedList(t *testing.T) {
	t.Parallel()
	s := newBulkServer(t)
	const objects = 600
	for i := range objects {
		s.create(t, "default", fmt.Sprintf("c%03d", i))
	}
	compacted := func(answered *int) *genericclioptions.ConfigFlags {
		return through(s.Kubeconfig(), func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
			query := r.URL.Query()
			token, err := base64.RawURLEncoding.DecodeString(query.Get("continue"))
			var old struct {
				Version  string `json:"v"`
				Revision int64  `json:"rv"`
				Start    string `json:"start"`
			}
			if len(token) == 0 || err != nil || json.Unmarshal(token, &old) != nil || old.Revision <= 0 {
				return next.RoundTrip(r)
			}
			*answered++
			old.Revision = -1 // the state of the time when the page is read
			later, err := json.Marshal(old)
			if err != nil {
				return nil, err
			}
			status := apierrors.NewResourceExpired("The provided continue parameter is too old").Status()
			status.Continue = base64.RawURLEncoding.EncodeToString(later)
			status.APIVersion, status.Kind = "v1", "Status"
			body, err := json.Marshal(status)
			return &http.Response{
				Status: "410 Gone", StatusCode: http.StatusGone, Header: http.Header{"Content-Type": {"application/json"}},
				Body: io.NopCloser(bytes.NewReader(body)), Request: r,
			}, err
		})
	}
	answered := 0
	moved := transfer(t, compacted(&answered), oldToNew("--dry-run=client", "--rate", "100000")...)
	if want := fmt.Sprintf("\nmoved %d fields of %d objects (dry run)\n", objects, objects); moved.code != 0 || !strings.HasSuffix(moved.out, want) || answered == 0 {
		t.Errorf("transfer: code %d after %d answers, %v: %s", moved.code, answered, moved.err, moved.out[max(0, len(moved.out)-300):])
	}
	answered = 0
	stuck := run(t, compacted(&answered), "--stuck", "configmaps")
	examined := regexp.MustCompile(`examined (\d+) objects of 1 kind\n$`).FindStringSubmatch(stuck.out)
	if stuck.code != 0 || answered == 0 || len(examined) != 2 || len(examined[1]) != 3 || examined[1] < fmt.Sprint(objects) {
		t.Errorf("owners --stuck: code %d after %d answers, %v: %s", stuck.code, answered, stuck.err, stuck.out)
	}
}

// TestTransferSelection moves fields in the objects that -n, -l and -A select.
func TestTransferSelection(t *testing.T) {
	t.Parallel()
	s := newBulkServer(t, "one")
	servertest.CreateNamespace(t, s, "shop")
	s.create(t, "shop", "two")
	patch := []byte(`{"metadata":{"labels":{"app":"web"}}}`)
	if _, err := s.CoreV1().ConfigMaps("shop").Patch(t.Context(), "two", types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "third"}); err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "three"}, Rules: []rbacv1.PolicyRule{{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}}}}
	if _, err := s.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{FieldManager: "old"}); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"":                      "configmaps/one -n default",
		"-n shop":               "configmaps/two -n shop",
		"-n default -l app=web": "",
		"-n shop -l app=web":    "configmaps/two -n shop",
		"-A":                    "configmaps/one -n default configmaps/two -n shop clusterroles.rbac.authorization.k8s.io/three",
		"-A -l app=web":         "configmaps/two -n shop",
		"cm configmaps -n shop": "configmaps/two -n shop",
	} {
		var got []string
		flags, all := connection(s.Kubeconfig()), append(strings.Fields(args), "--from", "old", "--to", "new", "--dry-run=client")
		if at := slices.Index(all, "-n"); at >= 0 {
			flags.Namespace = &all[at+1]
			all = slices.Delete(slices.Clone(all), at, at+2)
		}
		r := transfer(t, flags, all...)
		for _, line := range strings.Split(r.out, "\n") {
			if name, _, found := strings.Cut(line, ": "); found && !strings.HasPrefix(line, " ") {
				got = append(got, name)
			}
		}
		if strings.Join(got, " ") != want || r.code != 0 {
			t.Errorf("%s: %q, want %q: code %d, %v", args, got, want, r.code, r.err)
		}
	}
}

// TestTransferRate checks that --rate bounds the requests of a move and of its undo, and that the command writes how far it is.
func TestTransferRate(t *testing.T) {
	t.Parallel()
	s := newBulkServer(t, "a", "b", "c", "d", "e", "f")
	record := filepath.Join(t.TempDir(), "moved.jsonl")
	begin := time.Now()
	moved := transfer(t, connection(s.Kubeconfig()), oldToNew("--record", record, "--rate", "2")...)
	// The first of the six requests does not wait.
	if took := time.Since(begin); took < 2500*time.Millisecond || moved.code != 0 {
		t.Errorf("6 objects at a rate of 2 took %v: %v", took, moved.err)
	}
	if !regexp.MustCompile(`(?m)^read \d objects, changed \d$`).MatchString(moved.notes) {
		t.Errorf("progress: %q", moved.notes)
	}
	begin = time.Now()
	back := transfer(t, connection(s.Kubeconfig()), "--undo", record, "--rate", "10", "--dry-run=client")
	if took := time.Since(begin); took < 500*time.Millisecond || back.code != 0 {
		t.Errorf("the reads of an undo of 6 objects at a rate of 10 took %v: %v", took, back.err)
	}
}

// TestTransferCodes checks the exit codes: 2 for a wrong command line and without a server, 1 for what the command or the server refuses.
func TestTransferCodes(t *testing.T) {
	t.Parallel()
	s := newBulkServer(t, "one")
	s.grant(t, "reader", "list", "get")
	none := genericclioptions.NewConfigFlags(true)
	address := "http://127.0.0.1:1"
	none.APIServer = &address
	admin, reader := connection(s.Kubeconfig()), as(s.Kubeconfig(), "reader")
	for args, test := range map[string]struct {
		flags *genericclioptions.ConfigFlags
		want  int
	}{
		"":                                     {admin, 2},
		"--bogus":                              {admin, 2},
		"--from old --dry-run":                 {admin, 2},
		"configmap/one --to nothing":           {admin, 2},
		"configmap/one --to apply --dry-run=x": {admin, 2},
		"configmap/none --field .data.a --to apply":       {admin, 2},
		"configmap/one --field .data[ --to apply":         {admin, 2},
		"configmap/one --field .data.a --to imperative":   {admin, 0},
		"configmap/one --field .data.a --to apply":        {admin, 1},
		"configmap/one --field .data.a --to apply -q":     {admin, 2},
		"nothings --from old --to new --dry-run":          {admin, 2},
		"configmaps --from old --to new --dry-run":        {reader, 1},
		"configmaps --from old --to new --dry-run=client": {reader, 0},
		"--undo none": {admin, 2},
		"configmaps --from old --to new --dry-run --rate 10":             {none, 2},
		"configmap/one --field .data.a --to imperative --dry-run=client": {none, 2},
	} {
		if got := transfer(t, test.flags, strings.Fields(args)...); got.code != test.want {
			t.Errorf("%s: code %d, want %d: %v", args, got.code, test.want, got.err)
		}
	}
	for args, flags := range map[string]*genericclioptions.ConfigFlags{"configmap/one": none, "configmap/none": admin, "": admin, "configmap/one --bogus": admin} {
		if got := run(t, flags, strings.Fields(args)...); got.code != 2 {
			t.Errorf("owners %s: code %d, want 2: %v", args, got.code, got.err)
		}
	}
}
