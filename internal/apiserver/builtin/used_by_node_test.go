package builtin_test

import (
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

func TestUsedByNode(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{})
	for name, test := range map[string]func(u usage){
		"everything-that-changes-it": usedChanges,
		"resumed":                    usedResumed,
		"initial-events":             usedInitialEvents,
		"in-a-namespace":             usedInNamespace,
		"refusals":                   usedRefusals,
		"secrets":                    usedSecrets,
	} {
		t.Run(name, func(t *testing.T) { test(newUsage(t, server, name)) })
	}
}

// usedChanges makes every kind of change to the objects that one node uses, and reads the
// events of its watch.
func usedChanges(u usage) {
	u.configMap("a", "1")
	u.configMap("b", "1")
	u.configMap("unused", "1")
	u.pod("p", "n1", "a", "later", "fixed")
	u.pod("other", "n2", "b")
	if items, _ := u.list("n1"); !cmp.Equal(items, []string{"a=1"}) {
		u.t.Errorf("n1 uses %v", items)
	}
	if items, _ := u.list("n3"); items != nil {
		u.t.Errorf("an unknown node uses %v", items)
	}

	w := u.watch(u.selectUsed("n1"))
	w.want("ADDED a=1")
	u.configMap("unused", "2")
	u.configMap("b", "2")
	u.configMap("a", "2")
	w.want("MODIFIED a=2")
	u.configMap("later", "1")
	w.want("ADDED later=1")
	u.pod("q", "n1", "a", "b")
	w.want("ADDED b=2")
	u.deletePod("p")
	w.want("DELETED later=1")
	u.configMap("later", "2")
	u.configMap("a", "3")
	w.want("MODIFIED a=3")
	u.patch("a", `{"immutable":true,"data":{"v":"4"}}`)
	w.want("DELETED a=3")
	u.patch("a", `{"metadata":{"labels":{"x":"y"}}}`)
	u.deleteConfigMap("a")
	u.configMap("a", "5")
	w.want("ADDED a=5")
	u.deleteConfigMap("b")
	w.want("DELETED b=2")
	immutable := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Immutable: new(true)}
	_, err := u.client.CoreV1().ConfigMaps(u.namespace).Create(u.t.Context(), immutable, metav1.CreateOptions{})
	u.must(err)
	u.deletePod("q")
	w.want("DELETED a=5")
	if items, _ := u.list("n1"); items != nil {
		u.t.Errorf("n1 uses %v", items)
	}
}

func usedResumed(u usage) {
	u.configMap("a", "1")
	u.configMap("b", "1")
	u.pod("p", "n1", "a")
	_, version := u.list("n1")
	options := u.selectUsed("n1")
	options.ResourceVersion = version
	// A watch from the version of a list sends every later change.
	u.configMap("a", "2")
	u.configMap("a", "3")
	// The server reads ConfigMaps and pods from two streams, and one may be ahead of the other. A list
	// waits until both have these changes.
	u.list("n1")
	u.pod("q", "n1", "b")
	u.pod("other", "n2", "a", "b")
	u.deletePod("p")
	w := u.watch(options)
	got := w.next()
	if got == "ADDED a=1" {
		// A watch may repeat a change that one stream reached before the other, see package selection.
		got = w.next()
	}
	if got != "MODIFIED a=2" {
		u.t.Fatalf("got %q", got)
	}
	w.want("MODIFIED a=3", "ADDED b=1", "DELETED a=3")
	u.configMap("b", "2")
	w.want("MODIFIED b=2")

	// A version that does not exist yet: the server waits for it, then answers an error.
	options.ResourceVersion = "1000000"
	u.watch(options).want("ERROR 504 Timeout", "closed")
}

func usedInitialEvents(u usage) {
	u.configMap("a", "1")
	u.pod("p", "n1", "a")
	options := u.selectUsed("n1")
	options.SendInitialEvents, options.AllowWatchBookmarks = new(true), true
	options.ResourceVersionMatch = metav1.ResourceVersionMatchNotOlderThan
	w := u.watch(options)
	w.want("ADDED a=1", "BOOKMARK map[k8s.io/initial-events-end:true]")
	u.configMap("a", "2")
	w.want("MODIFIED a=2")
	// A watch without the objects that exist already.
	options.SendInitialEvents, options.AllowWatchBookmarks = new(false), false
	w = u.watch(options)
	u.configMap("a", "3")
	w.want("MODIFIED a=3")
}

func usedInNamespace(u usage) {
	u.configMap("a", "1")
	u.pod("p", "n1", "a")
	for namespace, want := range map[string]int{u.namespace: 1, "kube-system": 0} {
		list, err := u.client.CoreV1().ConfigMaps(namespace).List(u.t.Context(), u.selectUsed("n1"))
		if err != nil || len(list.Items) != want {
			u.t.Errorf("%s: %v %v", namespace, list, err)
		}
	}
	elsewhere, err := u.client.CoreV1().ConfigMaps("kube-system").Watch(u.t.Context(), u.selectUsed("n1"))
	u.must(err)
	defer elsewhere.Stop()
	here, err := u.client.CoreV1().ConfigMaps(u.namespace).Watch(u.t.Context(), u.selectUsed("n1"))
	u.must(err)
	defer here.Stop()
	watched{u.t, here}.want("ADDED a=1")
	u.configMap("a", "2")
	watched{u.t, here}.want("MODIFIED a=2")
	select {
	case event := <-elsewhere.ResultChan():
		u.t.Errorf("in another namespace: %v", event)
	default:
	}
}

func usedRefusals(u usage) {
	u.configMap("a", "1")
	const combined = "the field selector holdfast.dev/used-by-node cannot be combined with other selectors"
	const equal = "the field selector holdfast.dev/used-by-node must equal the name of a node"
	const whole = "a list by holdfast.dev/used-by-node returns all objects in their current state: " +
		"continue and resourceVersionMatch=Exact are not supported"
	tests := map[string]struct {
		options metav1.ListOptions
		want    string
	}{
		"label selector": {metav1.ListOptions{FieldSelector: usedByNode + "=n1", LabelSelector: "a=b"}, combined},
		"another field":  {metav1.ListOptions{FieldSelector: usedByNode + "=n1,metadata.name=a"}, combined},
		"two nodes":      {metav1.ListOptions{FieldSelector: usedByNode + "=n1," + usedByNode + "=n2"}, combined},
		"all but a node": {metav1.ListOptions{FieldSelector: usedByNode + "!=n1"}, equal},
		"no node":        {metav1.ListOptions{FieldSelector: usedByNode + "="}, equal},
		"exact": {metav1.ListOptions{
			FieldSelector: usedByNode + "=n1", ResourceVersion: "5", ResourceVersionMatch: metav1.ResourceVersionMatchExact,
		}, whole},
		"the rest of pages": {metav1.ListOptions{FieldSelector: usedByNode + "=n1", Continue: "x"}, whole},
		"another selector": {
			metav1.ListOptions{FieldSelector: "holdfast.dev/other=n1"},
			`"holdfast.dev/other" is not a known field selector: only "metadata.name", "metadata.namespace"`,
		},
	}
	for name, test := range tests {
		u.t.Run(name, func(t *testing.T) {
			_, err := u.client.CoreV1().ConfigMaps("").List(t.Context(), test.options)
			if !apierrors.IsBadRequest(err) || err.Error() != test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
	err := u.client.CoreV1().ConfigMaps(u.namespace).DeleteCollection(u.t.Context(),
		metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: usedByNode + "!=n1"})
	if !apierrors.IsBadRequest(err) {
		u.t.Errorf("a deletion by the selector: %v", err)
	}
	if _, err := u.client.CoreV1().ConfigMaps(u.namespace).Get(u.t.Context(), "a", metav1.GetOptions{}); err != nil {
		u.t.Errorf("after a deletion by the selector: %v", err)
	}
	_, err = u.client.CoreV1().Pods("").List(u.t.Context(), u.selectUsed("n1"))
	if !apierrors.IsBadRequest(err) {
		u.t.Errorf("another kind: %v", err)
	}
}

func usedSecrets(u usage) {
	secrets := u.client.CoreV1().Secrets(u.namespace)
	for _, secret := range []*corev1.Secret{
		{ObjectMeta: metav1.ObjectMeta{Name: "s"}},
		{ObjectMeta: metav1.ObjectMeta{Name: "fixed"}, Immutable: new(true)},
	} {
		_, err := secrets.Create(u.t.Context(), secret, metav1.CreateOptions{})
		u.must(err)
	}
	automount := false
	named := metav1.ObjectMeta{Name: "p"}
	_, err := u.client.CoreV1().Pods(u.namespace).Create(u.t.Context(), &corev1.Pod{ObjectMeta: named, Spec: corev1.PodSpec{
		NodeName: u.namespace + "-n1", AutomountServiceAccountToken: &automount,
		ImagePullSecrets: []corev1.LocalObjectReference{{Name: "s"}, {Name: "fixed"}},
		Containers:       []corev1.Container{{Name: "main", Image: "example.com/main"}},
	}}, metav1.CreateOptions{})
	u.must(err)
	list, err := secrets.List(u.t.Context(), u.selectUsed("n1"))
	u.must(err)
	if len(list.Items) != 1 || list.Items[0].Name != "s" {
		u.t.Errorf("secrets in use: %v", list.Items)
	}
	if version, err := meta.NewAccessor().ResourceVersion(list); err != nil || version == "" {
		u.t.Errorf("version %q %v", version, err)
	}
}

// Open watches of nodes take no seats: otherwise many nodes would use up those of their priority
// level, and the server would reject all further requests of nodes.
func TestUsedByNodeTakesNoSeat(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{})
	u := newUsage(t, server, "seats")
	u.configMap("a", "1")
	u.pod("p", "n1", "a")
	u.client = kubernetes.NewForConfigOrDie(server.As(t, "system:node:"+u.namespace+"-n1", "system:nodes"))
	u.watch(u.selectUsed("n1")).want("ADDED a=1")
	seats := regexp.MustCompile(`(?m)^apiserver_flowcontrol_current_executing_seats\{flow_schema="system-nodes",.*\} (\d+)$`)
	waittest.Until(t, "the watch has no seat", func() bool {
		text, err := server.Client(t).Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
		u.must(err)
		found := seats.FindSubmatch(text)
		return found != nil && string(found[1]) == "0"
	})
}

// After a restart the server refuses to resume a watch: it does not know which objects a
// node used before.
func TestUsedByNodeAfterRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server := servertest.Start(t, apiserver.Config{DataDir: dir})
	u := newUsage(t, server, "restart")
	u.configMap("a", "1")
	u.pod("p", "n1", "a")
	_, version := u.list("n1")
	u.configMap("a", "2")
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	u.client = servertest.Start(t, apiserver.Config{DataDir: dir}).Client(t)
	options := u.selectUsed("n1")
	options.ResourceVersion = version
	u.watch(options).want("ERROR 410 Expired", "closed")
	if items, _ := u.list("n1"); !cmp.Equal(items, []string{"a=2"}) {
		t.Errorf("n1 uses %v", items)
	}
}
