package apiserver_test

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

// A server is killed while four clients write. After a restart it has every write that
// it had acknowledged.
func TestKillLosesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	acknowledged := map[string]string{}
	for round := range 3 {
		server := servertest.StartProcess(t, apiserver.Config{DataDir: dir})
		for name, version := range writeUntilKilled(t, server, round) {
			acknowledged[name] = version
		}
	}
	if len(acknowledged) == 0 {
		t.Fatal("nothing was acknowledged before the kill")
	}
	client := servertest.StartProcess(t, apiserver.Config{DataDir: dir}).Client(t)
	list, err := client.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for i := range list.Items {
		found[list.Items[i].Name] = list.Items[i].ResourceVersion
	}
	for name, version := range acknowledged {
		if found[name] != version {
			t.Errorf("%s was acknowledged at version %s and is at %q", name, version, found[name])
		}
	}
	t.Logf("%d acknowledged writes over 3 kills, all there", len(acknowledged))
}

// writeUntilKilled creates objects from four clients, kills the server after a hundred,
// and returns the objects that the server acknowledged.
func writeUntilKilled(t *testing.T, server *servertest.Process, round int) map[string]string {
	t.Helper()
	client := server.Client(t)
	var mutex sync.Mutex
	acknowledged := map[string]string{}
	enough := make(chan struct{})
	kill := sync.OnceFunc(func() { close(enough) })

	var writers sync.WaitGroup
	for writer := range 4 {
		writers.Go(func() {
			for i := 0; ; i++ {
				name := fmt.Sprintf("kill-%d-%d-%d", round, writer, i)
				created, err := client.CoreV1().ConfigMaps("default").Create(t.Context(),
					&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
				if apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) {
					continue // the disk was slow, and the object may be stored or not
				}
				if err != nil {
					return
				}
				mutex.Lock()
				acknowledged[name] = created.ResourceVersion
				if len(acknowledged) >= 100 {
					kill()
				}
				mutex.Unlock()
			}
		})
	}
	waittest.Receive(t, "a hundred acknowledged objects", enough)
	server.Kill()
	writers.Wait()
	return acknowledged
}

// A watch that resumes after the server was killed gets the next event, or an error that
// makes the client list again. It never misses an event without an error.
func TestWatchResumesAfterKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := servertest.StartProcess(t, apiserver.Config{DataDir: dir})
	created, err := first.Client(t).CoreV1().Secrets("default").Create(t.Context(),
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "seen"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	missed, err := first.Client(t).CoreV1().Secrets("default").Create(t.Context(),
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "missed"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	first.Kill()

	client := servertest.StartProcess(t, apiserver.Config{DataDir: dir}).Client(t)
	name, err := firstEvent(t.Context(), client, created.ResourceVersion)
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		list, err := client.CoreV1().Secrets("default").List(t.Context(), metav1.ListOptions{})
		if err != nil || len(list.Items) != 2 {
			t.Fatalf("list after 410: %d items, %v", len(list.Items), err)
		}
		return
	}
	if err != nil || name != missed.Name {
		t.Errorf("first event is of %q (%v), want %q", name, err, missed.Name)
	}
}

func firstEvent(ctx context.Context, client kubernetes.Interface, version string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, waittest.Patience)
	defer cancel()
	watcher, err := client.CoreV1().Secrets("default").Watch(ctx, metav1.ListOptions{ResourceVersion: version})
	if err != nil {
		return "", err
	}
	defer watcher.Stop()
	for event := range watcher.ResultChan() {
		switch object := event.Object.(type) {
		case *corev1.Secret:
			return object.Name, nil
		case *metav1.Status:
			return "", &apierrors.StatusError{ErrStatus: *object}
		}
		if event.Type == watch.Error {
			return "", fmt.Errorf("%T", event.Object)
		}
	}
	return "", errors.New("watch ended without an event")
}

// Open watches do not hold up a shutdown: the server ends them.
func TestStopWithOpenWatches(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{DataDir: t.TempDir()})
	client := server.Client(t)
	var watchers []watch.Interface
	for range 20 {
		watcher, err := client.CoreV1().Pods("").Watch(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		watchers = append(watchers, watcher)
	}
	if err := server.Stop(); err != nil {
		t.Error(err)
	}
	for _, watcher := range watchers {
		// The client closes the channel when the server has ended the watch.
		for range watcher.ResultChan() {
			t.Error("an event of a namespace without pods")
		}
	}
	// This bounds the shutdown if a watch does not end.
	if apiserver.DrainTimeout >= 5*time.Second {
		t.Errorf("a shutdown may take %s and more, the contract is five seconds", apiserver.DrainTimeout)
	}
}

// A request that never ends does not keep a server from stopping, and Stop returns no
// error.
func TestStopWithSlowRequest(t *testing.T) {
	t.Parallel()
	asked, over := make(chan struct{}), make(chan struct{})
	// The webhook is also called for the ConfigMaps of controllers.
	ask := sync.OnceFunc(func() { close(asked) })
	webhook := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		ask()
		<-over
	}))
	t.Cleanup(webhook.Close)
	t.Cleanup(func() { close(over) })
	server := servertest.Start(t, apiserver.Config{})
	client := server.Client(t)
	none, fail, seconds := admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.Fail, int32(30)
	webhooks := client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	_, err := webhooks.Create(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "slow"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "slow.example.com",
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				URL: &webhook.URL, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: webhook.Certificate().Raw}),
			},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			}},
			FailurePolicy: &fail, SideEffects: &none, TimeoutSeconds: &seconds, AdmissionReviewVersions: []string{"v1"},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for i := 0; t.Context().Err() == nil; i++ {
			_, err := client.CoreV1().ConfigMaps("default").Create(t.Context(),
				&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("slow-%d", i)}}, metav1.CreateOptions{})
			if err != nil && !apierrors.IsTimeout(err) && !apierrors.IsServerTimeout(err) {
				return
			}
		}
	}()
	waittest.Receive(t, "a request that waits for the webhook", asked)
	if err := server.Stop(); err != nil {
		t.Error(err)
	}
}
