package aggregation_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"holdfast.dev/holdfast/internal/access"
	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// The parts of this test share one server, without a remote APIService.
func TestLocalAPIServices(t *testing.T) {
	t.Parallel()
	c := start(t, apiserver.Config{})
	t.Run("built-in", c.testBuiltIn)
	t.Run("groups", c.testGroups)
	t.Run("definition", c.testDefinition)
	t.Run("trust", c.testTrust)
	t.Run("reserved groups", c.testReserved)
	t.Run("writers", c.testWriters)
}

func (c cluster) testBuiltIn(t *testing.T) {
	names := []string{"v1.", "v1.apps", "v2.autoscaling", "v1.authorization.k8s.io", "v1.apiextensions.k8s.io", "v1beta1.kudo.dev"}
	for _, name := range names {
		if reason := c.condition(t, name, apiregistrationv1.ConditionTrue); reason != "Local" {
			t.Errorf("%s is available because of %s", name, reason)
		}
	}
	core, err := c.services.Get(t.Context(), "v1.", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := apiregistrationv1.APIServiceSpec{Version: "v1", GroupPriorityMinimum: 18000, VersionPriority: 1}
	if diff := cmp.Diff(want, core.Spec); diff != "" {
		t.Errorf("the core group (-want +got):\n%s", diff)
	}
}

// Clients that do not ask for aggregated discovery get the answer of kube-apiserver: groups by
// priority, a version, and no addresses.
func (c cluster) testGroups(t *testing.T) {
	_, body := c.get(t, c.config, "/apis", nil)
	list := yamltest.Known[metav1.APIGroupList](t, body)
	if want := (metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}); list.TypeMeta != want {
		t.Errorf("the list is a %v, want %v", list.TypeMeta, want)
	}
	var names []string
	for _, group := range list.Groups {
		names = append(names, group.Name)
		if len(group.ServerAddressByClientCIDRs) > 0 {
			t.Errorf("group %s has the addresses %v", group.Name, group.ServerAddressByClientCIDRs)
		}
	}
	want := []string{
		"apiregistration.k8s.io", "apps", "events.k8s.io", "authentication.k8s.io", "authorization.k8s.io", "autoscaling", "batch",
		"certificates.k8s.io", "networking.k8s.io", "policy", "rbac.authorization.k8s.io", "storage.k8s.io", "admissionregistration.k8s.io",
		"apiextensions.k8s.io", "scheduling.k8s.io", "coordination.k8s.io", "node.k8s.io", "discovery.k8s.io", "resource.k8s.io",
		"flowcontrol.apiserver.k8s.io", "storagemigration.k8s.io", "guard.holdfast.dev", "kudo.dev",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("order of the groups (-want +got):\n%s", diff)
	}
}

func (c cluster) testDefinition(t *testing.T) {
	definitions := dynamic.NewForConfigOrDie(c.config).Resource(schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
	})
	version := map[string]any{
		"name": "v1", "served": true, "storage": true,
		"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}},
	}
	definition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "pears.orchard.example"},
		"spec": map[string]any{
			"group": "orchard.example", "scope": "Namespaced", "versions": []any{version},
			"names": map[string]any{"plural": "pears", "kind": "Pear"},
		},
	}}
	if _, err := definitions.Create(t.Context(), definition, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.condition(t, "v1.orchard.example", apiregistrationv1.ConditionTrue)
	if err := c.services.Delete(t.Context(), "v1.orchard.example", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.condition(t, "v1.orchard.example", apiregistrationv1.ConditionTrue)
	if err := definitions.Delete(t.Context(), "pears.orchard.example", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the APIService goes with its definition", func() bool {
		_, err := c.services.Get(t.Context(), "v1.orchard.example", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

// testTrust checks the ConfigMap, also after a client has changed it, and the Role that reads it.
func (c cluster) testTrust(t *testing.T) {
	const name = "extension-apiserver-authentication"
	maps := c.kube.CoreV1().ConfigMaps("kube-system")
	complete := func() bool {
		stored, err := maps.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return false
		}
		var names []string
		err = json.Unmarshal([]byte(stored.Data["requestheader-allowed-names"]), &names)
		return err == nil && slices.Contains(names, "holdfast-front-proxy") &&
			stored.Data["requestheader-username-headers"] == `["X-Remote-User"]` &&
			strings.Contains(stored.Data["client-ca-file"], "CERTIFICATE") &&
			strings.Contains(stored.Data["requestheader-client-ca-file"], "CERTIFICATE") &&
			stored.Data["client-ca-file"] != stored.Data["requestheader-client-ca-file"]
	}
	waittest.Until(t, "the ConfigMap is there", complete)
	if err := maps.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the ConfigMap is there again", complete)
	// The server adds what is missing, and keeps the authority of another server.
	other, _, err := access.NewAuthority(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	patch, err := json.Marshal(map[string]any{"data": map[string]any{
		"requestheader-client-ca-file": string(other.CertPEM), "requestheader-allowed-names": "{",
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := maps.Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the ConfigMap has both authorities", func() bool {
		stored, err := maps.Get(t.Context(), name, metav1.GetOptions{})
		return err == nil && complete() && strings.Count(stored.Data["requestheader-client-ca-file"], "BEGIN") == 2 &&
			strings.HasPrefix(stored.Data["requestheader-client-ca-file"], string(other.CertPEM))
	})
	role, err := c.kube.RbacV1().Roles("kube-system").Get(t.Context(), "extension-apiserver-authentication-reader", metav1.GetOptions{})
	if err != nil || len(role.Rules) != 1 || role.Rules[0].ResourceNames[0] != name {
		t.Errorf("the role is %v, %v", role, err)
	}
}

// testReserved checks that no other server can take over kinds of this one.
func (c cluster) testReserved(t *testing.T) {
	for _, group := range []string{"apps", "rbac.authorization.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "kudo.dev", "guard.holdfast.dev"} {
		service := remoteService(group, "evil", []byte("x"))
		service.Spec.Version, service.Name = "v9", "v9."+group
		_, err := c.services.Create(t.Context(), service, metav1.CreateOptions{})
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "this server itself serves the group") {
			t.Errorf("%s: got %v", group, err)
		}
	}
	local, err := c.services.Get(t.Context(), "v1.apps", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	local.Spec.Service = &apiregistrationv1.ServiceReference{Namespace: "shop", Name: "evil"}
	if _, err := c.services.Update(t.Context(), local, metav1.UpdateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("an update gave the group apps to another server: %v", err)
	}
}

// testWriters checks that only administrators write APIServices.
func (c cluster) testWriters(t *testing.T) {
	for _, role := range []string{"admin", "edit", "view"} {
		found, err := c.kube.RbacV1().ClusterRoles().Get(t.Context(), role, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, rule := range found.Rules {
			if slices.Equal(rule.Verbs, []string{"unlock"}) { // it writes nothing by itself
				continue
			}
			if slices.Contains(rule.APIGroups, "apiregistration.k8s.io") || slices.Contains(rule.APIGroups, "*") {
				t.Errorf("the role %s has %v", role, rule)
			}
		}
	}
}
