package recording_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/config"
	"holdfast.dev/holdfast/internal/waittest"
)

// TestHostileReader reads the history of a Secret with all kinds of requests, as users who may not get it: one who may do nothing, and one who
// may list and watch Secrets, and get ConfigMaps.
func TestHostileReader(t *testing.T) {
	t.Parallel()
	f := start(t, apiserver.Config{History: config.History{AfterDelete: time.Hour}})
	secret := f.create(secrets, `{apiVersion: v1, kind: Secret, metadata: {name: token, labels: {holdfast.dev/history: fields}}, stringData: {a: hunter2}}`)
	f.patch(secrets, "token", `{"stringData":{"a":"hunter3"}}`)
	f.create(configMaps, fmt.Sprintf(recorded, "token"))
	f.create(secrets, `{apiVersion: v1, kind: Secret, metadata: {name: gone, labels: {holdfast.dev/history: fields}}, stringData: {a: hunter2}}`)
	f.remove(secrets, "gone")
	if _, err := f.RbacV1().Roles("default").Create(t.Context(), &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "lister"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"list", "watch", "create", "update", "patch", "delete"}},
		{APIGroups: []string{""}, Resources: []string{"secrets/status", "secrets/history"}, Verbs: []string{"get"}},
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}},
	}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.RbacV1().RoleBindings("default").Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "lister"}, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "lister"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: "lister"}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	lister := f.server.As(t, "lister")
	waittest.Until(t, "the role is known", func() error {
		_, _, err := read(t.Context(), lister, pathOf(configMaps, "token"), "")
		return err
	})
	uid := string(secret.GetUID())
	object, list := pathOf(secrets, "token"), strings.TrimSuffix(pathOf(secrets, "token"), "/token")
	accepts := []string{
		"application/json", "application/vnd.kubernetes.protobuf", "application/cbor", "application/yaml", "*/*",
		"application/json;as=Table;v=v1;g=meta.k8s.io", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
		"application/json;as=Overview;v=v1;g=holdfast.dev", "application/json;as=Objects;v=v1;g=holdfast.dev",
	}
	requests := 0
	for _, user := range []string{"nobody", "lister"} {
		as := f.server.As(t, user)
		as.QPS = -1
		client, err := rest.UnversionedRESTClientFor(withCodec(as))
		if err != nil {
			t.Fatal(err)
		}
		for _, target := range []struct {
			path   string
			params map[string]string
		}{
			{object, nil},
			{object, map[string]string{"uid": uid}},
			{object, map[string]string{"resourceVersion": "0"}},
			{object, map[string]string{"watch": "true", "timeoutSeconds": "1"}},
			{object + "/status", nil},
			{object + "/history", nil},
			{pathOf(secrets, "gone"), nil},
			{list, nil},
			{list, map[string]string{"fieldSelector": "metadata.name=token"}},
			{list, map[string]string{"labelSelector": "holdfast.dev/history=fields"}},
			{list, map[string]string{"watch": "true", "timeoutSeconds": "1", "fieldSelector": "metadata.name=token"}},
			{list + "/", nil},
			{list + "/%74oken", nil},
			{strings.Replace(object, "/default/", "/DEFAULT/", 1), nil},
			{"/api/v1/watch/namespaces/default/secrets/token", map[string]string{"timeoutSeconds": "1"}},
			{"/api/v1/secrets", nil},
			{"/api/v1/secrets/token", nil},
			// A ConfigMap of the same name, which the second user may get.
			{pathOf(configMaps, "token"), map[string]string{"uid": uid}},
			{pathOf(configMaps, "token"), map[string]string{"uid": "../../../secrets/default/token/" + uid}},
			{pathOf(configMaps, "..%2fsecrets"), nil},
		} {
			accepted, verbs := accepts, []string{http.MethodGet, http.MethodHead}
			if target.params["timeoutSeconds"] != "" {
				accepted, verbs = accepts[:2], verbs[:1]
			}
			for _, accept := range accepted {
				for _, verb := range verbs {
					request := client.Verb(verb).AbsPath(target.path).Param("holdfast", "history").SetHeader("Accept", accept)
					for name, v := range target.params {
						request.Param(name, v)
					}
					// A refused request has an error, with the text of the answer.
					body, err := request.DoRaw(t.Context())
					answer := fmt.Sprint(string(body), err)
					if strings.Contains(answer, "FieldHistory") || strings.Contains(answer, `"hmac"`) {
						t.Errorf("%s: %s %s as %q, accept %s: %s", user, verb, target.path, target.params, accept, answer)
					}
					requests++
				}
			}
		}
		// A write with the query is a write, and its answer is no history.
		for _, verb := range []string{http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodPost, http.MethodOptions} {
			body, err := client.Verb(verb).AbsPath(object).Param("holdfast", "history").Param("dryRun", "All").
				SetHeader("Content-Type", string(types.MergePatchType)).Body([]byte(`{"metadata":{"labels":{"x":"z"}}}`)).DoRaw(t.Context())
			if answer := fmt.Sprint(string(body), err); strings.Contains(answer, "FieldHistory") || strings.Contains(answer, `"hmac"`) {
				t.Errorf("%s: %s: %s", user, verb, answer)
			}
		}
	}
	t.Logf("%d requests", requests)
}

// TestNoValueOfASecretIsStored makes all kinds of writes of a Secret and searches what etcd stores, the metrics and the answers for its
// values, with encryption at rest and without.
func TestNoValueOfASecretIsStored(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "encryption.yaml")
	if err := os.WriteFile(file, []byte("apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n"+
		"- {resources: [secrets], providers: [{"+newKey+"}]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, encryption := range map[string]string{"plain": "", "encrypted": file} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := start(t, apiserver.Config{EncryptionConfig: encryption, History: config.History{AfterDelete: time.Hour}})
			var values []string
			value := func() string {
				v := fmt.Sprintf("correct-horse-%d-battery", len(values))
				values = append(values, v)
				return v
			}
			encoded := func(v string) string { return base64.StdEncoding.EncodeToString([]byte(v)) }
			last := value()
			f.create(secrets, fmt.Sprintf(`
apiVersion: v1
kind: Secret
metadata:
  name: token
  labels: {holdfast.dev/history: fields}
  annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"apiVersion":"v1","kind":"Secret","stringData":{"a":%q}}'}
stringData: {a: %q}
`, last, last))
			f.patch(secrets, "token", fmt.Sprintf(`{"data":{"b":%q}}`, encoded(value())))
			f.patch(secrets, "token", fmt.Sprintf(`{"stringData":{"a":%q},"metadata":{"annotations":{"copy":%q,"kubectl.kubernetes.io/last-applied-configuration":%q}}}`,
				value(), value(), `{"data":{"a":"`+encoded(value())+`"}}`))
			f.patch(secrets, "token", fmt.Sprintf(`{"stringData":{"large":%q}}`, strings.Repeat(value(), 2000)))
			f.patch(secrets, "token", `{"data":{"large":null,"a":null},"metadata":{"annotations":null}}`)
			f.patch(secrets, "token", `{"metadata":{"labels":{"holdfast.dev/history":"none"}}}`)
			f.patch(secrets, "token", fmt.Sprintf(`{"stringData":{"off":%q}}`, value()))
			f.patch(secrets, "token", fmt.Sprintf(`{"stringData":{"on":%q},"metadata":{"labels":{"holdfast.dev/history":"fields"}}}`, value()))
			_, err := f.Dynamic.Resource(secrets).Namespace("default").Patch(t.Context(), "token", types.MergePatchType,
				[]byte(fmt.Sprintf(`{"data":{"bad":%q}}`, value())), metav1.PatchOptions{})
			all := fmt.Sprint(err)
			list, text, err := read(t.Context(), f.Config, pathOf(secrets, "token"), "")
			if err != nil || len(list.Items) < 7 {
				t.Fatalf("%d entries, %v", len(list.Items), err)
			}
			all += string(text)
			f.remove(secrets, "token")
			if _, text, err = read(t.Context(), f.Config, pathOf(secrets, "token"), ""); err != nil {
				t.Fatal(err)
			}
			all += string(text)
			metrics, err := f.CoreV1().RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			all += string(metrics)
			stored, err := f.etcd.Get(t.Context(), "/", clientv3.WithPrefix())
			if err != nil {
				t.Fatal(err)
			}
			entries := 0
			for _, pair := range stored.Kvs {
				if strings.HasPrefix(string(pair.Key), "/registry/_holdfast/history/secrets/") {
					entries++
				}
				all += string(pair.Key) + string(pair.Value)
			}
			if entries < 8 {
				t.Errorf("only %d entries are stored", entries)
			}
			for _, v := range values {
				for _, form := range []string{v, encoded(v), strings.TrimRight(encoded(v), "=")[:20]} {
					if at := strings.Index(all, form); at >= 0 {
						t.Errorf("%s is in %q", form, all[max(0, at-100):min(len(all), at+100)])
					}
				}
			}
		})
	}
}
