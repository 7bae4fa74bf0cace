package apiserver_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/referrers"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/references"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// ask sends a GET for an answer of the index.
func ask[T any](t *testing.T, config *rest.Config, path, mediaType string) (*T, error) {
	t.Helper()
	raw, err := kubernetes.NewForConfigOrDie(config).Discovery().RESTClient().Get().RequestURI(path).SetHeader("Accept", mediaType).Do(t.Context()).Raw()
	if err != nil {
		return nil, err
	}
	answer := new(T)
	return answer, json.Unmarshal(raw, answer)
}

// used returns the answer about an object, such as default/secrets/a.
func used(t *testing.T, config *rest.Config, object string) *referrers.References {
	t.Helper()
	answer, err := ask[referrers.References](t, config, "/api/v1/namespaces/"+object, referrers.ReferencesType)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// texts returns the referrers of an answer in short.
func texts(answer *referrers.References) []string {
	all := []string{}
	for _, r := range answer.Referrers {
		all = append(all, strings.Join(append([]string{r.APIVersion, r.Kind, r.Namespace, r.Name}, r.Paths...), " "))
	}
	return all
}

// A GET of an object says which objects refer to it, where, and which pods have its files. It names only what the user may get.
func TestReferencesAnswer(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{})
	client := server.Cluster(t)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "db", Labels: map[string]string{"holdfast.dev/series": "database"}},
		Immutable:  new(true), StringData: map[string]string{"password": "hidden-value"},
	}
	created, err := client.CoreV1().Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// A controller deletes a pod whose node does not exist.
	if _, err := client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	servertest.AwaitAccount(t, client, "default")
	pod := yamltest.Decode[corev1.Pod](t, `
metadata: {name: web}
spec:
  nodeName: n1
  containers:
  - {name: c, image: i, env: [{name: a, valueFrom: {secretKeyRef: {name: db, key: k}}}, {name: b, value: db}], envFrom: [{secretRef: {name: db}}]}
`)
	if pod, err = client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pod.Status.Conditions = []corev1.PodCondition{{
		Type: references.Pinned, Status: corev1.ConditionTrue,
		Message: references.FormatPins([]references.Pin{{Kind: references.Secret, Name: "gone", UID: "u-1"}, {Kind: references.Secret, Name: "db", UID: "u-2"}}),
	}}
	if _, err := client.CoreV1().Pods("default").UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	applyObject(t, client.Dynamic.Resource(crdResource), boats(t, "{}", "Cluster"))
	applyObject(t, client.Dynamic.Resource(boatResource), yamltest.Object(t,
		"{apiVersion: sea.example.com/v1, kind: Boat, metadata: {name: one}, spec: {deep: [{any: db}]}}"))
	awaitUse(t, server.References(), "default/db", true)

	want := []string{
		"sea.example.com/v1 Boat  one spec.deep[0].any",
		"v1 Pod default web spec.containers[0].env[0].valueFrom.secretKeyRef.name spec.containers[0].envFrom[0].secretRef.name",
	}
	var answer *referrers.References
	waittest.Until(t, "the answer has both referrers and the pod's pin", func() error {
		answer = used(t, client.Config, "default/secrets/db")
		if diff := cmp.Diff(want, texts(answer)) + cmp.Diff([]referrers.Pin{{Pod: "web", Node: "n1", UID: "u-2"}}, answer.Pins); diff != "" {
			return fmt.Errorf("%s", diff)
		}
		return nil
	})
	object := referrers.Object{Kind: "Secret", Namespace: "default", Name: "db", Exists: true, UID: created.UID, Immutable: true, Series: "database"}
	if diff := cmp.Diff(object, answer.Object); diff != "" {
		t.Error(diff)
	}
	if answer.UnusedSince != nil || answer.Hidden != 0 || answer.Incomplete != "" {
		t.Errorf("answer %+v", answer)
	}
	if text, _ := json.Marshal(answer); strings.Contains(string(text), "hidden-value") {
		t.Errorf("the answer has the value of a Secret: %s", text)
	}
	// A name that no Secret has any more, and the ConfigMap of the same name.
	gone := used(t, client.Config, "default/secrets/gone")
	if gone.Object.Exists || len(gone.Referrers) > 0 || gone.UnusedSince != nil || !cmp.Equal(gone.Pins, []referrers.Pin{{Pod: "web", Node: "n1", UID: "u-1"}}) {
		t.Errorf("an object that is gone: %+v", gone)
	}
	if other := used(t, client.Config, "default/configmaps/db"); len(other.Pins) > 0 || len(other.Referrers) != 1 {
		t.Errorf("a ConfigMap with the name: %+v", other)
	}

	servertest.Grant(t, client, rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "reader"}, Rules: []rbacv1.PolicyRule{
		{Verbs: []string{"get", "list"}, APIGroups: []string{""}, Resources: []string{"secrets"}},
	}})
	reader := rest.CopyConfig(client.Config)
	reader.Impersonate.UserName = "reader"
	waittest.Until(t, "the user may get Secrets", func() error {
		_, err := ask[referrers.References](t, reader, "/api/v1/namespaces/default/secrets/db", referrers.ReferencesType)
		return err
	})
	if hidden := used(t, reader, "default/secrets/db"); hidden.Hidden != 2 || len(hidden.Referrers)+len(hidden.Pins) > 0 {
		t.Errorf("a user without rights sees %+v", hidden)
	}
	if _, err := ask[referrers.References](t, reader, "/api/v1/namespaces/default/configmaps/db", referrers.ReferencesType); !apierrors.IsForbidden(err) {
		t.Errorf("a user without the right to get ConfigMaps: %v", err)
	}
	for _, path := range []string{"/api/v1/secrets", "/api/v1/namespaces/kube-system/secrets"} {
		if _, err := ask[referrers.UnusedList](t, reader, path, referrers.UnusedType); !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// A list says which objects are unused: immutable ones, or all. It cannot be selected, because a user may have the right to select only.
func TestUnusedAnswer(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{})
	client := server.Cluster(t)
	other := servertest.CreateNamespace(t, client, "other-")
	for _, object := range []string{"default/plain", "default/fixed", "default/fixed-used", other + "/fixed"} {
		namespace, name, _ := strings.Cut(object, "/")
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if name != "plain" {
			cm.Immutable = new(true)
		}
		if _, err := client.CoreV1().ConfigMaps(namespace).Create(t.Context(), cm, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	pod := yamltest.Decode[corev1.Pod](t, `{metadata: {name: web}, spec: {containers: [{name: c, image: i, envFrom: [{configMapRef: {name: fixed-used}}]}]}}`)
	if _, err := client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/api/v1/namespaces/default/configmaps":          "[default/fixed]",
		"/api/v1/namespaces/default/configmaps?all=true": "[default/fixed default/plain]", // the pod has a volume with kube-root-ca.crt
		"/api/v1/configmaps":                             "[default/fixed " + other + "/fixed]",
	} {
		waittest.Until(t, "the list "+path, func() error {
			list, err := ask[referrers.UnusedList](t, client.Config, path, referrers.UnusedType)
			if err != nil {
				return err
			}
			names := []string{}
			for _, item := range list.Items {
				names = append(names, item.Namespace+"/"+item.Name)
				if item.Since.IsZero() || item.UID == "" {
					return fmt.Errorf("item %+v", item)
				}
			}
			if fmt.Sprint(names) != want || list.Incomplete != "" {
				return fmt.Errorf("%v, %s, want %s", names, list.Incomplete, want)
			}
			return nil
		})
	}
	for _, path := range []string{"?fieldSelector=metadata.name%3Dfixed", "?labelSelector=a", "?all=1"} {
		if _, err := ask[referrers.UnusedList](t, client.Config, "/api/v1/configmaps"+path, referrers.UnusedType); !apierrors.IsBadRequest(err) {
			t.Errorf("%s: %v", path, err)
		}
	}
	// Another kind has no such answer.
	_, err := ask[referrers.UnusedList](t, client.Config, "/api/v1/pods", referrers.UnusedType)
	if status, ok := err.(apierrors.APIStatus); !ok || status.Status().Code != http.StatusNotAcceptable {
		t.Errorf("pods: %v", err)
	}
}
