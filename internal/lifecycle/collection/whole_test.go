package collection_test

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/series"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// These are what the servers of the tests have instead of a minute. A test that acts while an object is marked needs the longer one.
const (
	least  = 300 * time.Millisecond
	longer = 8 * time.Second
)

// startWhole starts a server that collects.
func startWhole(t *testing.T, atLeast time.Duration) cluster {
	t.Helper()
	return cluster{t, servertest.Start(t, apiserver.Config{CollectAtLeast: atLeast}).Cluster(t)}
}

// soon returns the metadata of an object that is collected as soon as possible.
func soon(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Labels: selected(), Annotations: map[string]string{series.AfterAnnotation: "0s"}}
}

// template returns the template of pods that use a ConfigMap.
func template(configMap string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "web", Image: "web",
			EnvFrom: []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: configMap}}}},
		}}},
	}
}

func deployment(name, configMap string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, Template: template(configMap),
	}}
}

// collectSentinelSoon creates an object and waits until it is collected. Everything that was due before was handled then.
func (c cluster) collectSentinelSoon() {
	c.Helper()
	name := fmt.Sprintf("sentinel-%d", time.Now().UnixNano())
	c.create(soon(name))
	c.awaitGone(name)
}

// TestWorkload collects a ConfigMap after the last workload that refers to it is gone, and releases its quota.
func TestWorkload(t *testing.T) {
	t.Parallel()
	c := startWhole(t, longer).in("shop", nil, nil)
	if _, err := c.CoreV1().ResourceQuotas(c.Namespace).Create(t.Context(), &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "quota"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/configmaps": resource.MustParse("100")}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	used := func() int64 {
		found, err := c.CoreV1().ResourceQuotas(c.Namespace).Get(t.Context(), "quota", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		count := found.Status.Used["count/configmaps"]
		return count.Value()
	}
	waittest.Until(t, "kube-root-ca.crt is charged", func() bool { return used() == 1 })
	deployments := c.AppsV1().Deployments(c.Namespace)
	if _, err := deployments.Create(t.Context(), deployment("web", "settings"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.create(soon("settings"))
	c.collectSentinelSoon()
	if found := c.get("settings"); found == nil || found.Annotations[series.UnusedSinceAnnotation] != "" {
		t.Fatalf("a ConfigMap in use is marked or deleted: %v", found)
	}
	waittest.Until(t, "two ConfigMaps are charged", func() bool { return used() == 2 })
	if err := deployments.Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.awaitMarked("settings")
	if _, err := deployments.Create(t.Context(), deployment("web", "settings"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.awaitUnmarked("settings")
	c.awaitEvent("settings", "Used", "an object refers to it")
	if err := deployments.Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.awaitGone("settings")
	c.awaitEvent("settings", "Collected", "")
	waittest.Until(t, "one ConfigMap is charged", func() bool { return used() == 1 })
}

// TestReplicas lets one of two servers collect. Their clients refer to objects at both.
func TestReplicas(t *testing.T) {
	t.Parallel()
	store := etcd.Cluster{Servers: []string{servertest.StartEtcd(t, transport.TLSInfo{})}}
	var servers []cluster
	for range 2 {
		servers = append(servers, cluster{t, servertest.Start(t, apiserver.Config{CollectAtLeast: least, Etcd: store}).Cluster(t)})
	}
	// An object without a reference would go a moment after its creation.
	if _, err := servers[1].AppsV1().Deployments("default").Create(t.Context(), deployment("web", "c-3"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	const count = 20
	for i := range count {
		servers[i%2].create(soon(fmt.Sprintf("c-%d", i)))
	}
	for i := range count {
		if i != 3 {
			servers[0].awaitGone(fmt.Sprintf("c-%d", i))
		}
	}
	for i := range count {
		if i != 3 {
			name := fmt.Sprintf("c-%d", i)
			servers[0].awaitEvent(name, "Collected", "")
			if got := servers[0].messages(name, "Collected"); len(got) != 1 {
				t.Errorf("%d servers have collected %s", len(got), name)
			}
		}
	}
	servers[0].awaitUnmarked("c-3")
}

// TestKill kills the server between the mark and the delete. The next one deletes the object, and knows what was collected.
func TestKill(t *testing.T) {
	t.Parallel()
	config := apiserver.Config{DataDir: t.TempDir(), CollectAtLeast: longer}
	config.Kubeconfig = config.DataDir + ".kubeconfig"
	start := func() (*servertest.Process, cluster) {
		process := servertest.StartProcess(t, config)
		return process, cluster{t, servertest.NewCluster(servertest.Config(t, config.Kubeconfig))}
	}
	process, c := start()
	c.create(soon("first"))
	c.awaitGone("first")
	c.create(soon("second"))
	mark := c.awaitMarked("second")
	process.Kill()
	_, c = start()
	if found := c.get("second"); found == nil || found.Annotations[series.UnusedSinceAnnotation] != mark {
		t.Errorf("after the restart: %v, want the mark %s", found, mark)
	}
	c.awaitGone("second")
	c.create(soon("first"))
	c.awaitEvent("first", "Recreated", "")
}

// TestHostileTenant checks that a user with all rights in one namespace changes nothing for the objects of another one.
func TestHostileTenant(t *testing.T) {
	t.Parallel()
	admin := startWhole(t, least)
	victim, evil := admin.in("victim", nil, nil), admin.in("evil", nil, nil)
	everything := []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}}
	servertest.Grant(t, admin, rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "evil", Name: "mallory"}, Rules: everything})
	mallory := evil.as("mallory")
	waittest.Until(t, "mallory has rights", func() error {
		_, err := mallory.CoreV1().ConfigMaps("evil").List(t.Context(), metav1.ListOptions{})
		return err
	})
	// References from the other namespace do not keep an object.
	secrets := func(namespace string, meta metav1.ObjectMeta) {
		if _, err := admin.CoreV1().Secrets(namespace).Create(t.Context(), &corev1.Secret{ObjectMeta: meta, Immutable: ptr.To(true)}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := mallory.AppsV1().Deployments("evil").Create(t.Context(), deployment("web", "unused"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := mallory.CoreV1().ServiceAccounts("evil").Create(t.Context(), &corev1.ServiceAccount{
		ObjectMeta: metav1.ObjectMeta{Name: "keeper"}, Secrets: []corev1.ObjectReference{{Namespace: "victim", Name: "unused"}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	victim.create(soon("unused"))
	secrets("victim", soon("unused"))
	victim.awaitGone("unused")
	waittest.Until(t, "the Secret is gone", func() bool {
		_, err := admin.CoreV1().Secrets("victim").Get(t.Context(), "unused", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	// A series of the same name in the other namespace, and its label, do not count.
	victim.create(metav1.ObjectMeta{
		Name: "s-1", Labels: map[string]string{series.Label: "s", series.CollectLabel: series.CollectUnused},
		Annotations: map[string]string{series.AfterAnnotation: "0s", series.KeepLastAnnotation: "1"},
	})
	victim.create(metav1.ObjectMeta{Name: "t-1", Labels: member("t")})
	for i := range 5 {
		mallory.create(metav1.ObjectMeta{Name: fmt.Sprintf("s-%d", i+2), Labels: member("s")})
	}
	// The tenant cannot write the objects, so neither select them nor shorten their time.
	evilInVictim := mallory
	evilInVictim.Namespace = "victim"
	if err := evilInVictim.tryPatch("t-1", map[string]any{"labels": selected()}, metav1.PatchOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a write in another namespace: %v", err)
	}
	victim.collectSentinelSoon()
	victim.collectSentinelSoon()
	for _, name := range []string{"s-1", "t-1"} {
		if found := victim.get(name); found == nil || found.Annotations[series.UnusedSinceAnnotation] != "" {
			t.Errorf("%s is marked or deleted: %v", name, found)
		}
	}
}

// TestWebhook leaves an object whose deletion a webhook refuses.
func TestWebhook(t *testing.T) {
	t.Parallel()
	c := startWhole(t, least)
	const answer = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":%q,"allowed":false,"status":{"message":"not today"}}}`
	hook := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var review struct{ Request struct{ UID string } }
		if err := json.NewDecoder(req.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, answer, review.Request.UID)
	}))
	defer hook.Close()
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: hook.Certificate().Raw})
	webhooks := c.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	if _, err := webhooks.Create(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "stays"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "stays.example.com", SideEffects: ptr.To(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
			ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &hook.URL, CABundle: certificate},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Delete},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			}},
		}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.selectWhenKept("a")
	c.awaitEvent("a", "CollectionRefused", "not today")
	if err := webhooks.Delete(t.Context(), "stays", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.awaitGone("a")
}

// keptByRule is a policy that keeps the ConfigMaps of a namespace.
const keptByRule = `
apiVersion: guard.holdfast.dev/v1beta1
kind: ImmutabilityPolicy
metadata: {name: stays}
spec:
  resources: [configmaps]
  rules: [no-delete]
`

// TestRule leaves an object that a rule keeps, as an object and in a file, and the Event names the rule.
func TestRule(t *testing.T) {
	t.Parallel()
	const want = `the rule "no-delete" of policy stays keeps it`
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "stays.yaml"), []byte(keptByRule), 0o600); err != nil {
			t.Fatal(err)
		}
		c := cluster{t, servertest.Start(t, apiserver.Config{CollectAtLeast: least, RulesDir: dir}).Cluster(t)}
		c.create(soon("a"))
		c.awaitEvent("a", "CollectionRefused", want)
		if c.get("a") == nil {
			t.Error("it is gone")
		}
	})
	t.Run("object", func(t *testing.T) {
		t.Parallel()
		c := startWhole(t, least)
		policies := c.Dynamic.Resource(schema.GroupVersionResource{Group: "guard.holdfast.dev", Version: "v1beta1", Resource: "immutabilitypolicies"})
		if _, err := policies.Create(t.Context(), yamltest.Object(t, keptByRule), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		c.selectWhenKept("a")
		c.awaitEvent("a", "CollectionRefused", want)
		if err := policies.Delete(t.Context(), "stays", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		c.awaitGone("a")
	})
}

// selectWhenKept creates an object, and selects it for collection when something refuses its deletion.
func (c cluster) selectWhenKept(name string) {
	c.Helper()
	object := soon(name)
	object.Labels = nil
	c.create(object)
	waittest.Until(c, "the server refuses to delete "+name, func() bool {
		return c.CoreV1().ConfigMaps(c.Namespace).Delete(c.Context(), name, metav1.DeleteOptions{DryRun: []string{"All"}}) != nil
	})
	if err := c.tryPatch(name, map[string]any{"labels": selected()}, metav1.PatchOptions{}); err != nil {
		c.Fatal(err)
	}
}

// TestUnmarkedAfterRestart starts the time again when the server starts. If the machine is so slow that the first server marks the object, the
// object gets more time.
func TestUnmarkedAfterRestart(t *testing.T) {
	t.Parallel()
	for after := 4 * time.Second; !unmarkedAfterRestart(t, after); after *= 2 {
		if after > time.Minute {
			t.Fatalf("an object that has %s is marked before the restart", after)
		}
	}
}

func unmarkedAfterRestart(t *testing.T, after time.Duration) bool {
	t.Helper()
	config := apiserver.Config{DataDir: t.TempDir(), CollectAtLeast: least}
	first := servertest.Start(t, config)
	c := cluster{t, first.Cluster(t)}
	object := soon("a")
	object.Annotations[series.AfterAnnotation] = after.String()
	c.create(object)
	c.collectSentinelSoon()
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	before := time.Now()
	c = cluster{t, servertest.Start(t, config).Cluster(t)}
	if found := c.get("a"); found == nil || found.Annotations[series.UnusedSinceAnnotation] != "" {
		return false
	}
	c.awaitGone("a")
	if took := time.Since(before); took < after {
		t.Errorf("deleted %s after the start", took)
	}
	// The object is gone soon after it is marked. The Event about its deletion says since when it was unused.
	const sinceWhen = "no object has referred to it since "
	c.awaitEvent("a", "Collected", sinceWhen)
	_, text, _ := strings.Cut(c.messages("a", "Collected")[0], sinceWhen)
	text, _, _ = strings.Cut(text, ": ")
	since, err := time.Parse(time.RFC3339, text)
	if err != nil || since.Before(before.Truncate(time.Second)) {
		t.Errorf("marked since %v (%v), and the server started at %v", since, err, before)
	}
	return true
}
