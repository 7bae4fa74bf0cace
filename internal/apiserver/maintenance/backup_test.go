package maintenance_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/maintenance"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
)

const encryptionOfSecrets = `apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [secrets]
  providers:
  - secretbox: {keys: [{name: k, secret: MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=}]}
`

// download returns a backup of a running server.
func download(t *testing.T, config *rest.Config) []byte {
	t.Helper()
	stream, err := kubernetes.NewForConfigOrDie(config).CoreV1().RESTClient().Get().AbsPath(maintenance.BackupPath).Stream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	archive, err := io.ReadAll(stream)
	if err != nil {
		t.Fatal(err)
	}
	return archive
}

// restored returns a server that was started from a backup.
func restored(t *testing.T, archive []byte) *servertest.Server {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "restored")
	result, err := maintenance.Restore(bytes.NewReader(archive), dir)
	if err != nil {
		t.Fatal(err)
	}
	return servertest.Start(t, apiserver.Config{DataDir: dir, EncryptionConfig: result.EncryptionConfig})
}

// writeLoad creates ConfigMaps until its context ends, and sends each after the server acknowledged it.
func writeLoad(ctx context.Context, client kubernetes.Interface, acknowledged chan<- *corev1.ConfigMap) {
	defer close(acknowledged)
	for i := 0; ctx.Err() == nil; i++ {
		created, err := client.CoreV1().ConfigMaps("default").Create(ctx,
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("load-%d", i)}}, metav1.CreateOptions{})
		if err != nil {
			return
		}
		select {
		case acknowledged <- created:
		case <-ctx.Done():
		}
	}
}

// TestBackupUnderLoad checks that a backup of a running server has every object that was acknowledged before
// it began, and the keys: with the restored server, objects, encrypted objects, tokens and certificates are
// as before, and a watch from an old resourceVersion must list again.
func TestBackupUnderLoad(t *testing.T) {
	t.Parallel()
	encryption := filepath.Join(t.TempDir(), "encryption.yaml")
	if err := os.WriteFile(encryption, []byte(encryptionOfSecrets), 0o600); err != nil {
		t.Fatal(err)
	}
	old := servertest.Start(t, apiserver.Config{EncryptionConfig: encryption})
	client := old.Client(t)
	secret, err := client.CoreV1().Secrets("default").Create(t.Context(),
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}, StringData: map[string]string{"k": "v"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	accounts := client.CoreV1().ServiceAccounts("default")
	// A controller creates the account named default, perhaps later than this test needs it.
	account, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	token, err := accounts.CreateToken(t.Context(), account.Name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	jane := old.As(t, "jane")

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	acknowledged := make(chan *corev1.ConfigMap)
	go writeLoad(ctx, client, acknowledged)
	want := map[string]*corev1.ConfigMap{}
	for range 50 {
		created := <-acknowledged
		want[created.Name] = created
	}
	var archive []byte
	done := make(chan struct{})
	go func() {
		defer close(done)
		archive = download(t, old.Config(t))
	}()
	var newest *corev1.ConfigMap
	for open := true; open; {
		select {
		case newest = <-acknowledged:
		case <-done:
			open = false
		}
	}
	stop()
	if newest == nil {
		newest = want["load-49"]
	}

	fresh := restored(t, archive)
	client = fresh.Client(t)
	for name, before := range want {
		after, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("%s (-before +after):\n%s", name, diff)
		}
	}
	if after, err := client.CoreV1().Secrets("default").Get(t.Context(), "s", metav1.GetOptions{}); err != nil || after.UID != secret.UID ||
		string(after.Data["k"]) != "v" {
		t.Errorf("the secret: %v, %v", after, err)
	}
	watcher, err := client.CoreV1().ConfigMaps("default").Watch(t.Context(), metav1.ListOptions{ResourceVersion: newest.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Stop()
	if event := <-watcher.ResultChan(); event.Type != watch.Error || !apierrors.IsResourceExpired(apierrors.FromObject(event.Object)) {
		t.Errorf("a watch from an old resourceVersion: %v", event)
	}
	created, err := client.CoreV1().ConfigMaps("default").Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "new"}}, metav1.CreateOptions{})
	if err != nil || number(t, created) <= number(t, newest) {
		t.Errorf("a new object has resourceVersion %s, an old one has %s: %v", created.ResourceVersion, newest.ResourceVersion, err)
	}
	checkCredentials(t, fresh, jane, token.Status.Token)
}

func number(t *testing.T, object *corev1.ConfigMap) int64 {
	t.Helper()
	version, err := strconv.ParseInt(object.ResourceVersion, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return version
}

// checkCredentials checks that a server knows the credentials of another one: a user by certificate and a
// service account by token. None of them may read a backup.
func checkCredentials(t *testing.T, server *servertest.Server, jane *rest.Config, token string) {
	t.Helper()
	config := server.Config(t)
	byToken := rest.AnonymousClientConfig(config)
	byToken.BearerToken = token
	byCertificate := rest.CopyConfig(jane)
	byCertificate.Host, byCertificate.CAData = config.Host, config.CAData
	for want, config := range map[string]*rest.Config{"system:serviceaccount:default:a": byToken, "jane": byCertificate} {
		client := kubernetes.NewForConfigOrDie(config)
		review, err := client.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{},
			metav1.CreateOptions{})
		if err != nil || review.Status.UserInfo.Username != want {
			t.Errorf("%s is %v: %v", want, review, err)
		}
		if err := client.CoreV1().RESTClient().Get().AbsPath(maintenance.BackupPath).Do(t.Context()).Error(); !apierrors.IsForbidden(err) {
			t.Errorf("a backup for %s: %v", want, err)
		}
	}
}

// TestBackupOfCluster checks the backup of a server that stores its objects in an etcd cluster, and the
// backup of a stopped server.
func TestBackupOfCluster(t *testing.T) {
	t.Parallel()
	outside := servertest.Start(t, apiserver.Config{Etcd: etcd.Cluster{Servers: []string{servertest.StartEtcd(t, transport.TLSInfo{})}}})
	created, err := outside.Client(t).CoreV1().ConfigMaps("default").Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "restored")
	if _, err := maintenance.Restore(bytes.NewReader(download(t, outside.Config(t))), dir); err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if err := maintenance.Backup(t.Context(), apiserver.Config{DataDir: dir}, maintenance.BackupOptions{}, &archive); err != nil {
		t.Fatal(err)
	}
	got, err := restored(t, archive.Bytes()).Client(t).CoreV1().ConfigMaps("default").Get(t.Context(), "kept", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(created, got); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}

// TestRefusedRestore checks that a directory with files and a backup without its end are refused, and that
// nothing is left behind.
func TestRefusedRestore(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{})
	archive := download(t, server.Config(t))
	for name, length := range map[string]int{"half": len(archive) / 2, "without the last entry": len(archive) - 4096, "empty": 0} {
		parent := t.TempDir()
		if _, err := maintenance.Restore(bytes.NewReader(archive[:length]), filepath.Join(parent, "restored")); err == nil {
			t.Errorf("%s: no error", name)
		}
		if left, err := os.ReadDir(parent); err != nil || len(left) > 0 {
			t.Errorf("%s: left behind: %v, %v", name, left, err)
		}
	}
	err := server.Client(t).CoreV1().RESTClient().Post().AbsPath(maintenance.BackupPath).Do(t.Context()).Error()
	if !apierrors.IsMethodNotSupported(err) {
		t.Errorf("POST: %v", err)
	}
	used := t.TempDir()
	if err := os.WriteFile(filepath.Join(used, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := maintenance.Restore(bytes.NewReader(archive), used); err == nil {
		t.Error("a directory with files: no error")
	}
}
