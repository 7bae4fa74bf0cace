package servertest

import (
	"encoding/json"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"holdfast.dev/holdfast/internal/waittest"
)

// AwaitCached waits until the watch cache of the server has the stored version of the object at a path. Before that, the server
// judges an update of the cached version, finds out that it is not the stored one, and judges the update again. It then calls
// admission webhooks twice, and the client gets the warnings of both calls.
func AwaitCached(t testing.TB, client kubernetes.Interface, path string) {
	t.Helper()
	version := func(parameters map[string]string) string {
		read := client.CoreV1().RESTClient().Get().AbsPath(path).SetHeader("Accept", "application/json")
		for name, value := range parameters {
			read = read.Param(name, value)
		}
		var object metav1.PartialObjectMetadata
		text, err := read.Do(t.Context()).Raw()
		if err == nil {
			err = json.Unmarshal(text, &object)
		}
		if err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
		return object.ResourceVersion
	}
	waittest.Until(t, path+" in the watch cache", func() bool {
		return version(map[string]string{"resourceVersion": "0"}) == version(nil)
	})
}
